"""The interface of a worker to the records. Real clients and fakes have these methods."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple, Protocol
from uuid import UUID

from attrs import field, frozen

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.types import FetchedRecord, Headers, OffsetAndMetadata, RecordRow, TopicPartition

__all__ = [
    "NOTHING",
    "NO_EPOCHS",
    "DataPlane",
    "LogChange",
    "PolledBatch",
    "PolledRecords",
    "UnwrittenRecord",
]


class PolledBatch(Protocol):
    """Records of one partition, in the order of their offsets. They may be parsed by each call, so call one method."""

    def __len__(self) -> int:
        """Return the number of records."""

    @property
    def next_offset(self) -> int:
        """The offset to read on from. It may be more than one behind the last record."""

    def rows(self) -> Sequence[RecordRow]:
        """Return the records as plain tuples.

        Raises:
            CorruptRecordError: A batch cannot be parsed.
        """

    def records(self) -> list[FetchedRecord]:
        """Return the records as tuples with names, which takes longer than `rows`.

        Raises:
            CorruptRecordError: A batch cannot be parsed.
        """

    def columns(self) -> ChangelogBatch:
        """Return the records that have a key, by columns.

        Raises:
            CorruptRecordError: A batch cannot be parsed.
        """


@frozen
class LogChange:
    """A log that is another one than before: records that were read from it are not in it.

    Attributes:
        position: The offset of the next record to read, in the log as it was.
        diverges_at: Where the log differs from the one that was read, after a truncation (KIP-320). None: the topic was
            deleted and made again, so that offsets before have no meaning.
    """

    position: int
    diverges_at: int | None = None

    def described(self, partition: TopicPartition) -> str:
        """Return a sentence about it."""
        if self.diverges_at is None:
            return (
                f"The topic of {partition} was deleted and made again: offset {self.position}, up to which it was read,"
                " belongs to the topic before."
            )
        return (
            f"The log of {partition} was truncated: it was read up to offset {self.position}, and its leader has lost"
            f" the records from offset {self.diverges_at} on (see unclean.leader.election.enable)."
        )


@frozen
class PolledRecords:
    """Records of several partitions, and what else happened to those.

    Attributes:
        batches: Records by partition.
        ends: Where the log ends, for each partition that was read to its end after these records. Markers of
            transactions count, so the end may be behind the last record by more than one.
        out_of_range: Partitions whose log does not have the next offset. They are not read until they are assigned
            again.
        changes: Those of them whose log is another one now, as far as the plane can tell.
    """

    batches: Mapping[TopicPartition, PolledBatch]
    ends: Mapping[TopicPartition, int]
    out_of_range: tuple[TopicPartition, ...] = ()
    changes: Mapping[TopicPartition, LogChange] = field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self.batches or self.ends or self.out_of_range)

    @property
    def count(self) -> int:
        """The number of records."""
        return sum(map(len, self.batches.values()))


NO_EPOCHS: Mapping[TopicPartition, int] = MappingProxyType({})
"""No leader epoch is known."""

NOTHING = PolledRecords({}, {})
"""A poll without news."""


class UnwrittenRecord(NamedTuple):
    """A record that was not written.

    Attributes:
        topic: Its topic.
        key: Its key.
        value: Its value.
        timestamp_ms: Its timestamp.
        headers: Its headers.
        partition: The partition, or None if none was chosen yet.
        error: Why.
        origin: What the writer of the record gave with it.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers
    partition: int | None
    error: KafkaGroupsError
    origin: object


class DataPlane(Protocol):
    """Reads and writes records. Sources are read apart from changelogs and global topics.

    Its methods are coroutines: `EnginePlane` works on the worker's event loop, which all workers of a simulation share.
    """

    @property
    def written(self) -> Mapping[TopicPartition, int]:
        """For each partition of `write_tracked`, the offset after the last record that was confirmed."""

    @property
    def replaced(self) -> AbstractSet[TopicPartition]:
        """The partitions whose topic was deleted and made again while they were written to. `renew` keeps them."""
        return frozenset()

    def forget_written(self, partitions: Iterable[TopicPartition]) -> None:
        """Take partitions out of `written` and `replaced`."""

    def forget_logs(self, partitions: Iterable[TopicPartition]) -> None:
        """As `forget_written`, for a task that ends: `replaced` leaves out what happens until the next record there."""

    async def assign(
        self, starts: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] = NO_EPOCHS
    ) -> None:
        """Read source partitions from these offsets.

        Args:
            starts: The offsets.
            epochs: The leader epochs of the records before them, as far as they are known: if the log of the leader is
                another one there, `poll` tells where it diverges (KIP-320).
        """

    async def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read source partitions no more."""

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch nothing of source partitions for now."""

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch from source partitions again."""

    async def poll(self, most: int) -> PolledRecords:
        """Return records of source partitions that have arrived."""

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, UUID]:
        """Return the ids of the topics that source partitions are read from, as far as the plane knows them."""

    def leader_epochs(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the leader epochs of the records before these offsets of source partitions, as far as known."""

    def changed(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Return those source partitions whose log is another one now, also if `poll` has not told it yet."""

    def missing(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Return those source partitions whose topics did not exist when a broker was asked last."""

    async def assign_restoring(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read changelogs and global topics from these offsets."""

    async def unassign_restoring(self, partitions: Iterable[TopicPartition]) -> None:
        """Read changelogs or global topics no more."""

    async def poll_restoring(self, most: int) -> PolledRecords:
        """Return records of changelogs and global topics that have arrived."""

    async def wait(self, timeout_ms: int) -> None:
        """Wait until there may be something to poll or room to write, or the time is up."""

    async def rest(self, timeout_ms: int) -> None:
        """Let time pass, whatever has arrived."""

    @property
    def has_room(self) -> bool:
        """False while records wait for room in the producer's queue: process nothing then, or more of them wait."""

    def write(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        origin: object = None,
    ) -> None:
        """Queue a record. None as partition: the default partitioner's.

        `refused` returns the origin with the record. None as origin: a refusal is an error of `flush`.
        """

    def write_tracked(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int,
    ) -> None:
        """Queue a record, and note its offset in `written` when it has been confirmed."""

    async def flush(self, timeout_ms: int) -> None:
        """Wait until the brokers have answered about all records.

        Raises:
            DeliveryFailedError: Records without origin were refused, or records are not confirmed in time.
        """

    def refused(self) -> list[UnwrittenRecord]:
        """Return records with an origin that were refused, each of them once. Ask after a flush."""

    @property
    def has_failed(self) -> bool:
        """True if the open transaction is lost: what is written is ignored until `renew`."""

    @property
    def expires_soon(self) -> bool:
        """True if the open transaction has lasted for four fifths of its timeout."""

    async def prepare(self) -> None:
        """Fence earlier producers with the same transactional id. Without transactions there is nothing to do.

        Raises:
            KafkaGroupsError: The brokers did not answer soon, or refused.
        """

    def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        """Send offsets with the open transaction, so that they are on their way while `flush` waits.

        It does not wait: `commit_transaction` does. Call it again with the same offsets if the member may have another
        epoch by now. A plane that cannot send them early does nothing.

        Args:
            offsets: For each partition the offset of the next record to process. All of them are committed.
            who: The group, and the member with its present epoch.
        """

    async def commit_transaction(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        """Commit the records since the last commit together with offsets: all of them, or none.

        Args:
            offsets: The same as in `send_offsets`, if that was called.
            who: The group, and the member with its present epoch.

        Raises:
            OperationTimeoutError: The coordinators did not answer soon. Call it again with the same offsets.
            TransactionFailedError: The transaction is lost.
        """

    async def renew(self) -> None:
        """Drop the producer, what it has queued, and its transaction, if there is one.

        Call `prepare` before the next record.
        """

    def partitions(self, topic: str) -> int | None:
        """Return a topic's number of partitions, or None if there is no such topic. May block the first time.

        Raises:
            KafkaGroupsError: No broker answered within some seconds, or it refused.
        """

    async def partition_counts(self) -> Mapping[str, int]:
        """Return the number of partitions of all topics that there are now."""

    async def ask_topic_ids(self, topics: Iterable[str]) -> Mapping[str, UUID]:
        """Ask a broker for the ids that topics have now. A topic without an id, or without the right, is left out.

        Raises:
            KafkaGroupsError: No broker answered soon, or one does not know a topic.
        """

    async def bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return where logs begin, and where they end with the records of open transactions.

        Raises:
            KafkaGroupsError: A broker did not answer soon, or refused.
        """

    async def stable_bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return where logs begin, and where they end for readers of committed records (the last stable offset).

        Raises:
            KafkaGroupsError: A broker did not answer soon, or refused.
        """

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset at or after a time (ms since the epoch); partitions without one are left out."""

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Delete records before these offsets."""

    async def close(self) -> None:
        """Close all connections. What is not flushed is dropped."""
