"""One simulated run of transactional producers, and its verdict."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from attrs import define, field

from kafka_groups.broker.metadata.placement import GROUP_TOPIC, TRANSACTION_TOPIC
from kafka_groups.broker.runtime.transactions.led_markers import LedMarkers
from kafka_groups.errors import KafkaGroupsError, NotLeaderOrFollowerError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.testing.simulation import SeededFaults, SimulatedWorld, SimulationReport, simulate
from tests.simulation.reporting import report_of
from tests.simulation.transactions.book import Book
from tests.simulation.transactions.brokers_link import BrokersLink
from tests.simulation.transactions.producer import INPUT, PARTITIONS, TopicsOfRun, TransactionalProducer
from tests.simulation.transactions.reader import Reader
from tests.simulation.transactions.share_workers import ShareWorkers
from tests.support.cluster_client import Topic

__all__ = ["OWN_FAULTS", "run_transactional_world"]

OWN_FAULTS = ("older_lives_on", "timed_out", "fenced", "lost_marker", "repeated_marker", "moved")
"""What strikes in addition to the faults of all simulations."""

FAULTY_S, FINISH_S = 75, 120
NAMES, OUTPUT = ("ann", "bob", "cid"), "out"
_FAULTS = SeededFaults(
    seconds=FAULTY_S,
    coordinator_moved=0,
    lost_heartbeat_response=0,
    repeated_heartbeat=0,
    broker_killed=2,
    process_killed=3,
    refused_append=3,
)
_SETTINGS = {
    "transaction.state.log.num.partitions": 2,
    "offsets.topic.num.partitions": 2,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
}
_SHARED_EVERY = 3
"""A share group takes as long as everything else together: only some seeds have one."""
_MOVE_S = (0.5, 6.0)
_LOST_MARKERS, _REPEATED_MARKERS = 0.1, 0.1


@define(eq=False)
class _Run:
    """The parts of a run."""

    world: SimulatedWorld
    book: Book
    topics: TopicsOfRun
    living: list[TransactionalProducer] = field(factory=list)
    is_over: bool = False

    def start(self, name: str) -> None:
        """Start a process whose lives are producers with an id."""
        self.world.start(self._live, name, name=f"{name}-{len(self.living)}")

    async def _live(self, name: str) -> None:
        """Live once; a supervisor starts another life after one that was fenced."""
        producer = self.producer(name)
        producer.is_wanted = not self.is_over
        self.living.append(producer)
        await producer.live()

    def producer(self, name: str) -> TransactionalProducer:
        """A life with an id."""
        return TransactionalProducer(name, self.world, self.book, self.topics, lambda: self.start(name))

    async def supervise(self) -> None:
        """Start an id again that has no process any more."""
        while not self.is_over:
            await asyncio.sleep(2)
            running = {process.name.split("-")[0] for process in self._processes if process.is_running}
            for name in NAMES:
                if name not in running:
                    self.start(name)

    def stop(self) -> None:
        """Let producers begin no more transactions."""
        self.is_over = True
        for producer in self.living:
            producer.is_wanted = False

    @property
    def is_quiet(self) -> bool:
        """Whether no process runs any more."""
        return not any(process.is_running for process in self._processes)

    @property
    def _processes(self) -> list[Any]:
        return [each for each in self.world._stage.supervisor.processes if each.name.split("-")[0] in NAMES]


def run_transactional_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    return report_of(partial(simulate, _run, seed, faults=_FAULTS, settings=_SETTINGS, write_event=write_event))


async def _run(world: SimulatedWorld) -> None:
    topics = (_topic(world, OUTPUT, PARTITIONS), _topic(world, INPUT, 1))
    await _find_coordinators(world)
    run = _Run(world, Book(world.violations), topics)
    reader = Reader(world, run.book, topics[0], NAMES)
    workers = ShareWorkers(world, run.book, OUTPUT) if world.seed % _SHARED_EVERY == 0 else None
    with _bad_markers(world):
        if workers is not None:
            workers.start()
        for name in NAMES:
            run.start(name)
        tasks = [asyncio.create_task(work) for work in (run.supervise(), _move(world), reader.follow())]
        await _faults_ended(world)
        run.stop()
        await _finish(run)
        for task in tasks:
            task.cancel()
    await _judge(run, reader)
    if workers is not None:
        await workers.finish(reader.found)


def _topic(world: SimulatedWorld, name: str, partitions: int) -> Topic:
    world.cluster.create_topic(name, partitions, replication_factor=3)
    created = world.cluster.metadata.topic(name)
    assert created is not None
    return Topic(name, created.topic_id)


async def _find_coordinators(world: SimulatedWorld) -> None:
    """Let the brokers create their topics of transactions and groups."""
    for key_type in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION):
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=("any",))
        while not await _is_found(world, request):  # noqa: ASYNC110 - looking again takes only virtual time
            await asyncio.sleep(0.1)


async def _is_found(world: SimulatedWorld, request: FindCoordinatorRequest) -> bool:
    link = BrokersLink(world, "finder").for_partition(OUTPUT, 0)
    try:
        return (await link.ask(request)).coordinators[0].error_code is ErrorCode.NONE
    except KafkaGroupsError:
        return False
    finally:
        link.close()


async def _faults_ended(world: SimulatedWorld) -> None:
    while world.is_faulty:  # noqa: ASYNC110 - looking again takes only virtual time
        await asyncio.sleep(1)


async def _finish(run: _Run) -> None:
    """Wait for the last transactions, and abort those that were left open."""
    if not await _within(FINISH_S, lambda: run.is_quiet):
        run.world.violations.append(f"producers still at work {FINISH_S} s after they were told to stop")
    for name in NAMES:
        if not await run.producer(name).finish():
            run.world.violations.append(f"{name} does not get an epoch any more")


async def _judge(run: _Run, reader: Reader) -> None:
    """Read everything once more from the beginning: it must be what the first reader saw, and what was committed."""
    again = Reader(run.world, run.book, run.topics[0], NAMES)
    for each in (reader, again):
        if not await _read_to_end(each):
            run.world.violations.append(f"a transaction is still open {FINISH_S} s after the last one")
        each.close()
    if reader.found != again.found:
        run.world.violations.append(f"read again, records differ: {reader.found}, {again.found}")
    run.world.violations += run.book.verdict(again.found, again.offsets)
    run.world.struck["transactions"] += sum(len(entries) for entries in run.book.entries.values())
    run.world.struck["committed"] += sum(
        bool(each.is_committed) for entries in run.book.entries.values() for each in entries
    )


async def _read_to_end(reader: Reader) -> bool:
    for _ in range(FINISH_S):
        if await reader.look():
            return True
        await asyncio.sleep(1)
    return False


async def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    for _ in range(round(seconds)):
        if condition():
            return True
        await asyncio.sleep(1)
    return condition()


# ------------------------------------------------------------------------------------------- what goes wrong


async def _move(world: SimulatedWorld) -> None:
    """As long as faults strike, move coordinators and leaders, often several times in a row."""
    while world.is_faulty:
        await asyncio.sleep(world.rng.uniform(*_MOVE_S))
        topic = world.cluster.metadata.topic(world.rng.choice((OUTPUT, TRANSACTION_TOPIC, GROUP_TOPIC)))
        assert topic is not None
        number = world.rng.randrange(topic.num_partitions)
        for _ in range(world.rng.choice((1, 1, 2, 3))):
            world.struck["moved"] += 1
            world.cluster.move_leader(topic.name, number, world.rng.choice(world.cluster.running_brokers))
            await asyncio.sleep(world.rng.uniform(0, 0.5))


@contextmanager
def _bad_markers(world: SimulatedWorld) -> Iterator[None]:
    """Lose markers before they are written, and have others written again."""
    write_all = LedMarkers.write_all

    def write_badly(self: LedMarkers, marker: Any, partitions: Any, done: Callable[[Any], None]) -> None:
        if world.strikes("lost_marker", _LOST_MARKERS):
            done(_failed(partitions))
        elif world.strikes("repeated_marker", _REPEATED_MARKERS):
            write_all(self, marker, partitions, lambda _errors: done(_failed(partitions)))
        else:
            write_all(self, marker, partitions, done)

    with patch.object(LedMarkers, "write_all", write_badly):
        yield


def _failed(partitions: Any) -> Mapping[Any, NotLeaderOrFollowerError]:
    return {each: NotLeaderOrFollowerError("lost on purpose") for each in partitions}
