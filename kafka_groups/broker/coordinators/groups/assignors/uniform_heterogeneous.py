"""The assignor `uniform` for a group whose members subscribe to different topics.

The rules, as observed on Kafka 4.4:

1. Members keep their previous partitions.
2. Partitions that nobody had are distributed topic by topic, to the subscribers with the fewest partitions.
3. Then partitions move, topic by topic, from the subscribers with the most partitions to those with the fewest, until
   they differ by at most one. This is repeated until no topic has a partition to move, but at most 16 times.

So the subscribers of a topic differ by at most one, unless those with more partitions own no partition of this topic.
Long chains of topics, each of which shares subscribers with the next, may need more than 16 times and stay unbalanced.

Topics with the most partitions per subscriber come first, then those with the fewest subscribers, then those with the
lowest ids. Members with the same number of partitions take turns, receivers in the order of `kafka_order` and givers in
the opposite order.
"""

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.coordinators.groups.assignors.group_spec import GroupSpec
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import (
    Partition,
    ordered_members,
    previous_partitions,
)

__all__ = ["assign_heterogeneous"]

_MOST_PASSES = 16

_Held = dict[str, dict[Partition, None]]
"""The partitions of each member, in the order of assignment. Their number is the member's load."""


def assign_heterogeneous(group: GroupSpec) -> dict[str, list[Partition]]:
    """Compute the partitions of every member, in the order of `kafka_order.by_topic`."""
    members = ordered_members(group)
    held: _Held = {member: dict.fromkeys(previous_partitions(group, member)) for member in members}
    topics = sorted(_topics(group, held), key=lambda topic: topic.rank)
    for topic in topics:
        topic.fill()
    # A pass over all topics may unbalance topics that came before, so passes are repeated. The limit is Kafka's: it
    # bounds the time of an assignment, at the cost of perfect balance in groups with long chains of overlapping
    # subscriptions.
    for _ in range(_MOST_PASSES):
        if not sum(topic.balance() for topic in topics):
            break
    return {member: list(partitions) for member, partitions in held.items()}


def _topics(group: GroupSpec, held: _Held) -> Iterator["_Topic"]:
    owned: dict[UUID, dict[str, list[int]]] = {}
    for member, partitions in held.items():
        for topic_id in group.members[member].topic_ids:
            owned.setdefault(topic_id, {})[member] = []
        for topic_id, number in partitions:
            insort(owned[topic_id][member], number)
    for topic_id, by_subscriber in owned.items():
        yield _Topic(topic_id, group.partition_counts[topic_id], by_subscriber, held)


@frozen(eq=False)
class _Topic:
    """A topic while it is assigned.

    Attributes:
        owned: The partitions of every subscriber, in ascending order.
        held: What the members hold of all topics.
    """

    topic_id: UUID
    partition_count: int
    owned: dict[str, list[int]]
    held: _Held

    @property
    def rank(self) -> tuple[Fraction, int, tuple[int, int]]:
        """The sort key that decides when this topic is assigned."""
        # Topics with many partitions for few subscribers leave the least choice and are assigned first. Kafka compares
        # quotients as doubles, which agree with these fractions for all numbers of partitions that occur.
        return -Fraction(self.partition_count, len(self.owned)), len(self.owned), _as_compared_by_java(self.topic_id)

    def fill(self) -> None:
        """Give unassigned partitions to the subscribers with the fewest partitions."""
        taken = {number for numbers in self.owned.values() for number in numbers}
        free = [number for number in range(self.partition_count) if number not in taken]
        for number, receiver in zip(free, _receivers(self._by_load(), self.held), strict=False):
            self._give(receiver, number)

    def balance(self) -> int:
        """Move partitions to the subscribers with the fewest partitions. Return how many were moved."""
        moved = 0
        subscribers = self._by_load()
        pairs = zip(_givers(subscribers, self.held, self.owned), _receivers(subscribers, self.held), strict=False)
        for giver, receiver in pairs:
            # Moving one more partition would not reduce the difference, only turn it around.
            if len(self.held[giver]) - len(self.held[receiver]) <= 1:
                break
            self._give(receiver, self._take(giver))
            moved += 1
        return moved

    def _take(self, giver: str) -> int:
        number = self.owned[giver].pop()
        del self.held[giver][self.topic_id, number]
        return number

    def _give(self, receiver: str, number: int) -> None:
        insort(self.owned[receiver], number)
        self.held[receiver][self.topic_id, number] = None

    def _by_load(self) -> list[str]:
        return sorted(self.owned, key=lambda member: len(self.held[member]))


def _receivers(subscribers: Sequence[str], held: _Held) -> Iterator[str]:
    """Yield, again and again, the subscriber that gets the next partition.

    Members at the lowest level take turns. When each of them has got one, the members at the new level join them.

    Args:
        subscribers: The members in ascending order of their loads.
        held: What they hold now. A member that is yielded must get its partition before the next one is asked for.
    """
    reached = 1
    while True:
        # The level of the first subscriber is the lowest one. Those that have reached it, or are there already, take
        # part in the turn.
        while reached < len(subscribers) and len(held[subscribers[reached]]) <= len(held[subscribers[0]]):
            reached += 1
        yield from subscribers[:reached]


def _givers(subscribers: Sequence[str], held: _Held, owned: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Yield, again and again, the subscriber that gives up the next partition.

    The mirror image of `_receivers`, from the end of the subscribers. Members without partitions of the topic are
    skipped. Each of them swaps places with the last member that is still in turn.
    """
    order = list(subscribers)
    end = len(order)
    start = end - 1
    while end:
        start = min(start, end - 1)
        while start and len(held[order[start - 1]]) >= len(held[order[end - 1]]):
            start -= 1
        for turn in reversed(range(start, end)):
            # A member may be the most loaded one by other topics. It cannot give up a partition of this topic then.
            if owned[order[turn]]:
                yield order[turn]
            else:
                end -= 1
                order[turn], order[end] = order[end], order[turn]


def _as_compared_by_java(uuid: UUID) -> tuple[int, int]:
    """Java compares the two halves of an id as signed numbers."""
    high, low = divmod(uuid.int, 1 << 64)
    return _signed(high), _signed(low)


def _signed(number: int) -> int:
    return number - (number >> 63 << 64)
