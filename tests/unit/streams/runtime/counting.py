"""A worker that counts words, over the fake brokers."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from kafka_groups.records.interface import DataPlane
from kafka_groups.streams import StreamsBuilder, Topology, serdes, stores
from kafka_groups.streams.engines.interface import EngineFactory
from kafka_groups.streams.processors.extractors import fail_on_invalid
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.tasks.error_context import ErrorHandlers
from kafka_groups.streams.tasks.stream_task import TaskSettings
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TopicPartition
from tests.support.fake_kafka import FakeKafka, FakeMembership, FakePlane, Faults

COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
CHANGELOG = "app-counts-changelog"
INPUT, OUTPUT = TopicPartition("words", 0), "totals"


def counting() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    words.group_by_key().count(store=COUNTS).to_stream().to(OUTPUT)
    return builder.build()


def enriched() -> Topology:
    builder = StreamsBuilder()
    names = builder.global_table("names", key=serdes.string, value=serdes.string)
    orders = builder.stream("orders", key=serdes.string, value=serdes.string)
    orders.join(names, lambda order, name: f"{order} of {name}", on=lambda key, _: key).to("named", value=serdes.string)
    return builder.build()


def brokers(partitions: int = 1) -> FakeKafka:
    return FakeKafka({"words": partitions, CHANGELOG: partitions, OUTPUT: 1})


class Process:
    """One process of the application."""

    def __init__(
        self,
        kafka: FakeKafka,
        faults: Faults | None = None,
        topology: Topology | None = None,
        listeners: RestoreListeners = RestoreListeners(),  # noqa: B008 - frozen
        handlers: ErrorHandlers | None = None,
        cache_max_bytes: int = 10 * 1024 * 1024,
        *,
        engines: EngineFactory | None = None,
        plane: DataPlane | None = None,
        **settings: Any,
    ) -> None:
        self.kafka = kafka
        self.clock = ManualClock()
        is_transactional = settings.get("is_exactly_once", False)
        self.plane = FakePlane(kafka, faults, is_transactional=is_transactional)
        self.member = FakeMembership(kafka, faults)
        graph = (topology or counting()).graph.with_default_store(is_persistent=engines is not None)
        known = handlers or ErrorHandlers()
        tasks = TaskSettings(
            topology=graph,
            application_id="app",
            extractor=fail_on_invalid,
            processing_handler=known.processing,
            production_handler=known.production,
            dead_letter_topic=known.dead_letter_topic,
            cache_max_bytes=cache_max_bytes,
        )
        given = WorkerSettings(tasks=tasks, listeners=listeners, **settings)
        self.worker = StreamsWorker(given, plane or self.plane, self.member, self.clock, engines)

    async def turn_until(self, done: Callable[[], object], most: int = 200) -> None:
        """Step the worker until a condition holds; a commit is due in each turn."""
        for _ in range(most):
            if done():
                return
            self.clock.advance(1_000)
            await self.worker.turn()
        raise AssertionError(f"not after {most} turns")

    def has_committed(self, offset: int, place: TopicPartition = INPUT) -> bool:
        committed = self.kafka.committed.get(place)
        return committed is not None and committed.offset == offset


def restored(kafka: FakeKafka) -> Counter[str]:
    """What the changelogs say in the end."""
    found: Counter[str] = Counter()
    for entry in kafka.values(CHANGELOG):
        assert entry.key is not None
        found[entry.key.decode()] = int.from_bytes(entry.value or b"", "big")
    return found
