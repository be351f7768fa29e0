"""Views of a streams application are asked while its tasks move: each answer is right for the offsets that it names.

A view tells rows and position at one moment. In the end, when all is committed, the input up to this position says what
the rows had to be: with exactly-once, no other rows were ever committed with it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, field, frozen

from kafka_groups import serdes
from kafka_groups.protocol.record_batch import DecodedRecord
from kafka_groups.streams.errors import InvalidStateStoreError
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.state.position import Position
from kafka_groups.testing.simulation import SimulationReport
from kafka_groups.testing.simulation.checks.visible import visible_records
from kafka_groups.testing.simulation.streams.instance import Deployment, Instance
from kafka_groups.testing.simulation.streams.simulated_application import simulate_streams
from kafka_groups.testing.simulation.world import SimulatedWorld
from kafka_groups.testing.topology_driver.topology_test_driver import TopologyTestDriver
from tests.simulation.applications.counting import FAULTS, PARTITIONS, DefaultStore, build, lines_of
from tests.simulation.reporting import report_of

__all__ = ["QueryCounts", "run_queried_world"]

_PAUSE_S = 0.25
_WORDS = "words"
_OF_LINES = ("lines-by-time", "sessions")
"""The stores whose rows follow from the lines of one partition alone."""
_REPARTITIONED = "counting-words-repartition"
_ENDLESS_MS = 1 << 40


@frozen
class Answer:
    """An answer of one task.

    Attributes:
        store: The store.
        partition: The partition of the task.
        position: The input offsets that the store had.
        rows: Its rows.
    """

    store: str
    partition: int
    position: Position
    rows: Mapping[Any, Any]


@define
class QueryCounts:
    """The numbers of questions that were answered, and of those that were refused."""

    answers: int = 0
    errors: int = 0


@define(eq=False)
class _Asking:
    """Asks all instances for all stores, again and again."""

    counts: QueryCounts
    answers: list[Answer] = field(factory=list)
    _views: dict[tuple[Instance, str, int], Any] = field(factory=dict)

    async def __call__(self, deployment: Deployment, over: asyncio.Event) -> list[str]:
        settings = deployment.application.settings.tasks
        while not over.is_set():
            for instance in list(deployment.running.values()):
                for store in (_WORDS, *_OF_LINES):
                    for partition in range(PARTITIONS):
                        make = partial(
                            committed_view, settings.topology.stores[store], settings.application_id, instance.answers,
                            partition=partition, clock=deployment.world.clock,
                        )  # fmt: skip
                        self._ask(instance, store, partition, make)
            await asyncio.sleep(_PAUSE_S)
        return list(_wrong(deployment.world, self.answers))

    def _ask(self, instance: Instance, store: str, partition: int, make: Callable[[], Any]) -> None:
        """Ask a view that may be old, or a new one after an error."""
        place = instance, store, partition
        try:
            view = self._views.get(place) or self._views.setdefault(place, make())
            # Nothing else runs between both, so they are of one moment.
            self.answers.append(Answer(store, partition, view.position, dict(view.all())))
            self.counts.answers += 1
        except InvalidStateStoreError:
            self._views.pop(place, None)
            self.counts.errors += 1


def run_queried_world(
    seed: int,
    write_event: Callable[[str], object] = lambda _line: None,
    default_store: DefaultStore | None = None,
    counts: QueryCounts | None = None,
) -> SimulationReport:
    """Run one seed; each event is also written as a line.

    Args:
        seed: The seed.
        write_event: Called with a line for each event.
        default_store: Where the application keeps its stores. None: odd seeds on disk, even ones in memory.
        counts: Gets the numbers of questions.
    """
    store: DefaultStore = default_store or ("lmdb" if seed % 2 else "in_memory")
    asking = _Asking(counts or QueryCounts())

    def run() -> SimulationReport:
        return simulate_streams(
            build, {"lines": lines_of(seed)}, seed, faults=FAULTS, partitions=PARTITIONS, write_event=write_event,
            watch=asking, application_id="counting", commit_interval_ms=400, poll_ms=400,
            processing_guarantee="exactly_once_v2", default_dsl_store=store,
            repartition_purge_interval_ms=_ENDLESS_MS,
        ).report  # fmt: skip

    return report_of(run)


def _wrong(world: SimulatedWorld, answers: list[Answer]) -> Iterator[str]:
    """Yield the answers that were never committed."""
    for partition in range(PARTITIONS):
        of_words, of_lines = _records(world, _REPARTITIONED, partition), _records(world, "lines", partition)
        states = {name: _states_of(of_lines, name) for name in _OF_LINES}
        for each in answers:
            if each.partition != partition:
                continue
            topic, records = (_REPARTITIONED, of_words) if each.store == _WORDS else ("lines", of_lines)
            reached = each.position.at(topic, partition)
            taken = [record for record in records if reached is not None and record.offset <= reached]
            wanted = _counted(taken) if each.store == _WORDS else states[each.store][len(taken)]
            if each.rows != wanted:
                yield f"{each.store}-{partition} at offset {reached} has {dict(each.rows)}, and not {wanted}"


def _records(world: SimulatedWorld, topic: str, partition: int) -> list[DecodedRecord]:
    known = world.cluster.metadata.topic(topic)
    return [] if known is None else list(visible_records(world.cluster.logs.get(known.topic_id, partition)))


def _counted(records: list[DecodedRecord]) -> dict[str, int]:
    return dict(Counter((each.key or b"").decode() for each in records))


def _states_of(lines: list[DecodedRecord], store: str) -> list[dict[Any, Any]]:
    """Return what a store has after none of the lines, the first one, and so on."""
    with TopologyTestDriver(build()) as driver:
        topic = driver.input_topic("lines", serdes.bytes_, serdes.bytes_)
        states = [dict(driver.store(store).all())]
        for line in lines:
            topic.pipe(line.key, line.value, timestamp_ms=line.timestamp)
            states.append(dict(driver.store(store).all()))
    return states
