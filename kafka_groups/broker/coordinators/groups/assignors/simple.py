"""Kafka's share assignor `simple`: balance first, then stickiness.

The rules, as observed on Kafka 4.4:

1. Every partition gets the same number of members, its *sharing*: members divided by partitions, rounded up. If there
   are more members than partitions, members share partitions and no member is idle.
2. The numbers of partitions of any two members differ by at most one.
3. Within these two rules, the maximum number of partitions stays with their members.

If all members subscribe to the same topics, the rules apply to all partitions together. Otherwise they apply to each
topic separately, among the members that subscribe to it.

Rule 3 is exact: the partitions that stay are a maximum matching between members and their previous partitions, found
with augmenting paths. No other assignment that follows the first two rules moves fewer partitions. Ties go to the
member with the fewest partitions of other topics, and then to the lowest member id, so the result is deterministic.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from uuid import UUID

from attrs import frozen

from kafka_groups.types import TopicIdPartition

__all__ = ["NAME", "MemberSpec", "assign"]

NAME = "simple"


@frozen
class MemberSpec:
    """The assignor's view of a member: its subscribed topics and its previous partitions."""

    topic_ids: frozenset[UUID]
    owned: frozenset[TopicIdPartition] = frozenset()


def assign(
    members: Mapping[str, MemberSpec], partitions: Iterable[TopicIdPartition]
) -> dict[str, frozenset[TopicIdPartition]]:
    """Compute a new target assignment.

    Args:
        members: The members of the group by id.
        partitions: All share-partitions that can be assigned.

    Returns:
        The partitions of every member, including members without partitions.
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
    """Members and partitions to balance together: all of them, or those of one topic."""
    # There are two cases, as in SimpleAssignor.assign in Kafka: SimpleHomogeneousAssignmentBuilder balances all
    # partitions at once, SimpleHeterogeneousAssignmentBuilder topic by topic.
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


def _common(first: Collection[TopicIdPartition], second: Collection[TopicIdPartition]) -> list[TopicIdPartition]:
    """Return what is in both, at the cost of the smaller one. Membership in both must be cheap."""
    smaller, larger = sorted((first, second), key=len)
    return [partition for partition in smaller if partition in larger]


class _Balance:
    """Distributes the partitions of one scope to its members.

    With `sharing` members for each partition there are `slots` to distribute. Every member gets `quota` slots, and
    `extras` members get one more. When partitions are shared, the quota is 1.

    Args:
        partitions: The partitions to distribute, in order.
        loads: Number of partitions of each member in other scopes. Only used to break ties.
    """

    def __init__(self, partitions: Sequence[TopicIdPartition], loads: Mapping[str, int]) -> None:
        self._loads = loads
        # KIP-932, "The SimpleAssignor", hashes members to partitions. Releases since 4.1 do not: they share partitions
        # evenly, so that no member is idle.
        self._sharing = -(-len(loads) // len(partitions))
        slots = len(partitions) * self._sharing
        self._quota, self._extras = divmod(slots, len(loads))
        self._counts = dict.fromkeys(loads, 0)
        self.holders: dict[TopicIdPartition, set[str]] = {partition: set() for partition in partitions}

    def keep(self, owned: Mapping[str, frozenset[TopicIdPartition]]) -> None:
        """Let members keep the maximum number of their previous partitions, without assigning others."""
        wanted = {member: sorted(_common(owned[member], self.holders), key=_position) for member in self._loads}
        # Most partitions can stay where they are. The search for augmenting paths, which is costly, is left with the
        # rest.
        for member, partitions in wanted.items():
            self._keep_free(member, partitions)
        for member in wanted:
            # Kafka lets members keep partitions greedily and may move more than necessary. A matching moves as few as
            # possible, which saves members from dropping what they have fetched.
            while self._counts[member] < self._quota and self._augment(member, wanted):
                pass
        # Extra partitions go to members that already hold one partition more, least loaded ones first, so that they
        # need not move.
        for member in sorted(wanted, key=lambda member: (self._loads[member], member)):
            if self._extras and self._counts[member] == self._quota and self._augment(member, wanted):
                self._extras -= 1

    def fill(self) -> None:
        """Distribute the free slots to the members with the fewest partitions.

        This never gets stuck. A partition without members can go to any member. A partition that already has members
        is shared, so the quota is 1: members below the quota hold nothing, and while extras remain, not all members
        hold one partition (this one) or two.
        """
        queue = [(count, self._loads[member], member) for member, count in self._counts.items()]
        heapq.heapify(queue)
        for holders in self.holders.values():
            passed_over = []
            while len(holders) < self._sharing:
                count, load, member = heapq.heappop(queue)
                # A partition that is shared goes to several different members.
                if member in holders:
                    passed_over.append((count, load, member))
                    continue
                holders.add(member)
                passed_over.append((count + 1, load, member))
            for entry in passed_over:
                heapq.heappush(queue, entry)

    def _keep_free(self, member: str, partitions: Iterable[TopicIdPartition]) -> None:
        """Keep partitions that no other member wants, in linear time."""
        for partition in partitions:
            # The quota comes first, as balance matters more than stickiness. Extra partitions are distributed later.
            if self._counts[member] == self._quota:
                return
            if len(self.holders[partition]) < self._sharing:
                self.holders[partition].add(member)
                self._counts[member] += 1

    def _augment(self, member: str, wanted: Mapping[str, Sequence[TopicIdPartition]]) -> bool:
        """Let a member keep one more partition. Other members may have to swap one of theirs for another.

        Does a breadth-first search for an augmenting path from the member to a partition with a free slot.
        """
        wanted_by: dict[TopicIdPartition, str] = {}
        gives_up: dict[str, TopicIdPartition] = {}
        queue = [member]
        for searching in queue:
            for partition in wanted[searching]:
                holders = self.holders[partition]
                # A partition is visited once in a search. One that the member keeps already cannot be gained.
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
        """Walk back along an augmenting path: each member takes the partition it wants and gives one to the next."""
        taker = wanted_by[free]
        self.holders[free].add(taker)
        while taker != member:
            given = gives_up[taker]
            self.holders[given].remove(taker)
            taker = wanted_by[given]
            self.holders[given].add(taker)
        self._counts[member] += 1
