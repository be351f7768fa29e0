"""The sources of an application that read all topics whose names match a pattern."""

import re
from collections.abc import Callable, Iterable

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology

__all__ = ["PatternSources"]


@frozen
class PatternSources:
    """The patterns of an application, and the topology that they make of the topics that exist.

    Attributes:
        patterns: The patterns, which match whole names.
        topology_of: Returns the topology whose patterns read those of some topics that they match. It raises
            `TopologyError` if another source reads one of these.
        subtopologies: The ids of the sub-topologies that read topics by patterns.
    """

    patterns: tuple[re.Pattern[str], ...]
    topology_of: Callable[[Iterable[str]], GroupTopology]
    subtopologies: frozenset[str] = frozenset()

    def matched(self, topics: Iterable[str]) -> frozenset[str]:
        """Return those of some topics that a pattern matches."""
        return frozenset(topic for topic in topics if any(each.fullmatch(topic) for each in self.patterns))

    def without_topics(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return the texts of the patterns that match none of some topics, sorted."""
        names = tuple(topics)
        return tuple(sorted(each.pattern for each in self.patterns if not any(map(each.fullmatch, names))))
