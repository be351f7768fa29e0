"""The way to the brokers and the loop that drives the managers, over a network in memory."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.engine import ClientEngine
from kafka_groups.client.metadata import Node
from kafka_groups.client.requests import NEVER_MS, ClientResponse, Lane, OutgoingRequest, PollResult
from kafka_groups.client.router import ConnectionSettings, Router
from kafka_groups.errors import (
    BootstrapError,
    DisconnectedError,
    KafkaGroupsError,
    NetworkError,
    OperationTimeoutError,
    UnsupportedVersionError,
)
from kafka_groups.net.clock import Clock
from kafka_groups.net.loop_clock import LoopClock
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import FrameTransport, Listener
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import decode_request, decode_request_header, encode_response
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_groups.protocol.messages.metadata import MetadataRequest
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.testing.simulation.processes import SimulatedProcess
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop

SERVED = {ApiKey.API_VERSIONS: 4, ApiKey.FIND_COORDINATOR: 6, ApiKey.SHARE_ACKNOWLEDGE: 2}


class TinyBroker:
    """Serves two APIs; `silent` swallows all but the handshake."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[str] = []
        self.transports: list[FrameTransport] = []
        self.silent = False
        self.delay_s = 0.0
        self.level = 1
        self.served = dict(SERVED)
        self.listener: Listener

    async def listen(self, network: MemoryNetwork) -> "TinyBroker":
        self.listener = await network.listen(self.name, 9, self.accept)
        return self

    def accept(self, transport: FrameTransport) -> "TinyConnection":
        self.transports.append(transport)
        return TinyConnection(self, transport)


class TinyConnection:
    def __init__(self, broker: TinyBroker, transport: FrameTransport) -> None:
        self.broker, self.transport = broker, transport

    def frame_received(self, frame: memoryview) -> None:
        header = decode_request_header(frame)
        decode_request(frame, header)
        key = ApiKey(header.api_key)
        self.broker.seen.append(key.name)
        if key is ApiKey.API_VERSIONS:
            versions = tuple(
                ApiVersion(api_key=int(api), min_version=0 if api < 70 else 1, max_version=high)
                for api, high in self.broker.served.items()
            )
            level = FinalizedFeatureKey(
                name="transaction.version", max_version_level=self.broker.level, min_version_level=0
            )
            response: Any = ApiVersionsResponse(api_keys=versions, finalized_features=(level,))
        elif self.broker.silent:
            return
        elif key is ApiKey.FIND_COORDINATOR:
            response = FindCoordinatorResponse()
        else:
            response = ShareAcknowledgeResponse()
        answer = encode_response(response, header.version, header.correlation_id)
        asyncio.get_running_loop().call_later(self.broker.delay_s, self.transport.send, answer)

    def connection_lost(self, error: Exception | None) -> None:
        self.broker.seen.append("LOST")


class Outcome:
    """What became of a request."""

    def __init__(self) -> None:
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answered(self, answer: ClientResponse) -> None:
        self.future.set_result(answer)

    def failed(self, error: Exception) -> None:
        self.future.set_result(error)


class Way:
    def __init__(self, simulation: Simulation, *bootstrap: str, clock: Clock | None = None) -> None:
        self.network, self.clock = MemoryNetwork(), clock or simulation.clock
        self.nodes: dict[int, Node] = {}
        self.lost: list[tuple[str, int]] = []
        settings = ConnectionSettings(
            tuple((host, 9) for host in bootstrap), "me", 2_000, 50, 1_000, reach_timeout_ms=3_000
        )
        self.router = Router(
            self.network,
            settings,
            self.nodes,
            self.clock,
            random.Random(1),
            lambda host, port: self.lost.append((host, port)),
        )

    async def ask(self, request: OutgoingRequest) -> Any:
        return await self.send(request).future

    def send(self, request: OutgoingRequest) -> Outcome:
        outcome = Outcome()
        self.router.send(request, outcome.answered, outcome.failed)
        return outcome


def look_up(node_id: int | None = None, timeout_ms: int = 5_000) -> OutgoingRequest:
    return OutgoingRequest(
        ApiKey.FIND_COORDINATOR, lambda _v: FindCoordinatorRequest(coordinator_keys=("g",)), node_id, timeout_ms
    )


def acknowledge(node_id: int, timeout_ms: int = 5_000) -> OutgoingRequest:
    return OutgoingRequest(
        ApiKey.SHARE_ACKNOWLEDGE,
        lambda _v: ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=1),
        node_id,
        timeout_ms,
        lane=Lane.DATA,
    )


def simulate(program: Callable[[Simulation], Any]) -> None:
    run_simulated(program, 1, limit_s=600)


class TestRouter:
    def test_each_lane_has_a_connection_which_its_first_request_opens_and_the_next_ones_use(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            for opened, lane in enumerate(Lane, start=1):
                for _ in range(3):
                    assert isinstance(await way.ask(attrs.evolve(look_up(1), lane=lane)), ClientResponse)
                    assert len(broker.transports) == opened
            await way.router.close()

        simulate(program)

    def test_only_the_end_of_the_data_lane_is_told(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            told = []
            for lane in Lane:
                way.lost.clear()
                await way.ask(attrs.evolve(look_up(1), lane=lane))
                broker.transports[-1].close()
                await asyncio.sleep(0.1)
                told += [lane for _address in way.lost]
            assert told == [Lane.DATA]
            await way.router.close()

        simulate(program)

    def test_data_and_control_have_a_connection_each_which_is_used_again(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            for _ in range(3):
                answer = await way.ask(look_up(1))
                assert (answer.version, answer.message) == (6, FindCoordinatorResponse())
                assert (await way.ask(acknowledge(1))).version == 2
            assert len(broker.transports) == 2
            assert broker.seen.count("API_VERSIONS") == 2
            await way.router.close()
            await asyncio.sleep(0.1)
            assert way.network.open_connections == 0

        simulate(program)

    def test_features_are_those_that_the_broker_told_at_the_newest_connection(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            told = [dict(way.router.features_of(1))]
            for level in (1, 2):
                broker.level = level
                for again in range(2):
                    await way.ask(look_up(1))
                    told.append(dict(way.router.features_of(1)))
                    broker.level += again  # a new level is not heard of before the next connection
                broker.transports[-1].abort()
                await asyncio.sleep(0.1)
            told.append(dict(way.router.features_of(1)))
            assert [each.get("transaction.version") for each in told] == [None, 1, 1, 2, 2, 2]
            assert way.router.features_of(7) == {}
            await way.router.close()

        simulate(program)

    def test_an_unknown_broker_is_a_failure_and_never_within_the_call(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            outcome = way.send(acknowledge(7))
            assert not outcome.future.done()
            assert isinstance(await outcome.future, DisconnectedError)

        simulate(program)

    def test_any_broker_is_one_that_can_be_reached(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "gone", "b1", "away")
            await TinyBroker("b1").listen(way.network)
            failures = 0
            while isinstance(answer := await way.ask(look_up()), Exception):
                failures += 1
                assert isinstance(answer, NetworkError)
            assert failures <= 3
            assert way.router.reachability.unreachable_since_ms is None
            assert isinstance(await way.ask(look_up()), ClientResponse)
            await way.router.close()

        simulate(program)

    def test_a_broker_that_cannot_be_reached_is_tried_at_a_bounded_rate(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "gone")
            start_ms, tries = way.clock.now_ms(), 0
            while way.clock.now_ms() < start_ms + 10_000:
                assert isinstance(await way.ask(look_up()), NetworkError)
                tries += 1
            assert 8 <= tries <= 25
            assert way.router.reachability.unreachable_since_ms is not None
            assert way.router.reachability.unreachable_since_ms <= start_ms + 100
            await way.router.close()

        simulate(program)

    def test_a_broker_that_cannot_be_reached_where_the_cluster_says_it_is_is_named(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            await TinyBroker("b1").listen(way.network)
            assert isinstance(await way.ask(look_up()), ClientResponse)
            way.nodes[2] = Node(2, "kafka", 29092)
            for _ in range(5):
                assert isinstance(await way.ask(acknowledge(2)), NetworkError)
            assert way.router.reachability.unreachable_since_ms is None
            await way.router.close()

        simulate(program)
        (said,) = (record.getMessage() for record in caplog.records)
        assert "kafka:29092" in said
        assert "advertised.listeners" in said

    def test_an_api_that_is_not_served_is_a_failure_that_says_so(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            del broker.served[ApiKey.SHARE_ACKNOWLEDGE]
            way.nodes[1] = Node(1, "b1", 9)
            error = await way.ask(acknowledge(1))
            assert isinstance(error, UnsupportedVersionError)
            assert "ShareAcknowledge" in str(error)
            await way.router.close()

        simulate(program)

    def test_a_lost_connection_fails_what_is_under_way_and_is_told_after_it(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            await way.ask(acknowledge(1))
            await way.ask(look_up(1))
            broker.silent = True
            under_way = way.send(acknowledge(1))
            under_way.future.add_done_callback(lambda _f: way.lost.append(("failed first", 0)))
            await asyncio.sleep(0.1)
            way.network.sever()
            assert isinstance(await under_way.future, DisconnectedError)
            await asyncio.sleep(0)
            assert ("b1", 9) in way.lost
            assert way.lost.count(("b1", 9)) == 1  # the control connection is nobody's session
            broker.silent = False
            assert isinstance(await way.ask(acknowledge(1)), ClientResponse)
            await way.router.close()
            await asyncio.sleep(0.1)
            assert way.lost.count(("b1", 9)) == 1  # closed by ourselves

        simulate(program)

    def test_a_silent_broker_is_left_at_the_deadline(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            broker.silent = True
            before_ms = way.clock.now_ms()
            error = await way.ask(acknowledge(1, timeout_ms=700))
            assert isinstance(error, KafkaGroupsError)
            assert 700 <= way.clock.now_ms() - before_ms <= 800
            await way.router.close()

        simulate(program)

    def test_a_request_on_a_new_connection_waits_for_no_response_to_those_before(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            in_group = attrs.evolve(look_up(1), lane=Lane.GROUP)
            await way.ask(look_up(1))
            assert isinstance(await way.ask(in_group), ClientResponse)
            broker.silent = True
            before = way.send(in_group)
            await asyncio.sleep(0.1)
            broker.silent = False
            answer = await way.ask(attrs.evolve(in_group, on_new_connection=True))
            assert isinstance(answer, ClientResponse)
            assert isinstance(await before.future, DisconnectedError)
            assert len(broker.transports) == 3
            assert isinstance(await way.ask(in_group), ClientResponse)
            assert isinstance(await way.ask(look_up(1)), ClientResponse)
            assert len(broker.transports) == 3
            await way.router.close()
            await asyncio.sleep(0.1)
            assert way.network.open_connections == 0

        simulate(program)

    def test_a_request_on_a_new_connection_takes_the_place_of_those_that_wait_for_one(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "b1")
            broker = await TinyBroker("b1").listen(way.network)
            way.nodes[1] = Node(1, "b1", 9)
            before = way.send(look_up(1))
            after = way.send(attrs.evolve(look_up(1), on_new_connection=True))
            assert isinstance(await before.future, DisconnectedError)
            assert isinstance(await after.future, ClientResponse)
            assert broker.seen.count("FIND_COORDINATOR") == 1
            await way.router.close()

        simulate(program)

    def test_closing_fails_what_waits_and_leaves_no_task(self) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation, "gone")
            waiting = [way.send(look_up()) for _ in range(3)]
            await way.router.close()
            assert all(isinstance(outcome.future.result(), KafkaGroupsError) for outcome in waiting)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            assert isinstance(await way.ask(look_up()), DisconnectedError)

        simulate(program)


class Scripted:
    """A manager that does what it is told."""

    def __init__(self) -> None:
        self.outgoing: list[OutgoingRequest] = []
        self.wait_ms = NEVER_MS
        self.polls: list[int] = []
        self.outcomes: list[Any] = []
        self.broken = False

    def poll(self, now_ms: int) -> PollResult:
        self.polls.append(now_ms)
        if self.broken:
            raise ZeroDivisionError("a bug")
        requests, self.outgoing = tuple(self.outgoing), []
        return PollResult(requests, self.wait_ms)

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, _now_ms: int) -> None:
        self.outcomes.append(answer)

    def on_failure(self, _request: OutgoingRequest, error: Exception, _now_ms: int) -> None:
        self.outcomes.append(error)


def engine_of(way: Way, manager: Scripted, errors: BackgroundErrors, turns: list[int]) -> ClientEngine:
    return ClientEngine([manager], way.router, way.clock, errors=errors, on_turn=lambda: turns.append(1))


class TestEngine:
    def test_it_sleeps_until_the_earliest_moment_and_stops_for_good(self) -> None:
        async def program(simulation: Simulation) -> None:
            way, manager, turns = Way(simulation, "b1"), Scripted(), list[int]()
            engine = engine_of(way, manager, BackgroundErrors(), turns)
            engine.turn()
            assert (manager.polls, engine.is_running) == ([], False)
            manager.wait_ms = 1_000
            engine.start()
            start_ms = way.clock.now_ms()
            await asyncio.sleep(3.5)
            assert [polled - start_ms for polled in manager.polls] == [0, 1_000, 2_000, 3_000]
            await engine.stop()
            await asyncio.sleep(10)
            assert len(manager.polls) == 4
            assert len(turns) == 4

        simulate(program)

    def test_an_answer_is_followed_by_a_turn(self) -> None:
        async def program(simulation: Simulation) -> None:
            way, manager, turns = Way(simulation, "b1"), Scripted(), list[int]()
            await TinyBroker("b1").listen(way.network)
            engine = engine_of(way, manager, BackgroundErrors(), turns)
            manager.outgoing = [look_up()]
            engine.start()
            await asyncio.sleep(1)
            assert [type(outcome) for outcome in manager.outcomes] == [ClientResponse]
            assert len(manager.polls) == 2
            await engine.stop()

        simulate(program)

    def test_a_bug_in_a_manager_ends_the_client_and_tells_the_application(self) -> None:
        async def program(simulation: Simulation) -> None:
            way, manager, turns, errors = Way(simulation, "b1"), Scripted(), list[int](), BackgroundErrors()
            engine = engine_of(way, manager, errors, turns)
            manager.broken = True
            engine.start()
            with pytest.raises(KafkaGroupsError, match="a bug"):
                errors.raise_first()
            assert turns == [1]
            await engine.stop()

        simulate(program)

    def test_no_broker_reachable_is_reported_after_the_time(self) -> None:
        async def program(simulation: Simulation) -> None:
            way, manager, turns, errors = Way(simulation, "gone"), Scripted(), list[int](), BackgroundErrors()
            engine = engine_of(way, manager, errors, turns)
            manager.outgoing = [look_up()]
            engine.start()
            await asyncio.sleep(2.9)
            assert not errors
            await asyncio.sleep(0.3)
            with pytest.raises(BootstrapError, match="gone:9"):
                errors.raise_first()
            assert errors.fatal is None
            await engine.stop()

        simulate(program)


REQUEST_TIMEOUT_MS = 30_000


class Records:
    """A client for records: its engine runs, and the test blocks its loop."""

    def __init__(self, simulation: Simulation, *bootstrap: str) -> None:
        self.way, self.manager = Way(simulation, *bootstrap, clock=LoopClock(simulation.clock)), Scripted()
        self.errors = BackgroundErrors()
        self.engine = engine_of(self.way, self.manager, self.errors, [])
        self.engine.start()
        self.loop = asyncio.get_running_loop()

    def block(self, seconds: float) -> None:
        assert isinstance(self.loop, VirtualTimeLoop)
        self.loop.block(seconds)

    async def close(self) -> None:
        await self.engine.stop()


async def records_with(simulation: Simulation) -> tuple[Records, TinyBroker]:
    records = Records(simulation, "b1")
    broker = await TinyBroker("b1").listen(records.way.network)
    records.way.nodes[1] = Node(1, "b1", 9)
    return records, broker


def asked_in(lane: Lane) -> OutgoingRequest:
    return attrs.evolve(look_up(1, REQUEST_TIMEOUT_MS), lane=lane)


def metadata_in(lane: Lane) -> OutgoingRequest:
    return OutgoingRequest(ApiKey.METADATA, lambda _v: MetadataRequest(topics=()), 1, REQUEST_TIMEOUT_MS, lane=lane)


class TestIdleConnections:
    def test_the_next_request_opens_one_that_the_broker_closed_and_nothing_is_logged(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def program(simulation: Simulation) -> None:
            way = Way(simulation)
            idle = {"connections.max.idle.ms": 10_000}
            async with EmbeddedCluster(network=way.network, clock=simulation.clock, settings=idle) as cluster:
                host, port = cluster.bootstrap_servers.split(":")
                way.nodes[1] = Node(1, host, int(port))
                for _ in range(3):
                    for lane in Lane:
                        assert isinstance(await way.ask(metadata_in(lane)), ClientResponse)
                    assert cluster.open_connections == len(Lane)
                    await asyncio.sleep(25)
                    assert cluster.open_connections == 0
                await way.router.close()

        simulate(program)
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


class TestLoopThatIsBlocked:
    @pytest.mark.parametrize("connects", [True, False], ids=["while it connects", "when it is connected"])
    def test_answers_that_came_late_are_taken_and_no_connection_is_closed(
        self, caplog: pytest.LogCaptureFixture, connects: bool
    ) -> None:
        async def program(simulation: Simulation) -> None:
            records, broker = await records_with(simulation)
            if not connects:
                await asyncio.gather(*(records.way.ask(asked_in(lane)) for lane in Lane))
                await asyncio.sleep(REQUEST_TIMEOUT_MS / 1000)  # until no timer is left of these
            broker.delay_s = 1
            outcomes = [records.way.send(asked_in(lane)) for lane in Lane]
            for blocked_s in (0.5, 40.0, 200.0, 40.0):
                await asyncio.sleep(0.1)
                records.block(blocked_s)
            answers = await asyncio.gather(*(outcome.future for outcome in outcomes))
            assert {type(answer) for answer in answers} == {ClientResponse}
            assert len(broker.transports) == len(Lane)
            assert "LOST" not in broker.seen
            await records.close()

        simulate(program)
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []

    def test_a_silent_broker_is_left_after_the_time_that_counts(self) -> None:
        async def program(simulation: Simulation) -> None:
            records, broker = await records_with(simulation)
            await records.way.ask(asked_in(Lane.DATA))
            broker.silent = True
            before_s = records.loop.time()
            silent = records.way.send(asked_in(Lane.DATA))
            await asyncio.sleep(10)
            records.block(40)
            await asyncio.sleep(10)
            records.block(40)
            assert isinstance(await silent.future, OperationTimeoutError)
            assert 108 <= records.loop.time() - before_s <= 110
            await records.close()

        simulate(program)

    def test_a_deadline_in_a_stall_leaves_time_to_read(self) -> None:
        async def program(simulation: Simulation) -> None:
            records, broker = await records_with(simulation)
            await records.way.ask(asked_in(Lane.DATA))
            broker.silent = True
            silent = records.way.send(asked_in(Lane.DATA))
            await asyncio.sleep(29.9)
            records.block(40)
            await asyncio.sleep(0.9)
            assert not silent.future.done()
            await asyncio.sleep(0.2)
            assert isinstance(await silent.future, OperationTimeoutError)
            await records.close()

        simulate(program)

    def test_the_time_until_no_broker_counts_as_reachable_moves(self) -> None:
        async def program(simulation: Simulation) -> None:
            records = Records(simulation, "gone")
            records.way.send(look_up())
            await asyncio.sleep(0.5)
            records.block(40)
            await asyncio.sleep(1)
            assert not records.errors
            await asyncio.sleep(1)
            with pytest.raises(BootstrapError):
                records.errors.raise_first()
            await records.close()

        simulate(program)

    def test_an_engine_with_nothing_to_do_says_that_its_loop_runs(self) -> None:
        async def program(simulation: Simulation) -> None:
            records, _broker = await records_with(simulation)
            await asyncio.sleep(100)
            assert records.way.clock.now_ms() == simulation.clock.now_ms()
            await records.close()

        simulate(program)

    def test_a_simulated_process_that_stands_still_keeps_its_connections(self) -> None:
        async def program(simulation: Simulation) -> None:
            made: list[Records] = []
            answers: list[Any] = []

            async def asks() -> None:
                made.append(records := Records(simulation, "b1"))
                records.way.nodes[1] = Node(1, "b1", 9)
                for _ in range(2):
                    await asyncio.sleep(1)
                    answers.append(await records.way.ask(asked_in(Lane.DATA)))

            process = SimulatedProcess("p", asks, lambda _process, error: answers.append(error))
            process.start()
            await asyncio.sleep(0.5)
            broker = await TinyBroker("b1").listen(made[0].way.network)
            await asyncio.sleep(1)
            broker.delay_s = 35  # after the deadline, and before the process goes on
            await asyncio.sleep(5)
            await process.stall(90)
            await asyncio.sleep(1)
            assert [type(answer) for answer in answers] == [ClientResponse, ClientResponse]
            await made[0].close()

        simulate(program)

    @pytest.mark.parametrize("is_connected", [True, False])
    def test_a_request_can_be_sent_while_the_loop_is_blocked(self, is_connected: bool) -> None:
        """`turn` in the middle of a record writes at once; the loop reads the answer when it runs again."""

        async def program(simulation: Simulation) -> None:
            records, broker = await records_with(simulation)
            if is_connected:
                await records.way.ask(look_up(1))
            records.block(20)
            records.manager.outgoing = [look_up(1, REQUEST_TIMEOUT_MS)]
            records.engine.turn()
            records.block(20)
            assert records.manager.outcomes == []
            await asyncio.sleep(0.1)
            assert [type(outcome) for outcome in records.manager.outcomes] == [ClientResponse]
            assert len(broker.transports) == 1
            await records.close()

        simulate(program)
