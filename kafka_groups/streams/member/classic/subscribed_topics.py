"""The topics that a member of a classic group subscribes to, by their names or by patterns."""

from collections.abc import Iterable

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.streams.member.classic.member_subscription import read_topics

__all__ = ["SubscribedTopics", "SubscriptionChanges"]


@frozen
class SubscriptionChanges:
    """The topics that have come and gone, sorted.

    Attributes:
        new: Those that patterns match now.
        gone: Those that do not exist any more.
    """

    new: tuple[str, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.gone)


class SubscribedTopics:
    """The topics that a member subscribes to. Patterns mean what the metadata of the member shows.

    Args:
        topology: The topology of the application. Its patterns match nothing.
        sources: The patterns; None without any.

    Attributes:
        is_fresh: Whether the topics are known well enough for the next JoinGroup. Without patterns, they always are.
    """

    def __init__(self, topology: GroupTopology, sources: PatternSources | None) -> None:
        self._topology = topology
        self._sources = sources
        self._matched: frozenset[str] = frozenset()
        self._made: tuple[frozenset[str], GroupTopology] | None = None
        self._told: tuple[str, ...] = ()
        self.is_fresh = sources is None

    def __repr__(self) -> str:
        return f"<SubscribedTopics: {len(self.names)} topics>"

    @property
    def has_patterns(self) -> bool:
        """True if topics may come and go while the application runs."""
        return self._sources is not None

    @property
    def names(self) -> frozenset[str]:
        """The names of the topics."""
        return read_topics(self.topology_with(()))

    def topology_with(self, topics: Iterable[str]) -> GroupTopology:
        """Return the topology with the topics that are subscribed to, and with others that patterns match.

        Raises:
            TopologyError: Two sources read one of the topics.
        """
        if self._sources is None:
            return self._topology
        known = self._matched.union(topics)
        if self._made is None or self._made[0] != known:
            self._made = known, self._sources.topology_of(known)
        return self._made[1]

    def joining(self) -> None:
        """Note that a round begins, before which the topics have to be known anew, as in Java."""
        self.is_fresh = self._sources is None

    def saw(self, existing: Iterable[str]) -> SubscriptionChanges:
        """Subscribe to those topics that patterns match, and to no others. Return the changes.

        Raises:
            TopologyError: Two sources read one of the topics.
        """
        if self._sources is None:
            return SubscriptionChanges((), ())
        matched = self._sources.matched(existing)
        self._sources.topology_of(matched)
        changes = SubscriptionChanges(tuple(sorted(matched - self._matched)), tuple(sorted(self._matched - matched)))
        self._matched, self.is_fresh = matched, True
        return changes

    def learn(self, topics: Iterable[str]) -> None:
        """Subscribe to topics that other members have found first, until the metadata says otherwise."""
        if self._sources is not None:
            self._matched |= self._sources.matched(topics)

    def without_topics(self) -> tuple[str, ...]:
        """Return the patterns that match no topic, if that has not been told yet."""
        found = () if self._sources is None else self._sources.without_topics(self._matched)
        before, self._told = self._told, found
        return found if found != before else ()
