"""Kafka's assignor `range`: every subscriber of a topic gets a run of consecutive partitions.

The rules, as observed on Kafka 4.4:

1. Each topic is assigned by itself to the members that subscribe to it. Previous assignments don't matter.
2. Static members come first, in the order of their instance ids; dynamic members follow in the order of their member
   ids. Topics with the same subscribers and the same number of partitions are therefore assigned alike.
3. The numbers of partitions of any two subscribers differ by at most one. The first ones get one more.
"""

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from uuid import UUID

from kafka_groups.assignment.java_order import copied, in_hash_order, uuid_hash
from kafka_groups.broker.coordinators.groups.assignors.group_spec import (
    GroupSpec,
    PartitionAssignorError,
    SubscribedMember,
)
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import ordered_members

__all__ = ["NAME", "assign"]

NAME = "range"


def assign(group: GroupSpec) -> dict[str, dict[UUID, tuple[int, ...]]]:
    """Compute a new target assignment.

    Returns:
        The partitions of every member, including members without partitions. Kafka stores them in the same order, or in
        one with the same effect on the next assignment, so store them in this order.

    Raises:
        PartitionAssignorError: A member subscribes to a topic that does not exist.
    """
    runs: dict[str, dict[UUID, range]] = {member: {} for member in group.members}
    views = _views(group)
    for topic_id, subscribers in _subscribers(views).items():
        if topic_id not in group.partition_counts:
            raise PartitionAssignorError("Member is subscribed to a non-existent topic")
        for member, run in zip(subscribers, _runs(group.partition_counts[topic_id], len(subscribers)), strict=True):
            # With more subscribers than partitions, the last ones get nothing of this topic
            # (RangeAssignor.addPartitionsToAssignment).
            if run:
                runs[member][topic_id] = run
    return {member: _as_stored(views[member], of_member) for member, of_member in runs.items()}


def _views(group: GroupSpec) -> Mapping[str, SubscribedMember]:
    """Return the members as Kafka sees them. In a homogeneous group, all subscribe to the first one's topics."""
    # RangeAssignor.assignHomogeneousGroup looks at the first member's topics only. The group may count as homogeneous
    # although a subscription has just changed, and then the result has to be the same as Kafka's.
    if not (group.homogeneous and group.members):
        return group.members
    topic_ids = group.members[ordered_members(group)[0]].topic_ids
    return {
        member: SubscribedMember(topic_ids, known.instance_id, known.assigned)
        for member, known in group.members.items()
    }


def _as_stored(member: SubscribedMember, runs: Mapping[UUID, range]) -> dict[UUID, tuple[int, ...]]:
    """Return the partitions of a member in the order in which Kafka stores them, see `kafka_order`."""
    assigned = [topic_id for topic_id in member.topic_ids if topic_id in runs]
    topics = len(member.topic_ids) + member.missing_topics
    return {topic_id: tuple(runs[topic_id]) for topic_id in in_hash_order(assigned, uuid_hash, copied(topics))}


def _subscribers(members: Mapping[str, SubscribedMember]) -> dict[UUID, list[str]]:
    """Return the members that subscribe to each topic, in the order of rule 2."""
    subscribers: defaultdict[UUID, list[str]] = defaultdict(list)
    for member in sorted(members, key=lambda member: _rank(member, members[member].instance_id)):
        for topic_id in members[member].topic_ids:
            subscribers[topic_id].append(member)
    return subscribers


def _rank(member: str, instance_id: str | None) -> tuple[bool, bytes]:
    """Java compares strings by their UTF-16 code units."""
    text = member if instance_id is None else instance_id
    return instance_id is None, text.encode("utf-16-be", "surrogatepass")


def _runs(partitions: int, members: int) -> list[range]:
    each, extra = divmod(partitions, members)
    starts = [number * each + min(number, extra) for number in range(members + 1)]
    return [range(start, end) for start, end in pairwise(starts)]
