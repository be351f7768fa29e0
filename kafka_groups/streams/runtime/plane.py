"""The interfaces of a worker to the outside: records and the group. Real clients and fakes have these methods."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_groups.data_plane.polled import PolledRecords
from kafka_groups.data_plane.unwritten import UnwrittenRecord
from kafka_groups.streams.member.member import StreamsGroupMember
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import Headers, OffsetAndMetadata, TopicPartition

__all__ = ["BlockingMembership", "DataPlane", "WorkerMembership"]


class DataPlane(Protocol):
    """Reads and writes records. Sources are read apart from changelogs and global topics."""

    @property
    def written(self) -> Mapping[TopicPartition, int]:
        """For each partition of `write_tracked`, the offset after the last record that was confirmed."""

    async def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read source partitions from these offsets."""

    async def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read source partitions no more."""

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch nothing of source partitions for now."""

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch from source partitions again."""

    async def poll(self, most: int) -> PolledRecords:
        """Return records of source partitions that have arrived."""

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

    async def prepare(self) -> None:
        """Fence earlier producers with the same transactional id. Without transactions there is nothing to do.

        Raises:
            KafkaGroupsError: The brokers did not answer soon, or refused.
        """

    async def commit_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: bytes
    ) -> None:
        """Commit the records since the last commit together with offsets: all of them, or none.

        Raises:
            OperationTimeoutError: The coordinators did not answer soon. Call it again with the same offsets.
            TransactionFailedError: The transaction is lost.
        """

    async def renew(self) -> None:
        """Drop the producer, what it has queued, and its transaction. Call `prepare` before the next record."""

    def partitions(self, topic: str) -> int | None:
        """Return a topic's number of partitions, or None if there is no such topic. May block the first time.

        Raises:
            KafkaGroupsError: No broker answered within some seconds, or it refused.
        """

    async def partition_counts(self) -> Mapping[str, int]:
        """Return the number of partitions of all topics that there are now."""

    async def bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return where logs begin, and where they end with the records of open transactions.

        Raises:
            KafkaGroupsError: A broker did not answer soon, or refused.
        """

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset at or after a time (ms since the epoch); partitions without one are left out."""

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Delete records before these offsets."""

    async def close(self) -> None:
        """Close all connections. What is not flushed is dropped."""


class WorkerMembership(Protocol):
    """A worker's place in the streams group. The documentation is that of `StreamsGroupMember`."""

    @property
    def is_spare(self) -> bool:
        """True if the group works, and has no task for this member."""

    async def join(self) -> None:
        """Join the group."""

    async def poll(self) -> tuple[StreamsMembershipEvent, ...]:
        """Return the events that are available."""

    async def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Confirm that the tasks of an event are closed."""

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit offsets."""

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets."""

    def group_metadata(self) -> bytes:
        """Return the member's metadata for a transaction."""

    async def request_shutdown(self) -> None:
        """Ask all members to shut down."""

    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Leave the group."""


_OFFSETS_SECONDS = 5.0
"""The time in which a worker waits for committed offsets and does nothing else. It asks again later."""


class BlockingMembership:
    """The blocking member, whose heartbeats come from a thread of its own, for a worker that may block briefly, too."""

    def __init__(self, member: StreamsGroupMember) -> None:
        self._member = member

    def __repr__(self) -> str:
        return f"<BlockingMembership of {self._member!r}>"

    @property
    def is_spare(self) -> bool:
        """True if the group works, and has no task for this member."""
        member = self._member
        return member.state is MembershipState.STABLE and not member.statuses and not member.tasks.ids

    async def join(self) -> None:
        """Join the group."""
        self._member.join()

    async def poll(self) -> tuple[StreamsMembershipEvent, ...]:
        """Return the events that are available."""
        return self._member.poll(0)

    async def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Confirm that the tasks of an event are closed."""
        self._member.confirm(event)

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit offsets."""
        self._member.commit(offsets, _OFFSETS_SECONDS)

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets."""
        return self._member.committed(partitions, _OFFSETS_SECONDS)

    def group_metadata(self) -> bytes:
        """Return the member's metadata for a transaction."""
        return self._member.group_metadata()

    async def request_shutdown(self) -> None:
        """Ask all members to shut down."""
        self._member.request_shutdown()

    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Leave the group."""
        self._member.close(timeout_s, operation=operation)
