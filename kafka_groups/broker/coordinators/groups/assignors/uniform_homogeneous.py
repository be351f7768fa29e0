"""The assignor `uniform` for a group whose members all subscribe to the same topics.

The rules, as observed on Kafka 4.4:

1. The numbers of partitions of any two members differ by at most one. So each member has a quota, and there may be some
   extra partitions, at most one for each member.
2. A member keeps its previous partitions up to its quota, and one more while there are extras.
3. Members without an extra get what is missing of their quota, and one more while there are extras, starting with the
   last member. They get the last free partitions: first those that members gave up, then those that nobody had.

The order of members, topics and partitions is the one of `kafka_order`.
"""

from collections.abc import Mapping

from kafka_groups.broker.coordinators.groups.assignors.group_spec import GroupSpec
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import (
    Partition,
    ordered_members,
    ordered_topics,
    previous_partitions,
)

__all__ = ["assign_homogeneous"]


def assign_homogeneous(group: GroupSpec) -> dict[str, list[Partition]]:
    """Compute the partitions of every member, in the order of `kafka_order.by_topic`."""
    members = ordered_members(group)
    offered = [
        (topic_id, number)
        for topic_id in ordered_topics(group.members[members[0]])
        for number in range(group.partition_counts[topic_id])
    ]
    previous = {member: list(previous_partitions(group, member)) for member in members}
    quotas = _Quotas(len(offered), len(members))
    kept, given_up = _keep(previous, quotas)
    # Partitions that a member has to give up are not new ones, although they are free now: they come last.
    taken = {partition for owned in previous.values() for partition in owned}
    _fill(kept, [*(partition for partition in offered if partition not in taken), *given_up], quotas)
    return kept


class _Quotas:
    """The quota of each member, and who gets an extra partition."""

    def __init__(self, partitions: int, members: int) -> None:
        self.quota, self._extras = divmod(partitions, members)
        self._extended: set[str] = set()

    def extend(self, member: str) -> int:
        """Return the quota of a member, with an extra if there are any."""
        # A member gets at most one extra partition, however often it is asked for its quota.
        if self._extras and member not in self._extended:
            self._extras -= 1
            self._extended.add(member)
        return self.quota + (member in self._extended)


def _keep(
    previous: Mapping[str, list[Partition]], quotas: _Quotas
) -> tuple[dict[str, list[Partition]], list[Partition]]:
    """Let members keep partitions. Return these, and what members gave up."""
    kept: dict[str, list[Partition]] = {}
    given_up: list[Partition] = []
    for member, owned in previous.items():
        # Only a member with more than the quota competes for an extra partition here. That keeps extra partitions where
        # they are.
        count = quotas.extend(member) if len(owned) > quotas.quota else len(owned)
        kept[member] = owned[:count]
        given_up += owned[count:]
    return kept, given_up


def _fill(kept: dict[str, list[Partition]], free: list[Partition], quotas: _Quotas) -> None:
    for member, owned in reversed(kept.items()):
        # The last member takes the last free partitions. Any other order would be as balanced, but the result has to be
        # the one that Kafka gives (rule 3).
        start = len(free) + len(owned) - quotas.extend(member)
        owned.extend(free[start:])
        del free[start:]
