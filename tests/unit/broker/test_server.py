"""A broker's connections: order, refusals, ends, failures, faults."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.broker.api import sasl_authenticate, sasl_handshake
from kafka_groups.broker.api.api_versions import ApiVersionsHandler
from kafka_groups.broker.faults import (
    DROP_CONNECTION,
    DROP_RESPONSE,
    LOSE_RESPONSE,
    REPEAT,
    Faults,
    answer,
    delay,
)
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.requests.context import ConnectionInfo, RequestContext
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.broker.server import BrokerServer
from kafka_groups.config.cluster.broker import broker_settings
from kafka_groups.config.security.sasl import Password, SaslSettings
from kafka_groups.errors import DisconnectedError, NetworkError, OperationTimeoutError, UnknownMemberIdError
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.login import login_with
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import AcceptConnection, Listener
from kafka_groups.net.session import Access, open_session
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import encode_request
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.broker.coordinators import parts_of

Handle = Callable[[Any, RequestContext], Awaitable[Any]]


class Bench:
    """A server with scripted handlers, and clients of it."""

    def __init__(self, sim: Simulation, handle: Handle) -> None:
        self.clock = sim.clock
        self.network = MemoryNetwork()
        self.faults = Faults()
        self.handled: list[str | None] = []
        self.closed: list[ConnectionInfo] = []
        self.failures: list[BaseException] = []
        self.server = BrokerServer(services_of(sim, self.faults), self._handlers(handle))
        self.server.on_connection_closed = self.closed.append
        self.server.on_failure = self.failures.append

    async def __aenter__(self) -> "Bench":
        await self.server.start(self.network, "broker", 9092)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()
        assert self.server.open_connections == 0

    async def connect(self) -> ClientConnection:
        return await ClientConnection.open(self.network, "broker", 9092, "me")

    async def ask(self, connection: ClientConnection, name: str, *, within_ms: int = 5000) -> str:
        request = metadata_of(name)
        response = await connection.request(request, 12, self.clock.now_ms() + within_ms)
        return str(response.cluster_id)

    def _handlers(self, handle: Handle) -> dict[ApiKey, Handle]:
        async def recorded(request: Any, context: RequestContext) -> Any:
            self.handled.append(request.topics[0].name)
            return await handle(request, context)

        return {ApiKey.METADATA: recorded, ApiKey.API_VERSIONS: ApiVersionsHandler([ApiKey.METADATA])}


def services_of(sim: Simulation, faults: Faults, security: BrokerSecurity | None = None) -> BrokerServices:
    unused: Any = None
    parts = parts_of(ClusterMetadata(random.Random(0)), clock=sim.clock)
    cluster = evolve(parts, faults=faults, security=security or BrokerSecurity())
    broker = BrokerParts(1, cluster, unused, unused, unused)
    return BrokerServices(broker, unused, unused, Purgatory(sim.clock), sim.rng)


def metadata_of(name: str) -> MetadataRequest:
    return MetadataRequest(topics=(MetadataRequestTopic(name=name),))


async def echo(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    name = request.topics[0].name if request.topics else None
    return MetadataResponse(cluster_id=f"{name} from {context.connection.host}#{context.connection.id}")


async def principal(_request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    return MetadataResponse(cluster_id=context.principal)


async def slow_echo(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    await asyncio.sleep(1 / len(str(request.topics)))  # the first to come takes the longest
    return await echo(request, context)


def simulated(handle: Handle, program: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole(sim: Simulation) -> None:
        async with Bench(sim, handle) as bench:
            await program(bench)

    run_simulated(whole, 1)


def test_requests_of_a_connection_are_answered_in_order() -> None:
    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        names = ["a", "aaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaa"]
        answers = await asyncio.gather(*(bench.ask(connection, name) for name in names))
        assert answers == [f"{name} from /client#1" for name in names]
        assert bench.handled == names

    simulated(slow_echo, program)


def test_connections_do_not_wait_for_each_other() -> None:
    async def waits_for_ever(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
        if context.connection.id == 1:
            await asyncio.get_running_loop().create_future()
        return await echo(request, context)

    async def program(bench: Bench) -> None:
        stuck, free = await bench.connect(), await bench.connect()
        waiting = asyncio.create_task(bench.ask(stuck, "stuck"))
        assert await bench.ask(free, "free") == "free from /client#2"
        assert not waiting.done()
        waiting.cancel()

    simulated(waits_for_ever, program)


def test_many_requests_at_once_are_all_answered() -> None:
    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        names = [f"t{number}" for number in range(200)]
        answers = await asyncio.gather(*(bench.ask(connection, name) for name in names))
        assert [text.split()[0] for text in answers] == names

    simulated(slow_echo, program)


def test_no_response_is_sent_when_the_handler_has_none() -> None:
    async def none_for_a(request: MetadataRequest, context: RequestContext) -> MetadataResponse | None:
        return None if request.topics and request.topics[0].name == "a" else await echo(request, context)

    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        with pytest.raises(OperationTimeoutError):
            await bench.ask(connection, "a", within_ms=100)
        assert bench.handled == ["a"]
        assert bench.failures == []

    simulated(none_for_a, program)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x00\x03", b"\x00\x03\x00\x0c\x00\x00\x00\x00\x7f\xff", b"\x03\xe7\x00\x00\x00\x00\x00\x00\xff\xff",
     b"\x00\x03\x00\x63\x00\x00\x00\x00\xff\xff", b"\x00\x00\x00\x09\x00\x00\x00\x00\xff\xff\x00",
     b"\x00\x03\x00\x0c\x00\x00\x00\x00\xff\xff\x00\xff\xff\xff\xff\x0f",
     b"\x00\x03\x00\x0c\x00\x00\x00\x00\xff\xff\x05"],
    ids=["empty", "no header", "client id too long", "unknown API", "unknown version", "API without a handler",
         "more topics than bytes", "header with tags"],
)  # fmt: skip
def test_what_cannot_be_read_or_is_not_served_closes_the_connection(payload: bytes) -> None:
    async def program(bench: Bench) -> None:
        ends: list[Exception | None] = []

        class Client:
            def frame_received(self, frame: memoryview) -> None:
                raise AssertionError("answered")

            def connection_lost(self, error: Exception | None) -> None:
                ends.append(error)

        transport = await bench.network.connect("broker", 9092, Client())
        transport.send(payload)
        transport.send(encode_request(metadata_of("behind"), 12, 1, None))
        await asyncio.sleep(0.01)
        assert [type(error) for error in ends] == [NetworkError]
        assert (bench.handled, bench.failures, bench.server.open_connections) == ([], [], 0)
        assert await bench.ask(await bench.connect(), "next") == "next from /client#2"

    simulated(echo, program)


def test_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    async def program(bench: Bench) -> None:
        frames: list[bytes] = []

        class Client:
            def frame_received(self, frame: memoryview) -> None:
                frames.append(bytes(frame))

            def connection_lost(self, error: Exception | None) -> None:
                pass

        transport = await bench.network.connect("broker", 9092, Client())
        transport.send(b"\x00\x12\x00\x63\x00\x00\x00\x07\x00\x02me\x00whatever follows")
        await asyncio.sleep(0.01)
        # correlation id 7, error 35, one API: key 18, v0 to v5
        assert frames == [bytes.fromhex("00000007 0023 00000001 0012 0000 0005")]
        assert not transport.is_closing
        transport.close()

    simulated(echo, program)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5])
def test_api_versions_tells_of_the_handlers_alone(version: int) -> None:
    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        named = ApiVersionsRequest(client_software_name="tests", client_software_version="1.0")
        request = named if version >= 3 else ApiVersionsRequest()
        response = await connection.request(request, version, bench.clock.now_ms() + 1000)
        assert response.error_code == ErrorCode.NONE
        assert [(a.api_key, a.min_version, a.max_version) for a in response.api_keys] == [(3, 0, 13), (18, 0, 5)]
        features = {feature.name: feature.max_version_level for feature in response.finalized_features}
        assert features == ({} if version < 3 else {
            "eligible.leader.replicas.version": 1, "group.version": 1, "kraft.version": 1, "metadata.version": 33,
            "share.version": 2, "streams.version": 1, "transaction.version": 2,
        })  # fmt: skip
        assert all(feature.min_version > 0 or version >= 4 for feature in response.supported_features)

    simulated(echo, program)


@pytest.mark.parametrize("name", ["", "-a", "a b", "a.", "ä"])
def test_software_name_must_be_plain(name: str) -> None:
    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
        response = await connection.request(request, 3, bench.clock.now_ms() + 1000)
        assert (response.error_code, response.api_keys) == (ErrorCode.INVALID_REQUEST, ())

    simulated(echo, program)


def test_our_handshake_works_with_our_server() -> None:
    async def program(bench: Bench) -> None:
        versions = await negotiate(await bench.connect(), bench.clock.now_ms() + 1000)
        assert set(versions.usable) == {ApiKey.METADATA, ApiKey.API_VERSIONS}

    simulated(echo, program)


def test_lost_connection_ends_the_waiting_request_and_is_told_once() -> None:
    ended: list[str] = []

    async def waits(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")
        return MetadataResponse()

    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        waiting = asyncio.create_task(bench.ask(connection, "a"))
        await asyncio.sleep(0.01)
        connection.abort()
        with pytest.raises(DisconnectedError):
            await waiting
        await asyncio.sleep(0.01)
        assert ended == ["cancelled"]
        assert bench.closed == [ConnectionInfo(1, "/client")]
        assert bench.failures == []

    simulated(waits, program)


def test_requests_before_a_good_end_are_handled_if_they_need_not_wait() -> None:
    seen: list[str] = []

    async def third_waits(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
        name = str(request.topics[0].name) if request.topics else ""
        if name == "waits":
            await asyncio.sleep(60)
        seen.append(name)
        return await echo(request, context)

    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        for name in ("waits", "a", "waits", "b"):
            connection.send(metadata_of(name), 12, print, lambda _error: None, bench.clock.now_ms() + 1000)
        connection.close()
        await asyncio.sleep(0.01)
        assert seen == ["a", "b"]
        assert len(bench.closed) == 1
        assert bench.failures == []

    simulated(third_waits, program)


def test_unexpected_error_is_kept_logged_and_ends_the_connection_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
        if context.connection.id == 2:
            raise ValueError("a defect")
        return await echo(request, context)

    async def program(bench: Bench) -> None:
        good, bad = await bench.connect(), await bench.connect()
        with pytest.raises(DisconnectedError):
            await bench.ask(bad, "x")
        assert await bench.ask(good, "y") == "y from /client#1"
        assert [str(error) for error in bench.failures] == ["a defect"]
        assert len(bench.closed) == 1

    with caplog.at_level(logging.ERROR):
        simulated(fails, program)
    assert "a defect" in caplog.text


def test_a_connection_that_arrives_while_the_broker_stops_is_broken() -> None:
    accepted: list[AcceptConnection] = []

    class Late(MemoryNetwork):
        async def listen(self, host: str, port: int, accept: AcceptConnection) -> Listener:
            accepted.append(accept)
            return await super().listen(host, port, accept)

    class Transport:
        peer = "127.0.0.1:5"
        peer_certificate = None
        is_closing = False

        def abort(self) -> None:
            self.is_closing = True

    async def program(bench: Bench) -> None:
        late = BrokerServer(bench.server.services, {})
        await late.start(Late(), "late", 9092)
        await late.stop()
        transport: Any = Transport()
        accepted[0](transport)
        assert transport.is_closing
        await asyncio.sleep(0.001)
        assert late.open_connections == 0

    simulated(echo, program)


def test_without_a_login_requests_come_from_an_anonymous_user() -> None:
    async def program(bench: Bench) -> None:
        assert await bench.ask(await bench.connect(), "a") == "User:ANONYMOUS"

    simulated(principal, program)


def test_the_principal_of_a_request_is_the_user_that_its_connection_authenticated() -> None:
    async def program(sim: Simulation) -> None:
        security = BrokerSecurity(mechanisms=("PLAIN",), users={"ann": "pw", "bob": "pw"})
        handlers: dict[ApiKey, Handle] = {
            ApiKey.METADATA: principal,
            ApiKey.SASL_HANDSHAKE: sasl_handshake.handle,
            ApiKey.SASL_AUTHENTICATE: sasl_authenticate.handle,
        }
        served: dict[ApiKey, Handle] = {**handlers, ApiKey.API_VERSIONS: ApiVersionsHandler(handlers)}
        server = BrokerServer(services_of(sim, Faults(), security), served)
        network = MemoryNetwork()
        await server.start(network, "broker", 9092)
        for user in ("ann", "bob"):
            access = Access("me", login_with(SaslSettings("PLAIN", Password(user, "pw")), sim.clock))
            session = await open_session(network, ("broker", 9092), access, timeout_ms=5_000)
            response = await session.connection.request(metadata_of("a"), 12, sim.clock.now_ms() + 5_000)
            assert response.cluster_id == f"User:{user}"
        await server.stop()

    run_simulated(program, 1)


def test_stopping_ends_everything() -> None:
    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        waiting = asyncio.create_task(bench.ask(connection, "a"))
        await asyncio.sleep(0.001)
        await bench.server.stop()
        with pytest.raises(DisconnectedError):
            await waiting
        with pytest.raises(NetworkError):
            await bench.connect()
        assert bench.server.open_connections == 0

    simulated(slow_echo, program)


# ------------------------------------------------------------------------------------------------- faults


def test_dropped_connection_leaves_the_request_unhandled() -> None:
    async def program(bench: Bench) -> None:
        rule = bench.faults.on(ApiKey.METADATA, DROP_CONNECTION, times=1)
        with pytest.raises(DisconnectedError):
            await bench.ask(await bench.connect(), "a")
        assert bench.handled == []
        assert await bench.ask(await bench.connect(), "b")
        assert (bench.handled, rule.hits, rule.is_spent) == (["b"], 1, True)

    simulated(echo, program)


def test_lost_response_means_a_handled_request() -> None:
    async def program(bench: Bench) -> None:
        bench.faults.on(ApiKey.METADATA, LOSE_RESPONSE, times=1)
        with pytest.raises(DisconnectedError):
            await bench.ask(await bench.connect(), "a")
        assert bench.handled == ["a"]

    simulated(echo, program)


def test_dropped_response_makes_the_client_time_out() -> None:
    async def program(bench: Bench) -> None:
        bench.faults.on(ApiKey.METADATA, DROP_RESPONSE, times=1)
        connection = await bench.connect()
        first = asyncio.create_task(bench.ask(connection, "a", within_ms=100))
        second = asyncio.create_task(bench.ask(connection, "b"))
        with pytest.raises(OperationTimeoutError):
            await first
        with pytest.raises(DisconnectedError):
            await second
        assert bench.handled == ["a", "b"]

    simulated(echo, program)


def test_repeated_request_is_handled_twice_and_answered_once() -> None:
    async def program(bench: Bench) -> None:
        bench.faults.on(ApiKey.METADATA, REPEAT)
        connection = await bench.connect()
        assert await bench.ask(connection, "a") == "a from /client#1"
        assert bench.handled == ["a", "a"]
        assert connection.in_flight == 0

    simulated(echo, program)


def test_delay_and_slow_down_hold_requests_back() -> None:
    async def program(bench: Bench) -> None:
        connection, start_ms = await bench.connect(), bench.clock.now_ms()
        bench.faults.on(ApiKey.METADATA, delay(300), when=lambda request: request.topics[0].name == "slow")
        await bench.ask(connection, "fast")
        assert bench.clock.now_ms() == start_ms
        await bench.ask(connection, "slow")
        assert bench.clock.now_ms() - start_ms == 300
        bench.faults.clear()
        other_broker, this_broker = bench.faults.slow_down(2, 10_000), bench.faults.slow_down(1, 50)
        await bench.ask(connection, "slow")
        assert bench.clock.now_ms() - start_ms == 350
        assert (other_broker.hits, this_broker.hits) == (0, 1)
        bench.faults.remove(this_broker)
        await bench.ask(connection, "fast")
        assert bench.clock.now_ms() - start_ms == 350

    simulated(echo, program)


def test_answers_are_given_without_the_handler() -> None:
    async def program(bench: Bench) -> None:
        bench.faults.on(ApiKey.METADATA, answer(MetadataResponse(cluster_id="made up")), times=1)
        bench.faults.on(ApiKey.METADATA, answer(lambda r: MetadataResponse(cluster_id=r.topics[0].name * 2)), times=1)
        connection = await bench.connect()
        assert await bench.ask(connection, "a") == "made up"
        assert await bench.ask(connection, "a") == "aa"
        assert bench.handled == []

    simulated(echo, program)


def test_errors_become_the_response_of_the_api() -> None:
    heartbeat = ShareGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=1, rack_id=None, subscribed_topic_names=None
    )
    refused = answer(UnknownMemberIdError("who?")).response_to(heartbeat)
    assert refused.error_code == ErrorCode.UNKNOWN_MEMBER_ID  # type: ignore[attr-defined]
    assert refused.error_message == "who?"  # type: ignore[attr-defined]
    found = answer(ErrorCode.COORDINATOR_NOT_AVAILABLE).response_to(FindCoordinatorRequest(coordinator_keys=("g",)))
    assert found.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE  # type: ignore[attr-defined]


def test_a_connection_that_is_not_used_is_closed_and_one_that_is_used_or_served_is_not() -> None:
    async def takes_an_hour(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
        if context.connection.id == 3:
            await asyncio.sleep(3600)
        return await echo(request, context)

    async def program(bench: Bench) -> None:
        idle_s = broker_settings().connections_max_idle_ms / 1000
        await bench.connect()
        used, waiting = await bench.connect(), await bench.connect()
        asked = asyncio.create_task(bench.ask(waiting, "waiting", within_ms=4_000_000))
        await asyncio.sleep(idle_s / 2)
        await bench.ask(used, "used")
        await asyncio.sleep(idle_s / 2 + 1)
        assert [info.id for info in bench.closed] == [1]
        await asyncio.sleep(idle_s / 2)
        assert [info.id for info in bench.closed] == [1, 2]
        assert await asked == "waiting from /client#3"

    simulated(takes_an_hour, program)
