"""Reconciliation of a member's assignment with its target assignment (KIP-848).

First it revokes what it must not have any more, and confirms that by a heartbeat that lists what it owns. Then it gets
the new epoch, and those partitions that nobody else has.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.records import AssignedPartitions, ConsumerAssignment
from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerMemberState
from kafka_groups.broker.coordinators.groups.consumer.subscriptions import subscribed_ids
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.coordinator_records.consumer_group import ConsumerGroupCurrentMemberAssignment
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatTopicPartitions

__all__ = ["Owned", "has_other_partitions", "reconcile"]

Owned = Sequence[ConsumerGroupHeartbeatTopicPartitions] | None
"""The partitions that a heartbeat reports as owned; None if it omits them."""
_STABLE, _UNREVOKED = ConsumerMemberState.STABLE, ConsumerMemberState.UNREVOKED_PARTITIONS
_UNRELEASED = ConsumerMemberState.UNRELEASED_PARTITIONS


def reconcile(
    draft: ConsumerDraft,
    member_id: str,
    owned: Owned,
    topics: TopicsImage,
    *,
    stored: ConsumerGroup | None = None,
    has_other_topics: bool = False,
) -> ConsumerAssignment:
    """Bring a member closer to its target assignment, and return its assignment.

    Args:
        draft: The group.
        member_id: The member.
        owned: The partitions that it reports as owned.
        topics: The existing topics.
        stored: The group before the operation, if it existed.
        has_other_topics: Whether it has just changed its subscription. It then has to revoke what it does not subscribe
            to any more, even if the target assignment did not follow yet.
    """
    # Kafka's CurrentAssignmentBuilder.build decides by the state of the member. In all states without a way forward, a
    # member that changes its subscription still has to revoke what it no longer subscribes to
    # (updateCurrentAssignment).
    group = draft.group
    known, current = group.current.get(member_id), group.current_of(member_id)
    reached = current
    if _may_advance(group, current, owned):
        reached = _Step(group, member_id, topics, _has_target(group, member_id, stored)).advanced(owned)
    # A member that cannot advance still loses the topics that it has just unsubscribed from: Kafka calls
    # updateCurrentAssignment for stable members without a new target assignment, and for those that have yet to revoke.
    elif has_other_topics:
        reached = _Step(group, member_id, topics).without_unsubscribed(owned)
    # A heartbeat that changes nothing writes no record. A member without a record gets one even for an empty
    # assignment, because its epoch has to survive.
    if reached != known:
        draft.write(ConsumerGroupCurrentMemberAssignment(group.group_id, member_id, reached))
    return reached


def has_other_partitions(before: ConsumerAssignment | None, after: ConsumerAssignment) -> bool:
    """Return whether a member may own other partitions than before."""
    if before is None or before is after:
        return before is None
    # Members do not see the epochs of partitions, so these do not count. Kafka's
    # ConsumerGroupMember.hasAssignedPartitionsChanged compares them as well and may send the same assignment again.
    if before.assigned.keys() != after.assigned.keys():
        return True
    return any(before.assigned[topic].keys() != epochs.keys() for topic, epochs in after.assigned.items())


def _may_advance(group: ConsumerGroup, current: ConsumerAssignment, owned: Owned) -> bool:
    # There are three cases. A member that has to revoke may advance once it no longer owns those partitions. A member
    # that waits for others tries with each heartbeat. A stable member advances when there is a newer target assignment.
    if current.state is _UNREVOKED:
        return not _may_own(owned, current.revoking)
    return current.state is _UNRELEASED or current.member_epoch != group.assignment_epoch


def _has_target(group: ConsumerGroup, member_id: str, stored: ConsumerGroup | None) -> bool:
    """Return whether a member's target assignment counts in this operation.

    As in Kafka 4.4, a dynamic member that joins again with an instance id, without a new target assignment, is treated
    as if it had none: the target of a static member is looked up by the instances that the group had before.
    """
    instance_id = group.members[member_id].instance_id
    # ConsumerGroup.targetAssignment in Kafka finds the target of a member with an instance id by the member that had
    # the instance before the operation. A target assignment that this operation has computed is not looked up that way.
    if stored is None or instance_id is None or stored.assignment_epoch != group.assignment_epoch:
        return True
    return instance_id in stored.instances


def _may_own(owned: Owned, partitions: AssignedPartitions) -> bool:
    """Return whether a member still owns some of these partitions, or does not say."""
    # Partitions are left out if they have not changed, so this confirms nothing
    # (CurrentAssignmentBuilder.ownsRevokedPartitions).
    if owned is None:
        return True
    return any(
        number in partitions.get(topic.topic_id, ())
        for topic in owned
        if topic.topic_id is not None
        for number in topic.partitions
    )


@frozen
class _Step:
    """One step of one member."""

    group: ConsumerGroup
    member_id: str
    topics: TopicsImage
    has_target: bool = True

    def advanced(self, owned: Owned) -> ConsumerAssignment:
        """Return the next assignment on the way to the target assignment."""
        current, wanted = self.group.current_of(self.member_id), self._wanted()
        # This follows CurrentAssignmentBuilder.computeNextAssignment in Kafka. Partitions that stay keep their
        # assignment epochs, so that commits with an older member epoch remain valid for them (KIP-1251).
        kept, dropped = _divided(current.assigned, wanted)
        # The member loses before it gains: until it confirms, it keeps its epoch and gets no new partitions. If the
        # heartbeat shows that it does not own them, it need not be asked.
        if dropped and _may_own(owned, dropped):
            return self._revoking(current, kept, dropped)
        # The member reaches the target epoch even if other members still have some of its partitions. It gets those
        # later, in the same epoch.
        free, has_waiting = self._free(kept, wanted)
        return ConsumerAssignment(
            member_epoch=self.group.assignment_epoch,
            previous_member_epoch=current.member_epoch,
            state=_UNRELEASED if has_waiting else _STABLE,
            assigned=_merged(kept, free, self.group.assignment_epoch),
        )

    def without_unsubscribed(self, owned: Owned) -> ConsumerAssignment:
        """Return the assignment without topics that the member does not subscribe to any more."""
        current = self.group.current_of(self.member_id)
        subscribed = self._subscribed()
        dropped = {topic: epochs for topic, epochs in current.assigned.items() if topic not in subscribed}
        # Everything that the member has is still subscribed, so nothing changes.
        if not dropped:
            return current
        kept = {topic: epochs for topic, epochs in current.assigned.items() if topic in subscribed}
        # What a former step had it revoke is not confirmed yet and stays with it, so that nobody else gets these
        # partitions.
        if current.state is _UNREVOKED or _may_own(owned, dropped):
            return self._revoking(current, kept, {**current.revoking, **_joined(current.revoking, dropped)})
        return evolve(current, assigned=kept)

    def _revoking(
        self, current: ConsumerAssignment, kept: AssignedPartitions, dropped: AssignedPartitions
    ) -> ConsumerAssignment:
        return ConsumerAssignment(
            member_epoch=current.member_epoch,
            previous_member_epoch=current.member_epoch,
            state=_UNREVOKED,
            assigned=kept,
            revoking=dropped,
        )

    def _subscribed(self) -> frozenset[UUID]:
        return subscribed_ids(self.group, self.group.members[self.member_id], self.topics)

    def _wanted(self) -> Mapping[UUID, frozenset[int]]:
        target = self.group.target.get(self.member_id, {}) if self.has_target else {}
        # The target assignment may be older than the subscription, while it waits for its interval (KIP-1263).
        # Partitions of topics that the member has just unsubscribed from must not be assigned to it once more
        # (CurrentAssignmentBuilder.subscribedTopicIds).
        subscribed = self._subscribed()
        return {topic: frozenset(numbers) for topic, numbers in target.items() if topic in subscribed and numbers}

    def _free(
        self, kept: AssignedPartitions, wanted: Mapping[UUID, frozenset[int]]
    ) -> tuple[dict[UUID, list[int]], bool]:
        """Return the wanted partitions that no other member has, and whether other members have some."""
        free: dict[UUID, list[int]] = {}
        has_waiting = False
        for topic, numbers in wanted.items():
            for number in sorted(numbers - kept.get(topic, {}).keys()):
                # A partition has one owner at a time, also while that one still has to revoke it
                # (ConsumerGroup.currentPartitionEpoch).
                if self.group.owners.get((topic, number), self.member_id) == self.member_id:
                    free.setdefault(topic, []).append(number)
                else:
                    has_waiting = True
        return free, has_waiting


def _divided(
    assigned: AssignedPartitions, wanted: Mapping[UUID, frozenset[int]]
) -> tuple[AssignedPartitions, AssignedPartitions]:
    """Return what of an assignment stays, and what does not."""
    kept: dict[UUID, Mapping[int, int]] = {}
    dropped: dict[UUID, Mapping[int, int]] = {}
    for topic, epochs in assigned.items():
        stays = wanted.get(topic, frozenset())
        if epochs.keys() <= stays:
            kept[topic] = epochs
            continue
        dropped[topic] = {number: epoch for number, epoch in epochs.items() if number not in stays}
        if len(dropped[topic]) < len(epochs):
            kept[topic] = {number: epoch for number, epoch in epochs.items() if number in stays}
    return kept, dropped


def _merged(kept: AssignedPartitions, free: Mapping[UUID, Sequence[int]], epoch: int) -> AssignedPartitions:
    return {**kept, **_joined(kept, {topic: dict.fromkeys(numbers, epoch) for topic, numbers in free.items()})}


def _joined(before: AssignedPartitions, added: AssignedPartitions) -> AssignedPartitions:
    return {topic: {**before.get(topic, {}), **epochs} for topic, epochs in added.items()}
