"""The fault proxy in front of a broker that answers two requests and counts them."""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import decode_request, decode_request_header, encode_response
from kafka_groups.protocol.framing import FrameDecoder, frame
from kafka_groups.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kafka_groups.protocol.messages.leadership import NodeEndpoint
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kafka_groups.testing.fault_proxy import Exchange, Fault, FaultAction, FaultProxy
from tests.support.kafka.real_kafka import RawConnection


class _Broker(socketserver.ThreadingTCPServer):
    """Names itself as broker 1 and a second address as broker 2; remembers which APIs it was asked for."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.asked: list[ApiKey] = []
        self.second: tuple[str, int] = ("127.0.0.1", 1)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def answer(self, request: object) -> object:
        host, port = self.second
        match request:
            case MetadataRequest():
                first = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)
                return MetadataResponse(brokers=(first, MetadataResponseBroker(node_id=2, host=host, port=port)))
            case FindCoordinatorRequest(key="old"):
                return FindCoordinatorResponse(node_id=2, host=host, port=port)
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(
                    coordinators=(Coordinator(key="g", node_id=2, host=host, port=port),
                                  Coordinator(key="missing", node_id=-1, host="", port=-1))
                )  # fmt: skip
        endpoint = NodeEndpoint(node_id=2, host=host, port=port, rack="r")
        return ShareAcknowledgeResponse(node_endpoints=(endpoint,))


class _Connection(socketserver.BaseRequestHandler):
    server: _Broker

    def handle(self) -> None:
        frames = FrameDecoder()
        while chunk := self._receive():
            for payload in frames.feed(chunk):
                header = decode_request_header(payload)
                self.server.asked.append(ApiKey(header.api_key))
                response = self.server.answer(decode_request(payload, header))
                self.request.sendall(frame(encode_response(response, header.version, header.correlation_id)))

    def _receive(self) -> bytes:
        try:
            return bytes(self.request.recv(65536))
        except ConnectionResetError:
            return b""


@pytest.fixture
def broker() -> Iterator[_Broker]:
    with _Broker() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(broker: _Broker) -> Iterator[FaultProxy]:
    with FaultProxy(f"127.0.0.1:{broker.port}") as proxy:
        yield proxy


def _connect(proxy: FaultProxy) -> RawConnection:
    host, _, port = proxy.bootstrap_servers.rpartition(":")
    return RawConnection(host, int(port))


METADATA = MetadataRequest(topics=None)
ACKNOWLEDGE = ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=1)


def test_metadata_names_the_proxy_for_every_broker(broker: _Broker, proxy: FaultProxy) -> None:
    with _connect(proxy) as connection:
        brokers = connection.ask(METADATA, 12).brokers

    assert f"{brokers[0].host}:{brokers[0].port}" == proxy.bootstrap_servers
    assert brokers[1].port not in {1, broker.port, brokers[0].port}
    assert broker.asked == [ApiKey.METADATA]


def test_a_second_broker_is_reached_through_a_listener_of_its_own(broker: _Broker, proxy: FaultProxy) -> None:
    with _Broker() as other:
        threading.Thread(target=other.handle_request).start()
        broker.second = ("127.0.0.1", other.port)
        with _connect(proxy) as connection:
            second = connection.ask(METADATA, 12).brokers[1]
        with RawConnection(second.host, second.port) as connection:
            assert connection.ask(METADATA, 12).brokers[0].host == "127.0.0.1"

        assert other.asked == [ApiKey.METADATA]


@pytest.mark.parametrize("version", [2, 3])
def test_the_one_coordinator_of_old_versions_is_rewritten(proxy: FaultProxy, version: int) -> None:
    with _connect(proxy) as connection:
        response = connection.ask(FindCoordinatorRequest(key="old"), version)

    assert response.node_id == 2
    assert response.port > 1


def test_coordinators_are_rewritten_and_an_error_keeps_its_empty_address(proxy: FaultProxy) -> None:
    with _connect(proxy) as connection:
        found, missing = connection.ask(FindCoordinatorRequest(coordinator_keys=("g", "missing")), 4).coordinators

    assert found.port > 1
    assert (missing.host, missing.port) == ("", -1)


def test_node_endpoints_of_share_responses_are_rewritten(proxy: FaultProxy) -> None:
    with _connect(proxy) as connection:
        endpoint = connection.ask(ACKNOWLEDGE, 2).node_endpoints[0]

    assert (endpoint.node_id, endpoint.rack) == (2, "r")
    assert endpoint.port > 1


def test_every_second_request_of_an_api_is_cut_before_the_broker_sees_it(broker: _Broker, proxy: FaultProxy) -> None:
    fault = Fault(FaultAction.CUT_REQUEST, ApiKey.SHARE_ACKNOWLEDGE, every=2, times=1)
    proxy.inject(fault)
    with _connect(proxy) as connection:
        connection.ask(METADATA, 12)
        connection.ask(ACKNOWLEDGE, 2)
        connection.ask(METADATA, 12)
        with pytest.raises(ConnectionError):
            connection.ask(ACKNOWLEDGE, 2)
    with _connect(proxy) as connection:
        for _ in range(4):  # it happens once
            connection.ask(ACKNOWLEDGE, 2)

    assert broker.asked.count(ApiKey.SHARE_ACKNOWLEDGE) == 5
    assert proxy.injected == {fault: 1}
    assert proxy.requests == {ApiKey.METADATA: 2, ApiKey.SHARE_ACKNOWLEDGE: 6}


def test_a_cut_response_was_handled_by_the_broker(broker: _Broker, proxy: FaultProxy) -> None:
    proxy.inject(Fault(FaultAction.CUT_RESPONSE))
    with _connect(proxy) as connection, pytest.raises(ConnectionError):
        connection.ask(METADATA, 12)

    assert broker.asked == [ApiKey.METADATA]


def test_a_dropped_response_leaves_the_connection_usable(broker: _Broker, proxy: FaultProxy) -> None:
    proxy.inject(Fault(FaultAction.DROP_RESPONSE, ApiKey.METADATA))
    with _connect(proxy) as connection:
        connection.send(METADATA, 12)
        assert connection.ask(ACKNOWLEDGE, 2).node_endpoints

    assert broker.asked == [ApiKey.METADATA, ApiKey.SHARE_ACKNOWLEDGE]


def test_a_delayed_response_comes_later(proxy: FaultProxy) -> None:
    proxy.inject(Fault(FaultAction.DELAY_RESPONSE, ApiKey.METADATA, delay_ms=80))
    before = time.perf_counter()
    with _connect(proxy) as connection:
        connection.ask(METADATA, 12)

    assert time.perf_counter() - before >= 0.08


def test_clear_ends_all_faults(proxy: FaultProxy) -> None:
    proxy.inject(Fault(FaultAction.CUT_REQUEST))
    proxy.clear()
    with _connect(proxy) as connection:
        assert connection.ask(METADATA, 12).brokers


def test_cut_all_and_refuse(proxy: FaultProxy) -> None:
    with _connect(proxy) as connection:
        connection.ask(METADATA, 12)
        proxy.cut_all()
        with pytest.raises(ConnectionError):
            connection.ask(METADATA, 12)
    proxy.refuse()
    with _connect(proxy) as connection, pytest.raises(ConnectionError):
        connection.ask(METADATA, 12)
    proxy.accept()
    with _connect(proxy) as connection:
        assert connection.ask(METADATA, 12).brokers


def test_exchanges_are_shown_as_the_broker_sent_them(broker: _Broker) -> None:
    seen: list[Exchange] = []
    with FaultProxy(f"127.0.0.1:{broker.port}", on_exchange=seen.append) as proxy, _connect(proxy) as connection:
        connection.ask(METADATA, 12)

    assert [(e.header.api_key, e.header.version, e.broker[1]) for e in seen] == [(3, 12, broker.port)]
    assert broker.port.to_bytes(4, "big") in seen[0].response


def test_a_broker_that_is_down_leaves_the_others_reachable(broker: _Broker) -> None:
    with _Broker() as other:
        gone = f"127.0.0.1:{other.server_address[1]}"
    with FaultProxy(f"{gone},127.0.0.1:{broker.port}") as proxy:
        first, second = (server.rpartition(":") for server in proxy.bootstrap_servers.split(","))
        with RawConnection(first[0], int(first[2])) as connection, pytest.raises(ConnectionError):
            connection.ask(METADATA, 12)
        with RawConnection(second[0], int(second[2])) as connection:
            assert connection.ask(METADATA, 12).brokers[0].port == int(second[2])
        assert repr(proxy).endswith(f" before {gone},127.0.0.1:{broker.port}>")


def test_a_client_that_sends_no_kafka_request_fails_the_proxy(broker: _Broker) -> None:
    proxy = FaultProxy(f"127.0.0.1:{broker.port}")
    proxy.start()
    with _connect(proxy) as connection, pytest.raises(ConnectionError):
        connection.send_bytes(frame(b"no"))
    with pytest.raises(ExceptionGroup, match="the fault proxy failed"):
        proxy.close()


def test_a_closed_proxy_says_so_and_its_connections_end(broker: _Broker) -> None:
    proxy = FaultProxy(f"127.0.0.1:{broker.port}")
    with pytest.raises(KafkaGroupsError, match="not started"):
        proxy.cut_all()
    proxy.start()
    with _connect(proxy) as connection:
        connection.ask(METADATA, 12)
        proxy.close()
        with pytest.raises(ConnectionError):
            connection.ask(METADATA, 12)
    proxy.close()
    assert repr(proxy) == f"<FaultProxy stopped before 127.0.0.1:{broker.port}>"


def test_a_connection_that_has_just_been_made_ends_with_the_proxy(broker: _Broker) -> None:
    for _ in range(30):
        proxy = FaultProxy(f"127.0.0.1:{broker.port}")
        proxy.start()
        host, _, port = proxy.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=5) as client:
            proxy.close()
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
