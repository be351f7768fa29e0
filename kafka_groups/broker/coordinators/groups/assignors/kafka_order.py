"""A group in the order in which Kafka's coordinator passes it to its uniform assignor, see `java_order`."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from uuid import UUID

from kafka_groups.assignment.java_order import (
    copied,
    grown,
    in_hash_order,
    in_timeline_order,
    int_hash,
    string_hash,
    uuid_hash,
)
from kafka_groups.broker.coordinators.groups.assignors.group_spec import GroupSpec, SubscribedMember

__all__ = ["Partition", "by_topic", "ordered_members", "ordered_names", "ordered_topics", "previous_partitions"]

Partition = tuple[UUID, int]
"""A partition by topic id and number: what the uniform assignor handles by the thousand."""


def ordered_members(group: GroupSpec) -> list[str]:
    """Return the ids of all members."""
    known = [member for member in group.members if member != group.newcomer]
    known = in_timeline_order(known, string_hash, group.member_slots)
    # The coordinator's table of members changes when the records are replayed. A member that joins is therefore added
    # to a copy, after all others.
    if group.newcomer is not None and group.newcomer in group.members:
        known.append(group.newcomer)
    return in_hash_order(known, string_hash, grown(len(known)))


def ordered_names(names: Collection[str]) -> list[str]:
    """Return the names of a subscription."""
    return in_hash_order(names, string_hash, copied(len(names)))


def ordered_topics(member: SubscribedMember) -> list[UUID]:
    """Return the topics that a member subscribes to."""
    return in_hash_order(member.topic_ids, uuid_hash, copied(len(member.topic_ids) + member.missing_topics))


def previous_partitions(group: GroupSpec, member: str) -> Iterator[Partition]:
    """Yield the partitions of a member's previous assignment that it still subscribes to."""
    known = group.members[member]
    subscribed = frozenset(known.topic_ids)
    for topic_id in in_hash_order(known.assigned, uuid_hash, grown(len(known.assigned))):
        # Partitions of topics that the member has unsubscribed from are free for others.
        if topic_id in subscribed:
            numbers = known.assigned[topic_id]
            for number in in_hash_order(numbers, int_hash, copied(len(numbers))):
                yield topic_id, number


def by_topic(member: SubscribedMember, partitions: Iterable[Partition]) -> dict[UUID, tuple[int, ...]]:
    """Return what a member is assigned, in an order in which Kafka would pass it to the next assignment as well.

    Topics that are new to the member come first, the last of them first: Java adds values that it computes to the front
    of their bucket.

    Args:
        member: The member with its previous assignment.
        partitions: The kept partitions in the order of `previous_partitions`, then new ones as they are assigned.
    """
    kept: dict[UUID, list[int]] = {}
    new: dict[UUID, list[int]] = {}
    for topic_id, number in partitions:
        (kept if topic_id in member.assigned else new).setdefault(topic_id, []).append(number)
    return {topic_id: tuple(numbers) for topic_id, numbers in chain(reversed(new.items()), kept.items())}
