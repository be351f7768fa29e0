"""The hard state of one consumer group: a table of the last values of its records."""

from collections.abc import Iterator, MutableMapping
from uuid import UUID

from attrs import define, field

from kafka_groups.assignment.java_order import timeline_slots
from kafka_groups.broker.coordinators.groups.assignors.group_spec import PartitionsByTopic
from kafka_groups.broker.coordinators.groups.consumer.records import (
    ConsumerAssignment,
    ConsumerGroupRecord,
    ResolvedRegex,
)
from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerGroupState
from kafka_groups.broker.coordinators.groups.draft import GroupDraft, put
from kafka_groups.broker.coordinators.groups.epochs.group import (
    FIRST_EPOCH,
    NO_TARGET,
    EpochGroup,
    EpochGroupKind,
    MemberRecords,
    name_instance,
)
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadata,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.messages.consumer_group_heartbeat import LEAVE_STATIC_EPOCH

__all__ = ["ConsumerDraft", "ConsumerGroup", "partitions_of", "regex_of"]

_NEW = ConsumerGroupMetadataValue(epoch=FIRST_EPOCH, metadata_hash=0)


@define
class ConsumerGroup(
    EpochGroup[ConsumerGroupMetadataValue, ConsumerGroupMemberMetadataValue, PartitionsByTopic, ConsumerAssignment]
):
    """One consumer group.

    Attributes:
        regexes: The regular expressions whose topics are known.
        subscribers: The number of subscribers of each topic name. This and the rest follows from the attributes above.
        regex_subscribers: The number of subscribers of each regular expression.
        assignor_votes: The number of members that prefer each assignor.
        owners: The member that each partition is assigned to, or that has yet to revoke it.
        member_slots: The number of buckets in Kafka's table of the members, whose order its uniform assignor follows.
    """

    KIND = EpochGroupKind(
        name="consumer",
        owned="partitions",
        records=MemberRecords(
            described=ConsumerGroupMemberMetadata,
            target=ConsumerGroupTargetAssignmentMember,
            current=ConsumerGroupCurrentMemberAssignment,
        ),
        target_epoch=ConsumerGroupTargetAssignmentMetadata,
    )
    NOT_REACHED = ConsumerAssignment(member_epoch=0, previous_member_epoch=0)
    TABLES = (*EpochGroup.TABLES, "regexes", "subscribers", "regex_subscribers", "assignor_votes", "owners")

    metadata: ConsumerGroupMetadataValue = _NEW
    regexes: MutableMapping[str, ResolvedRegex] = field(factory=dict)
    subscribers: MutableMapping[str, int] = field(factory=dict, eq=False)
    regex_subscribers: MutableMapping[str, int] = field(factory=dict, eq=False)
    assignor_votes: MutableMapping[str, int] = field(factory=dict, eq=False)
    owners: MutableMapping[tuple[UUID, int], str] = field(factory=dict, eq=False)
    member_slots: int = field(default=0, eq=False)

    # ----------------------------------------------------------------------------------------- questions

    @property
    def state(self) -> ConsumerGroupState:
        """The state, with the name that ConsumerGroupDescribe and ListGroups use."""
        # The order of the cases is that of ConsumerGroup.maybeUpdateGroupState in Kafka. A group without a record is
        # "Dead".
        if not self.members:
            return ConsumerGroupState.DEAD if self == ConsumerGroup(self.group_id) else ConsumerGroupState.EMPTY
        if self.needs_target:
            return ConsumerGroupState.ASSIGNING
        is_settled = all(self.has_reached_target(member_id) for member_id in self.members)
        return ConsumerGroupState.STABLE if is_settled else ConsumerGroupState.RECONCILING

    def may_be_replaced(self, member_id: str) -> bool:
        """Return whether a static member is away, or speaks the classic protocol."""
        # GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember has both exceptions. A static member of the
        # classic protocol cannot announce its absence with epoch -2, so nothing says whether it is still there.
        is_away = self.current_of(member_id).member_epoch == LEAVE_STATIC_EPOCH
        return is_away or self.members[member_id].classic_member_metadata is not None

    def is_awaited(self, member_id: str) -> bool:
        """Return whether a member must revoke partitions within its rebalance timeout. Classic ones join instead."""
        # Kafka's maybeReconcile sets the rebalance timeout for members of the new protocol only. A classic member has a
        # deadline for JoinGroup instead (scheduleConsumerGroupJoinTimeoutIfAbsent).
        return self.members[member_id].classic_member_metadata is None and self.current_of(member_id).must_revoke

    def topics_of(self, member: ConsumerGroupMemberMetadataValue) -> frozenset[str]:
        """Return the names of the topics that a member subscribes to, whether or not they exist."""
        found = self.regexes.get(regex_of(member))
        names = frozenset(member.subscribed_topic_names)
        return names if found is None else names | found.topics

    def subscribed_topics(self) -> frozenset[str]:
        """Return the names of the topics that any member subscribes to.

        As in Kafka, the topics of a regular expression count until its record is deleted.
        """
        return frozenset(self.subscribers).union(*(found.topics for found in self.regexes.values()))

    def has_equal_subscriptions(self) -> bool:
        """Return whether all members subscribe to the same. Names and an expression that finds them are different."""
        by_name, by_regex = self.subscribers, self.regex_subscribers
        # ConsumerGroup.subscriptionType in Kafka: a group is heterogeneous as soon as names and an expression, or two
        # expressions, occur. Whether they find the same topics is not looked at.
        if by_regex and (by_name or len(by_regex) > 1):
            return False
        return all(count == len(self.members) for count in (*by_name.values(), *by_regex.values()))

    # ---------------------------------------------------------------------------------------- hard state

    def replay(self, record: ConsumerGroupRecord) -> None:
        """Apply a record to the group."""
        match record:
            case ConsumerGroupCurrentMemberAssignment(_, member_id, current):
                self._own(member_id, current)
                put(self.current, member_id, current)
            case ConsumerGroupTargetAssignmentMember(_, member_id, partitions):
                put(self.target, member_id, partitions)
            case ConsumerGroupMemberMetadata(_, member_id, member):
                self._subscribe(self.members.get(member_id), member)
                name_instance(self.instances, member_id, self.members.get(member_id), member)
                # The table of members in Kafka grows and never shrinks, and its size decides about the order of its
                # entries.
                if member is not None:
                    self.member_slots = max(self.member_slots, timeline_slots(len(self.members) + 1))
                put(self.members, member_id, member)
            case ConsumerGroupMetadata(_, metadata):
                self.metadata = metadata or _NEW
            case ConsumerGroupTargetAssignmentMetadata(_, target_epoch):
                self.target_epoch = target_epoch or NO_TARGET
            case ConsumerGroupRegularExpression(_, regex, found):
                put(self.regexes, regex, found)
            # Releases before 4.1 stored the metadata of subscribed topics. Since then the group's record has a hash,
            # and the old record only occurs as a tombstone.
            case ConsumerGroupPartitionMetadata():
                pass

    def _own(self, member_id: str, current: ConsumerAssignment | None) -> None:
        before = self.current.get(member_id)
        for partition in partitions_of(before):
            # The record of the new owner may be replayed before that of the old one, as log compaction keeps the last
            # record of each key. Then the entry must stay (ConsumerGroup.removePartitionEpochs).
            if self.owners.get(partition) == member_id:
                del self.owners[partition]
        for partition in partitions_of(current):
            self.owners[partition] = member_id

    def _subscribe(
        self, before: ConsumerGroupMemberMetadataValue | None, after: ConsumerGroupMemberMetadataValue | None
    ) -> None:
        for member, sign in ((before, -1), (after, +1)):
            if member is None:
                continue
            for name in member.subscribed_topic_names:
                _count(self.subscribers, name, sign)
            if regex := regex_of(member):
                _count(self.regex_subscribers, regex, sign)
            # A member without a preference leaves the choice to the broker and has no vote.
            if member.server_assignor is not None:
                _count(self.assignor_votes, member.server_assignor, sign)


ConsumerDraft = GroupDraft[ConsumerGroup, ConsumerGroupRecord]
"""A consumer group with the records of an operation applied."""


def regex_of(member: ConsumerGroupMemberMetadataValue) -> str:
    """Return the regular expression that a member subscribes to, or an empty string."""
    return member.subscribed_topic_regex or ""


def partitions_of(current: ConsumerAssignment | None) -> Iterator[tuple[UUID, int]]:
    """Return the partitions that a member has, and those that it has yet to revoke."""
    for partitions in () if current is None else (current.assigned, current.revoking):
        for topic_id, epochs in partitions.items():
            for number in epochs:
                yield topic_id, number


def _count(table: MutableMapping[str, int], name: str, sign: int) -> None:
    put(table, name, (table.get(name, 0) + sign) or None)
