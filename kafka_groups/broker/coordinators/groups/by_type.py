"""The groups of a shard by type: which type an id has, and what the types answer to the same questions."""

from collections.abc import Collection, Iterator, Mapping

from attrs import frozen

from kafka_groups.broker.coordinators.groups.classic.groups import ClassicGroups
from kafka_groups.broker.coordinators.groups.consumer.groups import ConsumerGroups
from kafka_groups.broker.coordinators.groups.group_type import CoordinatedGroup, GroupType
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.share.groups import ShareGroups
from kafka_groups.broker.coordinators.groups.streams.groups import StreamsGroups
from kafka_groups.errors import (
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    IllegalGenerationError,
    StaleMemberEpochError,
)
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue
from kafka_groups.types import TopicPartition

__all__ = ["GroupsByType"]

_GROUP_ID_NOT_FOUND_SINCE = 9
"""Version of OffsetCommit from which a group that does not exist has an error of its own."""

_FIRST_WITH_EPOCHS = 9
"""Version of OffsetCommit from which it has epochs of members. TxnOffsetCommit has them, too."""

_WITH_EPOCHS = frozenset({GroupType.CONSUMER, GroupType.STREAMS})


@frozen
class GroupsByType:
    """The groups of one shard. An id is that of one group at most.

    Attributes:
        share: The share groups.
        consumer: The consumer groups.
        streams: The streams groups.
        classic: The classic groups.
    """

    share: ShareGroups
    consumer: ConsumerGroups
    streams: StreamsGroups
    classic: ClassicGroups

    def type_of(self, group_id: str) -> GroupType | None:
        """Return the type of a group, or None if it does not exist."""
        if group_id in self.share.groups:
            return GroupType.SHARE
        if group_id in self.consumer.groups:
            return GroupType.CONSUMER
        if group_id in self.streams.groups:
            return GroupType.STREAMS
        return GroupType.CLASSIC if group_id in self.classic.groups else None

    def check_type(self, group_id: str, wanted: GroupType) -> None:
        """Check that a group is of a type, or does not exist.

        Raises:
            GroupIdNotFoundError: It is of another type.
        """
        # Group ids are one namespace for all types. Kafka also answers GROUP_ID_NOT_FOUND for a group of another type,
        # for example in GroupMetadataManager.getOrMaybeCreateShareGroup.
        if self.type_of(group_id) not in {None, wanted}:
            raise GroupIdNotFoundError(f"Group {group_id} is not a {wanted} group.")

    def with_offsets(self) -> Iterator[str]:
        """Return the ids of the groups that may have committed offsets."""
        # Share groups are missing: they have start offsets of share-partitions in the share coordinator, and no
        # committed offsets.
        yield from self.classic.groups
        yield from self.consumer.groups
        yield from self.streams.groups

    def ensure_with_offsets(self, group_id: str) -> None:
        """Make a classic group without members, if there is no group that can have offsets."""
        if self.type_of(group_id) not in _WITH_EPOCHS:
            self.classic.ensure(group_id)

    def listed(self) -> Iterator[CoordinatedGroup]:
        """Return what ListGroups shows of the groups."""
        for group in self.share.groups.values():
            yield CoordinatedGroup(group.group_id, GroupType.SHARE, GroupType.SHARE, group.state)
        for consumers in self.consumer.groups.values():
            yield CoordinatedGroup(consumers.group_id, GroupType.CONSUMER, GroupType.CONSUMER, consumers.state)
        for streams in self.streams.groups.values():
            yield CoordinatedGroup(streams.group_id, GroupType.STREAMS, GroupType.STREAMS, streams.state)
        for classic in self.classic.groups.values():
            yield CoordinatedGroup(classic.group_id, GroupType.CLASSIC, classic.protocol_type or "", classic.state)

    # ------------------------------------------------------------------------------------------ offsets

    def check_commit(
        self,
        group_id: str,
        committer: OffsetCommitter,
        version: int,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        now_ms: int,
    ) -> None:
        """Check whether offsets may be committed.

        Raises:
            GroupIdNotFoundError: The group is a share group; or it does not exist, from version 9 on.
            IllegalGenerationError: The group does not exist, before version 9 or in a transaction; or in a transaction,
                the member has another epoch.
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        # OffsetCommit and TxnOffsetCommit differ in two ways: a transaction may come without a member, and its errors
        # must be ones that producers know (OffsetMetadataManager.validateTransactionalOffsetCommit in Kafka).
        if not committer.is_transactional:
            self._check_commit(group_id, committer, version, offsets, now_ms)
            return
        if committer.names_no_member and self.type_of(group_id) is not GroupType.SHARE:
            return  # old producers don't say for whom they commit
        try:
            self._check_commit(group_id, committer, _FIRST_WITH_EPOCHS, offsets, now_ms)
        except StaleMemberEpochError as error:
            raise IllegalGenerationError(str(error)) from error

    def _check_commit(
        self,
        group_id: str,
        committer: OffsetCommitter,
        version: int,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        now_ms: int,
    ) -> None:
        member_id, epoch = committer.member_id, committer.generation
        match self.type_of(group_id):
            # ShareGroup.validateOffsetCommit in Kafka: share groups do not commit offsets.
            case GroupType.SHARE:
                raise GroupIdNotFoundError(f"Group {group_id} is not a consumer group.")
            case GroupType.CONSUMER:
                partitions = [(of.topic_id, each.partition) for each, of in offsets.items() if of.topic_id is not None]
                self.consumer.check_commit(group_id, member_id, epoch, version, partitions)
            case GroupType.STREAMS:
                self.streams.check_commit(group_id, member_id, epoch, version, tuple(offsets))
            case GroupType.CLASSIC:
                self.classic.check_commit(group_id, committer, now_ms)
            # A generation or an epoch without a group: the member has to learn that its group is gone. Without one, the
            # commit comes from outside of any group and makes a classic group
            # (OffsetMetadataManager.validateOffsetCommit).
            case None if epoch >= 0:
                # Older clients do not know GROUP_ID_NOT_FOUND here. ILLEGAL_GENERATION makes them join again.
                if version >= _GROUP_ID_NOT_FOUND_SINCE and not committer.is_transactional:
                    raise GroupIdNotFoundError(f"Group {group_id} not found.")
                raise IllegalGenerationError

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Check whether offsets may be fetched. Only members of consumer and streams groups say who they are.

        Raises:
            BrokerError: The group does not have the member, or the member has another epoch.
        """
        # Classic groups have nothing to check: before KIP-848, OffsetFetch did not say who asks.
        match self.type_of(group_id):
            case GroupType.CONSUMER:
                self.consumer.check_fetch(group_id, member_id, epoch)
            case GroupType.STREAMS:
                self.streams.check_fetch(group_id, member_id, epoch)

    def check_offset_delete(self, group_id: str, topics: Collection[str]) -> None:
        """Check whether offsets of topics may be deleted.

        Raises:
            GroupIdNotFoundError: The group does not exist, or has no offsets because of its type.
            NonEmptyGroupError: The group has members whose topics are not known.
            GroupSubscribedToTopicError: Members subscribe to a topic.
        """
        # The coordinator may not be able to read the subscriptions of a classic group, so that one must have no members
        # or be of consumers. The other types tell their topics themselves.
        if self.type_of(group_id) not in _WITH_EPOCHS:
            self.classic.check_offset_delete(group_id)
        # KIP-496: offsets of a topic that members read must not be deleted (OffsetMetadataManager.deleteOffsets).
        if any(self.is_subscribed(group_id, topic) for topic in topics):
            raise GroupSubscribedToTopicError

    def is_subscribed(self, group_id: str, topic: str) -> bool:
        """Return whether members of a group consume a topic.

        Raises:
            GroupIdNotFoundError: The group does not exist, or has no offsets because of its type.
            NonEmptyGroupError: The group has members whose topics are not known.
        """
        match self.type_of(group_id):
            case GroupType.CONSUMER:
                return self.consumer.is_subscribed(group_id, topic)
            case GroupType.STREAMS:
                return self.streams.is_subscribed(group_id, topic)
        return self.classic.is_subscribed(group_id, topic)

    def expiry_base(self, group_id: str, topic: str, committed: OffsetCommitValue) -> int | None:
        """Return the time from which an offset is kept for its retention, or None as long as it is in use."""
        # The retention of an offset begins with its commit, but it does not expire as long as members subscribe to the
        # topic (offsetExpirationCondition of ConsumerGroup and StreamsGroup in Kafka).
        if self.type_of(group_id) in _WITH_EPOCHS:
            return None if self.is_subscribed(group_id, topic) else committed.commit_timestamp_ms
        return self.classic.expiry_timestamp_base(group_id, topic, committed.commit_timestamp_ms)

    # ------------------------------------------------------------------------------------------ the end

    def is_empty(self, group_id: str) -> bool:
        """Return whether a group that may have offsets has no members."""
        match self.type_of(group_id):
            case GroupType.CONSUMER:
                return not self.consumer.group(group_id).members
            case GroupType.STREAMS:
                return not self.streams.group(group_id).members
        return self.classic.group(group_id).is_empty

    def deleted(self, group_id: str) -> tuple[GroupRecord, ...]:
        """Return the records that delete a group that may have offsets. Those of its offsets are not among them.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        match self.type_of(group_id):
            case GroupType.CONSUMER:
                return self.consumer.delete(group_id)
            case GroupType.STREAMS:
                return self.streams.delete(group_id)
        return self.classic.delete(group_id)
