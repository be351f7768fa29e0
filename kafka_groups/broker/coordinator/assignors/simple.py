"""Kafka's share assignor `simple`, as it ships: balance first, then stickiness.

The rules, observed on Kafka 4.4:

1. Every partition gets the same number of members, its *sharing*: members divided by partitions, rounded up. So
   with more members than partitions they share partitions, and nobody is idle.
2. The numbers of partitions of any two members differ by one at most.
3. Within these two rules, as many partitions as possible stay where they are.

When all members subscribe to the same topics, the rules hold over all partitions together; otherwise they hold for
each topic by itself, among the members that subscribe to it.

The third rule is kept to the letter: what stays is a largest matching between members and the partitions that they
had, found with augmenting paths, so that no other assignment that follows the first two moves less. Ties go to the
member with the fewest partitions of other topics, then by member id: the same input gives the same assignment.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from uuid import UUID

from attrs import frozen

from kafka_groups.types import TopicIdPartition

__all__ = ["NAME", "MemberSpec", "assign"]

NAME = "simple"


@frozen
class MemberSpec:
    """What the assignor knows of a member: the topics it subscribes to, and the partitions it was assigned before."""

    topic_ids: frozenset[UUID]
    owned: frozenset[TopicIdPartition] = frozenset()


def assign(
    members: Mapping[str, MemberSpec], partitions: Iterable[TopicIdPartition]
) -> dict[str, frozenset[TopicIdPartition]]:
    """A new target assignment.

    Args:
        members: The members of the group by id.
        partitions: All share-partitions that may be assigned.

    Returns:
        The partitions of every member, also of those that get none.
    """
    assigned: dict[str, set[TopicIdPartition]] = {member: set() for member in members}
    for subscribers, offered in _scopes(members, sorted(partitions, key=_position)):
        loads = {member: len(assigned[member]) for member in subscribers}
        balance = _Balance(offered, loads)
        balance.keep({member: members[member].owned for member in subscribers})
        balance.fill()
        for partition, holders in balance.holders.items():
            for member in holders:
                assigned[member].add(partition)
    return {member: frozenset(owned) for member, owned in assigned.items()}


_Scope = tuple[list[str], list[TopicIdPartition]]


def _scopes(members: Mapping[str, MemberSpec], partitions: Sequence[TopicIdPartition]) -> Iterable[_Scope]:
    """Members and partitions to balance against each other: all at once, or topic by topic."""
    subscriptions = {spec.topic_ids for spec in members.values()}
    if len(subscriptions) == 1:
        (topic_ids,) = subscriptions
        by_topic: list[list[TopicIdPartition]] = [[p for p in partitions if p.topic_id in topic_ids]]
    else:
        by_topic = [list(group) for _, group in groupby(partitions, key=_topic)]
    for offered in by_topic:
        subscribers = sorted(m for m, spec in members.items() if offered and offered[0].topic_id in spec.topic_ids)
        if subscribers:
            yield subscribers, offered


def _position(partition: TopicIdPartition) -> tuple[UUID, int]:
    return partition.topic_id, partition.partition


def _topic(partition: TopicIdPartition) -> UUID:
    return partition.topic_id


class _Balance:
    """Partitions of one scope being dealt to its members.

    With `sharing` members for each partition there are `slots` to deal. Every member gets `quota` of them and `extras`
    members one more. When partitions are shared, the quota is 1.

    Args:
        partitions: What to deal, in order.
        loads: How many partitions each member has of other scopes; it only breaks ties.
    """

    def __init__(self, partitions: Sequence[TopicIdPartition], loads: Mapping[str, int]) -> None:
        self._loads = loads
        self._sharing = -(-len(loads) // len(partitions))
        slots = len(partitions) * self._sharing
        self._quota, self._extras = divmod(slots, len(loads))
        self._counts = dict.fromkeys(loads, 0)
        self.holders: dict[TopicIdPartition, set[str]] = {partition: set() for partition in partitions}

    def keep(self, owned: Mapping[str, frozenset[TopicIdPartition]]) -> None:
        """Give the members as many as possible of the partitions that they had, and none that they had not."""
        wanted = {member: sorted(owned[member] & self.holders.keys(), key=_position) for member in self._loads}
        for member, partitions in wanted.items():
            self._keep_free(member, partitions)
        for member in wanted:
            while self._counts[member] < self._quota and self._augment(member, wanted):
                pass
        for member in sorted(wanted, key=lambda member: (self._loads[member], member)):
            if self._extras and self._counts[member] == self._quota and self._augment(member, wanted):
                self._extras -= 1

    def fill(self) -> None:
        """Deal the free slots to the members with the fewest partitions.

        This never gets stuck. A partition without any member can go to everybody. A partition that has some already
        is shared, so the quota is 1: members below it hold nothing, and while extras are left, too few members
        hold one partition (this one) or two for them to be all.
        """
        queue = [(count, self._loads[member], member) for member, count in self._counts.items()]
        heapq.heapify(queue)
        for holders in self.holders.values():
            passed_over = []
            while len(holders) < self._sharing:
                count, load, member = heapq.heappop(queue)
                if member in holders:
                    passed_over.append((count, load, member))
                    continue
                holders.add(member)
                passed_over.append((count + 1, load, member))
            for entry in passed_over:
                heapq.heappush(queue, entry)

    def _keep_free(self, member: str, partitions: Iterable[TopicIdPartition]) -> None:
        """The easy part of keeping, in linear time: what nobody else wants leaves nothing to be decided."""
        for partition in partitions:
            if self._counts[member] == self._quota:
                return
            if len(self.holders[partition]) < self._sharing:
                self.holders[partition].add(member)
                self._counts[member] += 1

    def _augment(self, member: str, wanted: Mapping[str, Sequence[TopicIdPartition]]) -> bool:
        """Let a member keep one more, where others may have to give up one of theirs and keep another instead.

        A breadth-first search for an augmenting path from the member to a partition with a free slot.
        """
        wanted_by: dict[TopicIdPartition, str] = {}
        gives_up: dict[str, TopicIdPartition] = {}
        queue = [member]
        for searching in queue:
            for partition in wanted[searching]:
                holders = self.holders[partition]
                if partition in wanted_by or searching in holders:
                    continue
                wanted_by[partition] = searching
                if len(holders) < self._sharing:
                    self._shift(member, partition, wanted_by, gives_up)
                    return True
                for holder in sorted(holders - gives_up.keys() - {member}):
                    gives_up[holder] = partition
                    queue.append(holder)
        return False

    def _shift(
        self,
        member: str,
        free: TopicIdPartition,
        wanted_by: Mapping[TopicIdPartition, str],
        gives_up: Mapping[str, TopicIdPartition],
    ) -> None:
        """Walk an augmenting path back: everybody on it takes what it wants and gives up what the one before wants."""
        taker = wanted_by[free]
        self.holders[free].add(taker)
        while taker != member:
            given = gives_up[taker]
            self.holders[given].remove(taker)
            taker = wanted_by[given]
            self.holders[given].add(taker)
        self._counts[member] += 1
