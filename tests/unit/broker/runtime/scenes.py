"""Brokers that run shards of numbers by name, over logs that commit when they are told to."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from attrs import evolve, frozen

from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.broker.coordinators.shard import LogUpkeep
from kafka_groups.broker.log.entries import Producer, TransactionEnd
from kafka_groups.broker.log.internal_log import InternalLog, RecordCodec
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime, ShardKind
from kafka_groups.broker.runtime.led_shard import ShardAddress
from kafka_groups.broker.runtime.outcome import PendingOutcome
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.errors import (
    BrokerError,
    CoordinatorNotAvailableError,
    GroupIdNotFoundError,
)
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TopicIdPartition, TopicPartition
from tests.support.broker.coordinators import CooperativeYield, parts_of
from tests.support.broker.share_state import cluster_of

TOPIC = "__numbers"


@frozen
class Number:
    """A record: a name has a value."""

    name: str
    value: int | None


class NumberCodec:
    """Numbers as bytes."""

    topic = TOPIC

    def encode(self, record: Number) -> tuple[bytes, bytes | None]:
        return record.name.encode(), None if record.value is None else str(record.value).encode()

    def most_bytes(self, record: Number) -> int:
        key, value = self.encode(record)
        return len(key) + len(value or b"")

    def decode(self, key: bytes, value: bytes | None) -> Number:
        return Number(key.decode(), None if value is None else int(value))


@frozen
class Wish(Effect):
    """An effect."""

    name: str


class Numbers:
    """A shard of numbers by name."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.pending: dict[int, list[Number]] = {}
        self.ended: list[TransactionEnd] = []
        self.deadline_ms: int | None = None
        self.was_loaded = False

    def replay(self, record: Number, offset: int, producer: Producer | None = None) -> None:
        if producer is not None:
            self.pending.setdefault(producer.producer_id, []).append(record)
            return
        if record.value is None:
            self.values.pop(record.name, None)
        else:
            self.values[record.name] = record.value

    def end_transaction(self, producer: Producer, offset: int, *, committed: bool) -> None:
        self.ended.append(TransactionEnd(offset, producer, committed))
        pending = self.pending.pop(producer.producer_id)
        for record in pending if committed else ():
            self.replay(record, offset)

    def loaded(self, now_ms: int, wall_ms: int) -> Iterator[Result[None, Number]]:
        self.was_loaded = True
        for name, value in tuple(self.values.items()):
            forgotten = (Number(name, None),) if name == "forgotten" else ()
            yield Result(None, forgotten, (Wish(name),) if value < 0 else ())

    def metadata_changed(self, now_ms: int, wall_ms: int) -> Result[None, Number]:
        return self.put("changed", 1)

    def next_deadline_ms(self) -> int | None:
        return self.deadline_ms

    def expire(self, now_ms: int, wall_ms: int) -> Result[None, Number]:
        self.deadline_ms = None
        return self.put("expired", now_ms)

    def tidy(self, log: LogUpkeep, wall_ms: int) -> tuple[Number, ...]:
        return ()

    def put(self, name: str, value: int) -> Result[None, Number]:
        return Result(None, (Number(name, value),))

    def get(self, name: str) -> Result[int, Number]:
        if name not in self.values:
            raise GroupIdNotFoundError(name)
        return Result(self.values[name])


class SlowLog(InternalLog[Number]):
    """A log that commits when it is told to, or refuses records."""

    def __init__(self) -> None:
        super().__init__(NumberCodec())
        self.committed = 0
        self.commits_at_once = True
        self.refuses = False

    @property
    def committed_offset(self) -> int:
        return self.end_offset if self.commits_at_once else self.committed

    def append_records(self, records: Any, *rest: Any) -> int:
        if self.refuses:
            raise CoordinatorNotAvailableError
        return super().append_records(records, *rest)


class NumberLogs(LogStore):
    """The logs that a test has given to the partitions."""

    def __init__(self, log_of: Callable[[int], SlowLog]) -> None:
        super().__init__()
        self._log_of = log_of

    def internal(self, topic_id: UUID, partition: int, codec: RecordCodec[Any]) -> InternalLog[Any]:
        return self._log_of(partition)


class Brokers:
    """Brokers with a runtime each, over one topic of two partitions."""

    def __init__(self, count: int = 2) -> None:
        self.metadata = cluster_of(count)
        self.turns = CooperativeYield()
        self.grown: list[TopicIdPartition] = []
        self.clock = ManualClock()
        self.logs = {0: SlowLog(), 1: SlowLog()}
        self.cluster = evolve(
            parts_of(self.metadata, clock=self.clock), logs=NumberLogs(lambda index: self.logs[index])
        )
        self.performed: list[tuple[Effect, ShardAddress]] = []
        self.runtimes = [self._runtime(node_id) for node_id in range(count)]
        for runtime in self.runtimes:
            self.metadata.on_change(partial(_follow, runtime))
        self.metadata.create_topic(TOPIC, 2)
        self.move(0, 0)
        self.move(1, 0)

    def _runtime(self, node_id: int) -> CoordinatorRuntime[Numbers]:
        broker = BrokerParts(node_id, self.cluster, self.turns.later, self.grown.append, lambda: None)
        kind = ShardKind(TOPIC, NumberCodec(), Numbers, lambda *performed: self.performed.append(performed))
        return CoordinatorRuntime(broker, kind)

    def limit_batches(self, most_bytes: int) -> None:
        self.metadata.alter_configs(TOPIC_RESOURCE, TOPIC, {"max.message.bytes": str(most_bytes)})

    def move(self, index: int, node_id: int) -> None:
        self.metadata.move_leader(TopicPartition(TOPIC, index), node_id)

    def run(
        self, operation: Callable[[Numbers], Result[Any, Number]], node_id: int = 0, **rest: Any
    ) -> PendingOutcome[Any]:
        outcome: PendingOutcome[Any] = PendingOutcome()
        self.runtimes[node_id].run(0, operation, outcome, **rest)
        return outcome

    def put(self, name: str, value: int, node_id: int = 0) -> PendingOutcome[Any]:
        return self.run(lambda shard: shard.put(name, value), node_id)

    def get(self, name: str, node_id: int = 0) -> PendingOutcome[Any]:
        return self.run(lambda shard: shard.get(name), node_id)


def _follow(runtime: CoordinatorRuntime[Numbers], image: MetadataImage, _delta: MetadataDelta) -> None:
    runtime.follow(image)


def error_of(outcome: PendingOutcome[Any]) -> type[BrokerError]:
    with pytest.raises(BrokerError) as raised:
        outcome.now()
    return raised.type


def is_pending(outcome: PendingOutcome[Any]) -> bool:
    try:
        outcome.now()
    except RuntimeError:
        return True
    except BrokerError:
        return False
    return False


def error_of_or_none(outcome: PendingOutcome[Any]) -> type[BrokerError] | None:
    try:
        outcome.now()
    except BrokerError as error:
        return type(error)
    return None
