"""The client's end of a connection: matching, deadlines, ends; and the version handshake on top."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.errors import (
    DisconnectedError,
    KafkaGroupsError,
    MalformedFrameError,
    OperationTimeoutError,
    ProtocolError,
    SaslAuthenticationFailedError,
    UnsupportedVersionError,
)
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import broker_versions_of, negotiate
from kafka_groups.net.loop_clock import LoopClock
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import FrameTransport
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey, VersionRange
from kafka_groups.protocol.codec import RequestHeader, decode_request, decode_request_header, encode_response
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.framing import frame
from kafka_groups.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from kafka_groups.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kafka_groups.protocol.messages.share_fetch import ShareFetchRequest
from kafka_groups.testing.simulation import Simulation, run_simulated

Answer = Callable[[RequestHeader, Any], bytes | None]


class ScriptedBroker:
    """Answers every request by a function, or not at all."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[tuple[RequestHeader, Any]] = []
        self.ends: list[Exception | None] = []
        self.transport: FrameTransport

    def accept(self, transport: FrameTransport) -> "ScriptedBroker":
        self.transport = transport
        return self

    def frame_received(self, frame: memoryview) -> None:
        header = decode_request_header(frame)
        request = decode_request(frame, header) if header.body_start >= 0 else None
        self.requests.append((header, request))
        response = self.answer(header, request)
        if response is not None:
            self.transport.send(response)

    def connection_lost(self, error: Exception | None) -> None:
        self.ends.append(error)


async def connected(
    answer: Answer, on_lost: Callable[[KafkaGroupsError | None], object] | None = None
) -> tuple[ClientConnection, ScriptedBroker]:
    network = MemoryNetwork()
    broker = ScriptedBroker(answer)
    await network.listen("broker", 9092, broker.accept)
    return await ClientConnection.open(network, "broker", 9092, "me", on_lost=on_lost), broker


def metadata_answer(header: RequestHeader, request: MetadataRequest) -> bytes:
    name = request.topics[0].name if request.topics else None
    return encode_response(MetadataResponse(cluster_id=name), header.version, header.correlation_id)


def silence(header: RequestHeader, request: object) -> None:
    return None


def metadata_of(name: str) -> MetadataRequest:
    return MetadataRequest(topics=(MetadataRequestTopic(name=name),))


def test_pipelined_requests_get_their_own_responses() -> None:
    async def program(sim: Simulation) -> None:
        connection, broker = await connected(metadata_answer)
        got: list[str] = []
        failed: list[KafkaGroupsError] = []
        for number in range(3):
            connection.send(
                metadata_of(f"t{number}"), 12, lambda r: got.append(r.cluster_id), failed.append, sim.clock.now_ms() + 9
            )
        assert connection.in_flight == 3
        assert got == []
        await asyncio.sleep(0.001)
        assert got == ["t0", "t1", "t2"]
        assert [header.correlation_id for header, _ in broker.requests] == [0, 1, 2]
        assert {header.client_id for header, _ in broker.requests} == {"me"}
        assert (connection.in_flight, failed) == (0, [])
        await asyncio.sleep(60)  # the deadlines pass and nothing happens
        assert connection.is_open

    run_simulated(program, 1)


def test_late_answer_fails_its_request_and_drops_the_connection() -> None:
    async def program(sim: Simulation) -> None:
        lost: list[KafkaGroupsError | None] = []
        connection, broker = await connected(silence, lost.append)
        start_ms = sim.clock.now_ms()
        slow = asyncio.create_task(connection.request(metadata_of("slow"), 12, start_ms + 500))
        patient = asyncio.create_task(connection.request(metadata_of("patient"), 12, start_ms + 5000))
        with pytest.raises(OperationTimeoutError, match=r"Metadata \(3\)"):
            await slow
        assert sim.clock.now_ms() - start_ms == 500
        with pytest.raises(DisconnectedError):
            await patient
        assert sim.clock.now_ms() - start_ms == 500
        assert [type(error) for error in lost] == [OperationTimeoutError]
        await asyncio.sleep(0)
        assert len(broker.ends) == 1
        assert not connection.is_open

    run_simulated(program, 1)


def test_deadline_of_a_later_request_holds_after_an_earlier_one_was_answered() -> None:
    async def program(sim: Simulation) -> None:
        def first_only(header: RequestHeader, request: MetadataRequest) -> bytes | None:
            return metadata_answer(header, request) if header.correlation_id == 0 else None

        connection, _ = await connected(first_only)
        start_ms = sim.clock.now_ms()
        first = asyncio.create_task(connection.request(metadata_of("a"), 12, start_ms + 100))
        second = asyncio.create_task(connection.request(metadata_of("b"), 12, start_ms + 700))
        assert (await first).cluster_id == "a"
        with pytest.raises(OperationTimeoutError):
            await second
        assert sim.clock.now_ms() - start_ms == 700

    run_simulated(program, 1)


def test_lost_connection_fails_everything_and_says_why() -> None:
    async def program(sim: Simulation) -> None:
        lost: list[KafkaGroupsError | None] = []
        connection, broker = await connected(silence, lost.append)
        failures: list[KafkaGroupsError] = []
        for _ in range(2):
            connection.send(metadata_of("t"), 12, failures.append, failures.append, sim.clock.now_ms() + 1000)
        await asyncio.sleep(0)
        broker.transport.abort()
        await asyncio.sleep(0)
        assert [type(error) for error in failures] == [DisconnectedError, DisconnectedError]
        assert "reset" in str(failures[0])
        assert len(lost) == 1
        assert lost[0] is not None
        with pytest.raises(DisconnectedError, match="closed"):
            await connection.request(metadata_of("t"), 12, sim.clock.now_ms() + 1000)

    run_simulated(program, 1)


def test_good_close_by_either_side() -> None:
    async def program(sim: Simulation) -> None:
        lost: list[KafkaGroupsError | None] = []
        mine, _ = await connected(silence, lost.append)
        mine.close()
        await asyncio.sleep(0.001)
        theirs, broker = await connected(silence, lost.append)
        broker.transport.close()
        await asyncio.sleep(0.001)
        assert lost[0] is None
        assert isinstance(lost[1], DisconnectedError)
        assert not theirs.is_open

    run_simulated(program, 1)


@pytest.mark.parametrize(
    "response",
    [b"", b"\x00\x00\x00", b"\x00\x00\x00\x07rest", b"\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00" + b"\xff" * 40],
    ids=["empty", "no correlation id", "another's", "no body", "no metadata"],
)
def test_unreadable_response_ends_the_connection(response: bytes) -> None:
    async def program(sim: Simulation) -> None:
        connection, _ = await connected(lambda _header, _request: response)
        with pytest.raises(MalformedFrameError):
            await connection.request(metadata_of("t"), 12, sim.clock.now_ms() + 1000)
        assert not connection.is_open

    run_simulated(program, 1)


def test_response_that_nobody_asked_for_ends_the_connection() -> None:
    async def program(sim: Simulation) -> None:
        lost: list[KafkaGroupsError | None] = []
        _, broker = await connected(silence, lost.append)
        broker.transport.send(b"\x00\x00\x00\x00")
        await asyncio.sleep(0.001)
        assert isinstance(lost[0], ProtocolError)

    run_simulated(program, 1)


def test_request_that_its_version_cannot_carry_is_refused_before_it_is_sent() -> None:
    async def program(sim: Simulation) -> None:
        connection, broker = await connected(silence)
        request = ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=1, is_renew_ack=True)
        with pytest.raises(ProtocolError, match="is_renew_ack"):
            connection.send(request, 1, print, print, sim.clock.now_ms() + 1000)
        await asyncio.sleep(0)
        assert (connection.in_flight, broker.requests) == (0, [])

    run_simulated(program, 1)


def test_cancelled_request_keeps_the_connection_in_step() -> None:
    async def program(sim: Simulation) -> None:
        connection, _ = await connected(metadata_answer)
        deadline_ms = sim.clock.now_ms() + 1000
        cancelled = asyncio.create_task(connection.request(metadata_of("a"), 12, deadline_ms))
        await asyncio.sleep(0)
        cancelled.cancel()
        assert (await connection.request(metadata_of("b"), 12, deadline_ms)).cluster_id == "b"

    run_simulated(program, 1)


# ---------------------------------------------------------------------------------------------- handshake


def versions_of(*apis: tuple[ApiKey | int, int, int], level: int | None = None) -> ApiVersionsResponse:
    features = () if level is None else (FinalizedFeatureKey(name="f", max_version_level=level, min_version_level=1),)
    keys = tuple(ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in apis)
    return ApiVersionsResponse(api_keys=keys, finalized_features=features)


def test_versions_that_both_sides_speak_are_found() -> None:
    response = versions_of(
        (ApiKey.METADATA, 0, 9), (ApiKey.SHARE_FETCH, 1, 7), (ApiKey.PRODUCE, 0, 2), (999, 0, 0), level=2
    )
    versions = broker_versions_of(response, "broker:9092")
    assert versions.version_for(MetadataRequest) == 9
    assert versions.version_for(ShareFetchRequest) == 2
    assert versions.usable[ApiKey.METADATA] == VersionRange(0, 9)
    assert versions.served[999] == VersionRange(0, 0)
    assert dict(versions.features) == {"f": 2}
    assert ApiKey.PRODUCE not in versions.usable


def test_missing_version_is_an_error_that_names_both_sides() -> None:
    versions = broker_versions_of(versions_of((ApiKey.SHARE_FETCH, 0, 0)), "broker:9092")
    with pytest.raises(UnsupportedVersionError, match=r"broker:9092 .*ShareFetch \(78\) v1-v2, only v0\.$"):
        versions.version_for(ShareFetchRequest)
    with pytest.raises(UnsupportedVersionError, match=r"does not support Metadata \(3\)\.$"):
        versions.version_for(MetadataRequest)


def test_newest_version_is_asked_first() -> None:
    async def program(sim: Simulation) -> None:
        def answer(header: RequestHeader, request: ApiVersionsRequest) -> bytes:
            assert request.client_software_name == "kafka-groups"
            return encode_response(versions_of((ApiKey.METADATA, 0, 13)), header.version, header.correlation_id)

        connection, broker = await connected(answer)
        versions = await negotiate(connection, sim.clock.now_ms() + 1000)
        assert versions.peer == "broker:9092"
        assert versions.version_for(MetadataRequest) == 13
        assert [header.version for header, _ in broker.requests] == [5]

    run_simulated(program, 1)


@pytest.mark.parametrize(("newest", "second"), [(2, 2), (3, 3), (None, 0)])
def test_broker_that_knows_an_older_version_only_is_asked_again(newest: int | None, second: int) -> None:
    async def program(sim: Simulation) -> None:
        keys = [(ApiKey.METADATA, 0, 5)] + ([] if newest is None else [(ApiKey.API_VERSIONS, 0, newest)])
        known = versions_of(*keys)

        def answer(header: RequestHeader, request: ApiVersionsRequest) -> bytes:
            if header.version > second:
                refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=known.api_keys)
                return encode_response(refusal, 0, header.correlation_id)
            return encode_response(known, header.version, header.correlation_id)

        connection, broker = await connected(answer)
        versions = await negotiate(connection, sim.clock.now_ms() + 1000)
        assert versions.version_for(MetadataRequest) == 5
        assert [header.version for header, _ in broker.requests] == [5, second]

    run_simulated(program, 1)


def test_broker_whose_refusal_cannot_be_read_is_asked_in_the_first_version() -> None:
    async def program(sim: Simulation) -> None:
        def answer(header: RequestHeader, request: ApiVersionsRequest) -> bytes:
            if header.version > 0:  # these bytes are what librdkafka 2.16's mock broker sends
                return header.correlation_id.to_bytes(4, "big") + bytes.fromhex("0023 01 0012 0000 0002 00000000")
            return encode_response(versions_of((ApiKey.METADATA, 0, 13)), header.version, header.correlation_id)

        connection, broker = await connected(answer)
        versions = await negotiate(connection, sim.clock.now_ms() + 1000)
        assert versions.version_for(MetadataRequest) == 13
        assert [header.version for header, _ in broker.requests] == [5, 0]

    run_simulated(program, 1)


def test_broker_that_refuses_the_handshake_is_an_error() -> None:
    async def program(sim: Simulation) -> None:
        def answer(header: RequestHeader, request: ApiVersionsRequest) -> bytes:
            refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
            return encode_response(refusal, 0, header.correlation_id)

        connection, _ = await connected(answer)
        with pytest.raises(UnsupportedVersionError, match="broker:9092"):
            await negotiate(connection, sim.clock.now_ms() + 1000)

    run_simulated(program, 1)


# ------------------------------------------------------------------------------ a loop that is blocked


class SlowReader:
    """A server on a thread: it sends a response for which the buffers of the sockets have no room."""

    def __init__(self) -> None:
        self.received = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @property
    def port(self) -> int:
        port: int = self.listening.getsockname()[1]
        return port

    def serve(self) -> None:
        with self.listening, self.listening.accept()[0] as connection:
            (length,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
            header = decode_request_header(memoryview(connection.recv(length, socket.MSG_WAITALL)))
            self.received.set()
            data = PartitionData(partition_index=0, high_watermark=1, records=bytes(16 * 1024 * 1024))
            response = FetchResponse(responses=(FetchableTopicResponse(topic_id=UUID(int=1), partitions=(data,)),))
            with contextlib.suppress(ConnectionError):
                connection.sendall(frame(encode_response(response, header.version, header.correlation_id)))
                connection.recv(1)


async def test_a_large_answer_that_waits_in_the_socket_is_read_after_a_stall() -> None:
    server, system, got = SlowReader(), SystemClock(), asyncio.get_running_loop().create_future()
    clock = LoopClock(system, longest_step_ms=50)
    connection = await ClientConnection.open(TcpNetwork(), "127.0.0.1", server.port, "me", loop_clock=clock)
    clock.loop_runs()
    end_ms = system.now_ms() + 300
    connection.send(
        FetchRequest(max_wait_ms=0, min_bytes=1), 13, got.set_result, got.set_exception, connection.now_ms + 100
    )
    assert server.received.wait(10)  # the request is sent, although the loop does not run
    while system.now_ms() < end_ms:
        pass
    try:
        (topic,) = (await got).responses
        assert len(topic.partitions[0].records) == 16 * 1024 * 1024
        assert connection.is_open
    finally:
        connection.close()
        await connection.wait_closed()
    server.thread.join(10)


# ------------------------------------------------------------------------------- holding requests back


def test_held_requests_go_in_their_order_after_what_was_sent_meanwhile() -> None:
    async def program(sim: Simulation) -> None:
        connection, broker = await connected(metadata_answer)
        deadline_ms = sim.clock.now_ms() + 5_000
        got: list[str] = []
        failed: list[KafkaGroupsError] = []
        connection.hold()
        for name in ("a", "b"):
            connection.send(metadata_of(name), 12, lambda r: got.append(r.cluster_id), failed.append, deadline_ms)
        urgent = await connection.request(metadata_of("urgent"), 12, deadline_ms, while_held=True)
        assert (urgent.cluster_id, got, connection.in_flight) == ("urgent", [], 2)
        connection.release()
        await asyncio.sleep(0.001)
        assert (got, failed) == (["a", "b"], [])
        assert [request.topics[0].name for _, request in broker.requests] == ["urgent", "a", "b"]
        assert connection.in_flight == 0

    run_simulated(program, 1)


def test_held_requests_fail_when_their_time_is_up_or_the_connection_ends() -> None:
    async def program(sim: Simulation) -> None:
        connection, broker = await connected(metadata_answer)
        now_ms = sim.clock.now_ms()
        connection.hold()
        late = asyncio.create_task(connection.request(metadata_of("late"), 12, now_ms + 10))
        early = asyncio.create_task(connection.request(metadata_of("early"), 12, now_ms + 5_000))
        await asyncio.sleep(0.1)
        connection.release()
        with pytest.raises(OperationTimeoutError, match="while broker:9092 authenticated the client"):
            await late
        assert (await early).cluster_id == "early"
        connection.hold()
        held = asyncio.create_task(connection.request(metadata_of("held"), 12, now_ms + 5_000))
        await asyncio.sleep(0)
        refusal = SaslAuthenticationFailedError("no")
        connection.abort(refusal)
        with pytest.raises(SaslAuthenticationFailedError) as caught:
            await held
        assert caught.value is refusal
        assert [request.topics[0].name for _, request in broker.requests] == ["early"]

    run_simulated(program, 1)
