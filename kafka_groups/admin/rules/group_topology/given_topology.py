"""The topology that callers give in place of the one that streams groups keep: classic groups keep none."""

from collections.abc import Iterable
from typing import Protocol

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.topics import names_of_topics
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import represented

__all__ = ["GivenTopology", "OffersGroupTopology", "topology_of_group", "topology_with_topics"]


class OffersGroupTopology(Protocol):
    """A topology that can be shown as its group has it: `kafka_groups.streams.Topology`."""

    @property
    def has_patterns(self) -> bool:
        """True if it reads topics whose names match a pattern."""
        ...

    def group_topology(self, application_id: str, topics: Iterable[str] | None = None) -> GroupTopology:
        """Return what the members of the application's streams group tell their coordinator.

        Args:
            application_id: The group, with which names of internal topics begin.
            topics: Topics that exist, for its patterns.
        """
        ...


GivenTopology = OffersGroupTopology | GroupTopology
"""The `Topology` of an application, or its `GroupTopology`."""


async def topology_of_group(ask: Asking, given: GivenTopology, group_id: str) -> GroupTopology:
    """Return a topology as its group has it. Patterns read the topics that exist now.

    Args:
        ask: Asks the brokers for topics, if there are patterns.
        given: What a caller gave.
        group_id: The group.

    Raises:
        ConfigurationError: It is not a topology.
        TopologyError: The topology is empty or contradicts itself.
        KafkaGroupsError: The brokers do not tell the topics.
    """
    if isinstance(given, GroupTopology):
        return given
    _check(given)
    return topology_with_topics(given, group_id, await names_of_topics(ask) if given.has_patterns else ())


def topology_with_topics(given: GivenTopology, group_id: str, topics: Iterable[str]) -> GroupTopology:
    """Return a topology as its group has it, when its patterns read those of some topics that they match.

    Args:
        given: What a caller gave.
        group_id: The group.
        topics: Topics that exist.

    Raises:
        ConfigurationError: It is not a topology.
        TopologyError: The topology is empty or contradicts itself, or two sources read the same topic.
    """
    if isinstance(given, GroupTopology):
        return given
    _check(given)
    return given.group_topology(group_id, topics if given.has_patterns else None)


def _check(given: object) -> None:
    if isinstance(given, type) or not callable(getattr(given, "group_topology", None)):
        raise ConfigurationError(
            f"topology={represented(given)} is not a topology: give the Topology that StreamsBuilder.build() returns"
        )
