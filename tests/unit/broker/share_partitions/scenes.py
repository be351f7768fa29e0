"""A share-partition to test: a log of batches, and operations that persist and replay as a leader does."""

from uuid import UUID

from attrs import define, field, frozen

from kafka_groups.broker.share_partitions.acknowledgement import Acknowledgement
from kafka_groups.broker.share_partitions.acquisition import AcquisitionLimits
from kafka_groups.broker.share_partitions.partition import SharePartition, SharePartitionKey
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquireMode
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from kafka_groups.types import TopicIdPartition

KEY = SharePartitionKey("g", TopicIdPartition(UUID(int=1), 0, "orders"))

Acquired = list[tuple[int, int, int]]


@frozen
class Batch:
    base_offset: int
    last_offset: int
    size_bytes: int = 100
    producer_id: int = -1
    is_transactional: bool = False
    is_control: bool = False


def batches_of(*sizes: int, first: int = 0) -> list[Batch]:
    """Log batches of these sizes, one after the other."""
    batches = []
    for size in sizes:
        batches.append(Batch(first, first + size - 1))
        first += size
    return batches


def acked(first: int, last: int, *types: int) -> AcknowledgementBatch:
    return AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)


@define
class Scene:
    """Drives one share-partition."""

    batches: list[Batch]
    config: ShareGroupConfig = field(factory=ShareGroupConfig)
    start: int = 0
    written: list[WriteShareStatePartition] = field(factory=list)
    now_ms: int = 1_000
    partition: SharePartition = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.partition = SharePartition(KEY, PersistedState(0, 3, self.start, 0, ()), leader_epoch=3)

    def commit(self, batches: tuple[StateBatch, ...]) -> None:
        if batches:
            self.written.append(self.partition.update((), batches))
            self.partition.apply(batches)
            self.partition.advance_start()

    def fetch(
        self, member: str = "ann", max_records: int = 500, batch_size: int = 500, *, strict: bool = False
    ) -> Acquired:
        self.expire()
        mode = AcquireMode.RECORD_LIMIT if strict else AcquireMode.BATCH_OPTIMIZED
        readable = [batch for batch in self.batches if batch.last_offset >= self.partition.fetch_offset]
        acquired = self.partition.acquire(
            member, readable, AcquisitionLimits(max_records, batch_size, mode), self.config, self.now_ms
        )
        return [(each.first_offset, each.last_offset, each.delivery_count) for each in acquired]

    def ack(self, *batches: AcknowledgementBatch, member: str = "ann", renew: bool = False) -> None:
        self.expire()
        acknowledgement = Acknowledgement(member, batches, renew)
        self.commit(self.partition.begin_acknowledge(acknowledgement, self.config, self.now_ms))

    def expire(self) -> None:
        self.commit(self.partition.expire(self.config, self.now_ms))

    def release(self, member: str = "ann") -> None:
        self.commit(self.partition.release(member, self.config))

    def fetch_and_release(self, max_records: int = 500) -> Acquired:
        acquired = self.fetch(max_records=max_records)
        self.release()
        return acquired

    def states(self) -> list[tuple[int, int, RecordState, int]]:
        return [(run.first, run.last, run.value.state, run.value.delivery_count) for run in self.partition.in_flight]
