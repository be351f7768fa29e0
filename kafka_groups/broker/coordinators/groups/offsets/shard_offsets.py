"""The committed offsets of one shard: a part with its own records, operations and deadline."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from attrs import frozen

from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.coordinators.groups.offsets.pending import PendingOffsets
from kafka_groups.broker.coordinators.groups.offsets.retention import Expired, OffsetRetention, RetentionPolicy
from kafka_groups.broker.coordinators.groups.offsets.table import CommittedOffsets
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.log.entries import Producer
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit, OffsetCommitValue
from kafka_groups.types import TopicPartition

__all__ = ["UNSTABLE", "FetchedOffset", "OffsetOwners", "ShardOffsets", "Unstable"]

_NO_VERSION = -1
"""The rules of TxnOffsetCommit do not depend on a version of OffsetCommit."""
_TOPICS_AT_ONCE = 200
"""The number of topics that are looked up together after loading."""


@frozen
class Unstable:
    """The offset may change when an open transaction ends."""


UNSTABLE = Unstable()
FetchedOffset = OffsetCommitValue | Unstable | None
"""An offset, `UNSTABLE`, or None if there is none."""


class OffsetOwners(Protocol):
    """The groups of a shard, as their offsets need them. `GroupsByType` implements this."""

    def with_offsets(self) -> Iterator[str]:
        """Return the ids of the groups that may have committed offsets."""
        ...

    def ensure_with_offsets(self, group_id: str) -> None:
        """Make a classic group without members, if there is no group that can have offsets."""
        ...

    def check_commit(
        self,
        group_id: str,
        committer: OffsetCommitter,
        version: int,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        now_ms: int,
    ) -> None:
        """Check whether offsets may be committed."""
        ...

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Check whether offsets may be fetched."""
        ...

    def check_offset_delete(self, group_id: str, topics: Collection[str]) -> None:
        """Check whether offsets of topics may be deleted."""
        ...

    def expiry_base(self, group_id: str, topic: str, committed: OffsetCommitValue) -> int | None:
        """Return the time from which an offset is kept for its retention, or None as long as it is in use."""
        ...


class ShardOffsets:
    """The committed offsets of the groups of a shard, and what is done with them.

    `replay` and `end_transaction` are all that changes them. Offsets of an open transaction wait between the two.

    Args:
        topics: The current topics of the cluster.
        policy: The retention of offsets.
        owners: The groups of the shard.

    Attributes:
        table: The offsets that count.
        pending: The offsets of open transactions.
    """

    def __init__(self, topics: TopicsImage, policy: RetentionPolicy, owners: OffsetOwners) -> None:
        self.table = CommittedOffsets()
        self.pending = PendingOffsets()
        self._topics = topics
        self._owners = owners
        self._retention = OffsetRetention(self.table, self.pending, policy, owners.expiry_base)

    def __repr__(self) -> str:
        return f"<ShardOffsets: {self.table!r}>"

    # --------------------------------------------------------------------------------------- hard state

    def replay(self, record: OffsetCommit, offset: int, producer: Producer | None = None) -> None:
        """Apply a record. An offset of a group that does not exist makes a classic group.

        With a producer, the record is kept until `end_transaction` applies or forgets it.
        """
        # Consumers that assign partitions to themselves commit offsets for a group that nobody has joined. Such a group
        # has no record of its own, so its first offset makes it (OffsetMetadataManager.replay in Kafka).
        if record.value is not None:
            self._owners.ensure_with_offsets(record.group)
        # A tombstone counts at once, even one in a transaction. It also ends pending offsets of its partition.
        if producer is not None and record.value is not None:
            self.pending.add(producer.producer_id, record, offset)
        else:
            self._apply(record, offset)

    def end_transaction(self, producer: Producer, offset: int, *, committed: bool) -> None:
        """Apply the offsets of a transaction, or forget them. Of two for a partition, the later record counts."""
        # Offsets that were replaced meanwhile by a later record are not among them. Kafka compares the offsets of the
        # records, too, so that compaction of the topic cannot change what counts
        # (OffsetMetadataManager.replayEndTransactionMarker).
        for record, at in self.pending.take(producer.producer_id):
            if committed:
                self._apply(record, at)

    def _apply(self, record: OffsetCommit, offset: int) -> None:
        self.table.replay(record)
        self.pending.replaced(record, offset)

    def loaded(self, now_ms: int) -> Iterator[Result[None, OffsetCommit]]:
        """Begin to look for expired offsets, and forget those of deleted topics, some topics at a time."""
        self._retention.start(now_ms)
        # Topics may have been deleted while no coordinator was running.
        topics = iter(tuple({*self.table.topics, *self.pending.topics}))
        while some := tuple(islice(topics, _TOPICS_AT_ONCE)):
            yield Result(None, self._of_deleted(some))

    def metadata_changed(self) -> tuple[OffsetCommit, ...]:
        """Return the records that forget offsets of deleted topics."""
        return self._of_deleted({*self.table.topics, *self.pending.topics})

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None."""
        return None if next(self._owners.with_offsets(), None) is None else self._retention.next_ms

    def expire(self, now_ms: int, wall_ms: int) -> list[Expired]:
        """Return what has expired in the next few groups."""
        return self._retention.look(self._owners.with_offsets(), now_ms, wall_ms)

    # --------------------------------------------------------------------------------------- operations

    def commit(
        self,
        group_id: str,
        committer: OffsetCommitter,
        version: int,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        now_ms: int,
    ) -> Result[None, OffsetCommit]:
        """Store offsets of a group. If they do not come from a member, a group that does not exist is made.

        Raises:
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        self._owners.check_commit(group_id, committer, version, offsets, now_ms)
        return Result(None, _committed(group_id, offsets))

    def commit_in_transaction(
        self,
        group_id: str,
        committer: OffsetCommitter,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        producer: Producer,
        now_ms: int,
    ) -> Result[None, OffsetCommit]:
        """Store offsets of a group that count when the producer's transaction is committed.

        Raises:
            BrokerError: As for `commit`.
        """
        # The group is checked when the offsets are written, and not again when the transaction is committed: by then
        # the member may be gone, and its offsets count all the same.
        self._owners.check_commit(group_id, committer, _NO_VERSION, offsets, now_ms)
        return Result(None, _committed(group_id, offsets), producer=producer)

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> Result[None, OffsetCommit]:
        """Check whether offsets may be fetched.

        Raises:
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        self._owners.check_fetch(group_id, member_id, epoch)
        return Result(None)

    def fetch(
        self, group_id: str, partitions: Sequence[TopicPartition], *, require_stable: bool = False
    ) -> Result[tuple[FetchedOffset, ...], OffsetCommit]:
        """Return the offsets of some partitions: None where there is none, or no such group.

        Args:
            group_id: The group.
            partitions: The partitions.
            require_stable: Whether an offset that an open transaction may change is `UNSTABLE` (KIP-447).
        """
        # Old clients do not ask for stable offsets, and get those that counted last (OffsetMetadataManager.fetchOffsets
        # in Kafka).
        if not require_stable:
            return Result(tuple(self.table.get(group_id, partition) for partition in partitions))
        return Result(
            tuple(
                # A member that takes over a partition must not begin before the offsets of an open transaction are
                # decided, or it would process records twice (KIP-447). Its client retries.
                UNSTABLE if (group_id, partition) in self.pending else self.table.get(group_id, partition)
                for partition in partitions
            )
        )

    def partitions_of(self, group_id: str) -> Result[tuple[TopicPartition, ...], OffsetCommit]:
        """Return all partitions that a group has committed offsets for."""
        of_group = self.table.of_group(group_id)
        return Result(
            tuple(TopicPartition(topic, number) for topic, of_topic in of_group.items() for number in of_topic)
        )

    def delete(self, group_id: str, partitions: Collection[TopicPartition]) -> Result[None, OffsetCommit]:
        """Forget offsets of a group, as far as there are some.

        Raises:
            GroupIdNotFoundError: The group does not exist, or has no offsets because of its type.
            NonEmptyGroupError: The group has members whose topics are not known.
            GroupSubscribedToTopicError: Members subscribe to a topic.
        """
        self._owners.check_offset_delete(group_id, {each.topic for each in partitions})
        # A tombstone is needed for a pending offset, too, or its transaction would bring it back
        # (OffsetMetadataManager.deleteOffsets in Kafka).
        known = [each for each in partitions if self._has(group_id, each)]
        return Result(None, tuple(OffsetCommit(group_id, each.topic, each.partition, None) for each in known))

    def delete_all(self, group_id: str) -> tuple[OffsetCommit, ...]:
        """Return the records that forget all offsets of a group that is deleted."""
        # Offsets of open transactions go with their group, or they would make it again when they are committed.
        pending = [each for each in self.pending.of_group(group_id) if self.table.get(group_id, each) is None]
        only_pending = (OffsetCommit(group_id, each.topic, each.partition, None) for each in pending)
        return (*self.table.tombstones_of_group(group_id), *only_pending)

    def _has(self, group_id: str, partition: TopicPartition) -> bool:
        return self.table.get(group_id, partition) is not None or (group_id, partition) in self.pending

    def _of_deleted(self, topics: Collection[str]) -> tuple[OffsetCommit, ...]:
        # A topic of the same name may be created later. Its records have nothing to do with these offsets
        # (OffsetMetadataManager.onTopicsDeleted in Kafka).
        deleted = [topic for topic in topics if self._topics.topic(topic) is None]
        counting = (record for topic in deleted for record in self.table.tombstones_of_topic(topic))
        return (*counting, *self.pending.of_topics(set(deleted)))


def _committed(group_id: str, offsets: Mapping[TopicPartition, OffsetCommitValue]) -> tuple[OffsetCommit, ...]:
    return tuple(OffsetCommit(group_id, each.topic, each.partition, value) for each, value in offsets.items())
