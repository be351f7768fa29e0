"""What Spark does with a source, without Spark: for tests on an embedded cluster."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.share.parts import Environment
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.source.options import SourceOptions, source_options
from kafka_groups.spark.source.rules.micro_batches import BatchLimits
from kafka_groups.spark.source.source import ShareSource

SETTINGS: dict[str, object] = {
    "group.share.min.heartbeat.interval.ms": 200,
    "group.share.heartbeat.interval.ms": 200,
    "group.share.assignment.interval.ms": 0,
}
Json = Mapping[str, Any]
_names = count()
_TRIGGERS = 200
_UNTIL_FLUSHED_MS = 10_000
"""A busy machine must not cut the records of a partition into more batches."""


class World:
    """A topic of its own with a group of its own on a cluster that tests share."""

    def __init__(
        self,
        cluster: EmbeddedCluster,
        group_configs: Mapping[str, str] = MappingProxyType({}),
        *,
        partitions: int = 2,
        clock: Clock | None = None,
    ) -> None:
        self.cluster = cluster
        self.environment = None if clock is None else Environment(clock=clock)
        self.partitions = partitions
        self.group_configs = dict(group_configs)
        self.topic, self.group = f"orders-{next(_names)}", f"group-{next(_names)}"
        cluster.create_topic(self.topic, partitions)
        self.configure({"share.auto.offset.reset": "earliest", **group_configs})

    def configure(self, group_configs: Mapping[str, str]) -> None:
        """Set configs of the group."""
        self.cluster.alter_group_configs(self.group, group_configs)

    def produce(self, numbers: range, value: Callable[[int], bytes] = b"%d".__mod__) -> None:
        """A record for each number, in turn to the partitions."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers, "linger.ms": _UNTIL_FLUSHED_MS})
        for number in numbers:
            producer.produce(self.topic, key=b"%d" % number, value=value(number), partition=number % self.partitions)
        assert producer.flush(60) == 0

    def are_locks_fresh(self) -> bool:
        """True if records are locked, and more than half of each lock is left."""
        return bool(self._lock_times()) and self.is_no_lock_old()

    def is_no_lock_old(self) -> bool:
        """True if more than half of each lock is left; soon after a leap, when the broker has ended those that are due.

        Until it has, it still takes the acknowledgement of a record whose lock is over, as Kafka does.
        """
        half_ms = int(self.group_configs["share.record.lock.duration.ms"]) / 2
        return all(remaining_ms > half_ms for remaining_ms in self._lock_times())

    def _lock_times(self) -> list[int]:
        """What is left of each lock."""
        held = self.cluster.group(self.group).in_flight
        return [each.lock_remaining_ms for each in held if each.lock_remaining_ms is not None]

    def options(self, **options: Any) -> SourceOptions:
        """Options of the source; `poll_timeout_ms` and the like by Kafka's and Spark's names."""
        given: dict[str, Any] = {
            "kafka.bootstrap.servers": self.cluster.bootstrap_servers,
            "kafka.group.id": self.group,
            "subscribe": self.topic,
            **options,
        }
        return source_options({name: str(value) for name, value in given.items()})

    @contextmanager
    def query(self, start: Json | None = None, **options: Any) -> Iterator["Query"]:
        """A run of a query."""
        query = Query(ShareSource(self.options(**options), RECORD_SCHEMA.names, self.environment), start)
        try:
            yield query
        finally:
            query.source.close()

    def rival(self, topic: str | None = None, group: str | None = None) -> KafkaShareConsumer:
        """Another consumer, of the same group and topic unless it is said otherwise."""
        group = group or self.group
        self.cluster.alter_group_configs(group, {"share.auto.offset.reset": "earliest"})
        consumer = KafkaShareConsumer(
            bootstrap_servers=self.cluster.bootstrap_servers, group_id=group, acknowledgement_mode="explicit"
        )
        consumer.subscribe([topic or self.topic])
        return consumer

    def __repr__(self) -> str:
        return f"<World {self.topic} {self.group}>"


class Query:
    """One run of a query over a source: Spark's calls in their order."""

    def __init__(self, source: ShareSource, start: Json | None = None) -> None:
        self.source = source
        self.start: Json = start or source.initial_offset()
        self.limits = BatchLimits(source.options.max_records_per_batch, source.options.max_bytes_per_batch)

    def latest(self, **keywords: Any) -> Json:
        """`latestOffset(start)`."""
        return self.source.latest_offset(self.start, self.limits, **keywords)

    def read(self, end: Json) -> pa.Table:
        """All input partitions of a batch."""
        return decoded(self.source.payloads(self.start, end))

    def batch(self, **keywords: Any) -> pa.Table:
        """Trigger until a batch has records, and finish it: they are acknowledged with the next trigger."""
        for _ in range(_TRIGGERS):
            end = self.latest(**keywords)
            if end != self.start:
                table = self.read(end)
                self.start = end
                if table.num_rows:  # there is none in a batch that only keeps figures in the checkpoint
                    return table
        raise AssertionError(f"no records in {_TRIGGERS} triggers: {self.share}")

    def batches(self, records: int) -> list[pa.Table]:
        """Batches until so many records have come, the last one acknowledged too."""
        tables: list[pa.Table] = []
        while sum(table.num_rows for table in tables) < records:
            tables.append(self.batch())
        self.acknowledge()
        return tables

    def acknowledge(self) -> None:
        """A trigger that finds nothing new."""
        assert self.latest() == self.start

    @property
    def share(self) -> Json:
        """The progress of the run."""
        report: Json = self.source.report()["share"]
        return report

    def until(self, expected: Callable[[Json], bool]) -> Json:
        """Look at the progress until it is as expected."""
        clock = SystemClock()
        deadline_ms = clock.now_ms() + 15_000
        while not expected(share := self.share):
            assert clock.now_ms() < deadline_ms, share
            self.latest()
        return share


def decoded(payloads: list[bytes]) -> pa.Table:
    """The records of input partitions."""
    tables = [pa.ipc.open_stream(payload).read_all() for payload in payloads]
    assert all(table.schema.equals(RECORD_SCHEMA) for table in tables)
    return pa.concat_tables([RECORD_SCHEMA.empty_table(), *tables])


def numbers(*tables: pa.Table) -> list[int]:
    """The numbers that were produced, sorted."""
    return sorted(int(key) for table in tables for key in table["key"].to_pylist())
