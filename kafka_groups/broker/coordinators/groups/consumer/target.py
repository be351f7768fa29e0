"""The target assignment of a consumer group: which assignor computes it, when, and what it becomes (KIP-848)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

import attrs

from kafka_groups.broker.coordinators.groups.assignors import range as range_assignor
from kafka_groups.broker.coordinators.groups.assignors import uniform
from kafka_groups.broker.coordinators.groups.assignors.group_spec import (
    GroupSpec,
    PartitionsByTopic,
    SubscribedMember,
)
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import ordered_names
from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup
from kafka_groups.broker.coordinators.groups.epochs.target import existing_topics
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch

__all__ = [
    "ASSIGNORS",
    "assignor_for",
    "has_other_assignor",
    "preferred_assignor",
    "update_target",
]

ASSIGNORS: Mapping[str, Callable[[GroupSpec], Mapping[str, PartitionsByTopic]]] = MappingProxyType(
    {uniform.NAME: uniform.assign, range_assignor.NAME: range_assignor.assign}
)
"""The assignors by name."""


def preferred_assignor(group: ConsumerGroup, offered: Sequence[str]) -> str:
    """Return the assignor that most members prefer, or the first one if none prefers any."""
    return _elected(group.assignor_votes, offered)


def assignor_for(group: ConsumerGroup, member: ConsumerGroupMemberMetadataValue, offered: Sequence[str]) -> str:
    """Return the assignor that a target assignment is computed with when a member heartbeats.

    It is the one that most members prefer. As in Kafka 4.4, where no assignor has more than one vote, the member's own
    vote decides. If two members prefer different assignors, the heartbeats of one of them increase the group epoch.
    """
    own, votes = member.server_assignor, group.assignor_votes
    return own if own is not None and max(votes.values()) == 1 else _elected(votes, offered)


def has_other_assignor(
    group: ConsumerGroup,
    before: ConsumerGroupMemberMetadataValue | None,
    after: ConsumerGroupMemberMetadataValue,
    offered: Sequence[str],
) -> bool:
    """Return whether a target assignment would be computed with another assignor than the group had before."""
    former = None if before is None else before.server_assignor
    # There are two cases. If the vote of the member is the same, only a tie between assignors can change the winner,
    # because then the vote of the member that sends the heartbeat decides.
    if former == after.server_assignor:
        return len(group.assignor_votes) > 1 and assignor_for(group, after, offered) != preferred_assignor(
            group, offered
        )
    # The group has counted the member's new vote already, so the former result is found by taking it back
    # (GroupMetadataManager.hasPreferredServerAssignorChanged compares the same two).
    votes = Counter(group.assignor_votes)
    votes.subtract([] if after.server_assignor is None else [after.server_assignor])
    votes.update([] if former is None else [former])
    return assignor_for(group, after, offered) != _elected(+votes, offered)


def _elected(votes: Mapping[str, int], offered: Sequence[str]) -> str:
    # A member that leaves the choice to the broker has no vote. The first of group.consumer.assignors is the default,
    # as in Kafka.
    most = max(votes.values(), default=0)
    return next((name for name in offered if most and votes.get(name) == most), offered[0])


def update_target(
    draft: ConsumerDraft, stored: ConsumerGroup | None, topics: TopicsImage, assignor: str, wall_ms: int
) -> None:
    """Compute the target assignment for the group epoch, starting from the current one.

    Args:
        draft: The group.
        stored: The group before the operation, if it existed.
        topics: The topics of the cluster.
        assignor: Name of the assignor.
        wall_ms: The time.
    """
    group = draft.group
    # As in Kafka, an operation that does not increase the group epoch does not look at the subscriptions again.
    judged = group if stored is None or stored.epoch != group.epoch else stored
    homogeneous = judged.has_equal_subscriptions()
    spec = attrs.evolve(
        _group_spec(group, topics, homogeneous=homogeneous),
        newcomer=_newcomer(group, stored),
        member_slots=0 if stored is None else stored.member_slots,
    )
    target = ASSIGNORS[assignor](spec)
    for member_id, partitions in target.items():
        known = group.target.get(member_id)
        # Only targets that differ are written, as in TargetAssignmentBuilder.build in Kafka. The order of partitions
        # does not count.
        if known is None or _as_sets(known) != _as_sets(partitions):
            draft.write(ConsumerGroupTargetAssignmentMember(group.group_id, member_id, partitions))
    draft.write(ConsumerGroupTargetAssignmentMetadata(group.group_id, TargetEpoch(group.epoch, wall_ms)))


def _newcomer(group: ConsumerGroup, stored: ConsumerGroup | None) -> str | None:
    known: Mapping[str, ConsumerGroupMemberMetadataValue] = {} if stored is None else stored.members
    *_, last = group.members
    return None if last in known else last


def _group_spec(group: ConsumerGroup, topics: TopicsImage, *, homogeneous: bool) -> GroupSpec:
    # A subscribed topic that does not exist has no partitions to assign. Once it is created, the metadata hash changes,
    # and with it the group epoch.
    existing = {topic.name: topic for topic in existing_topics(group.subscribed_topics(), topics)}
    names = {member_id: group.topics_of(member) for member_id, member in group.members.items()}
    ids = {
        each: [existing[name].topic_id for name in ordered_names(sorted(each)) if name in existing]
        for each in {*names.values()}
    }
    members = {
        member_id: SubscribedMember(
            ids[names[member_id]],
            member.instance_id,
            group.target.get(member_id, {}),
            missing_topics=len(names[member_id] - existing.keys()),
        )
        for member_id, member in group.members.items()
    }
    counts = {topic.topic_id: topic.num_partitions for topic in existing.values()}
    return GroupSpec(members, counts, homogeneous=homogeneous)


def _as_sets(partitions: PartitionsByTopic) -> dict[UUID, frozenset[int]]:
    return {topic_id: frozenset(numbers) for topic_id, numbers in partitions.items() if numbers}
