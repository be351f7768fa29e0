"""The topology that callers give in place of the one that streams groups keep: classic groups keep none."""

from typing import Protocol

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import represented

__all__ = ["GivenTopology", "OffersGroupTopology", "checked_topology"]


class OffersGroupTopology(Protocol):
    """A topology that can be shown as its group has it: `kafka_groups.streams.Topology`."""

    def group_topology(self, application_id: str) -> GroupTopology:
        """Return what the members of the application's streams group tell their coordinator.

        Args:
            application_id: The group, with which names of internal topics begin.
        """
        ...


GivenTopology = OffersGroupTopology | GroupTopology
"""The `Topology` of an application, or its `GroupTopology`."""


def checked_topology(given: object, group_id: str) -> GroupTopology:
    """Return a topology as its group has it.

    Args:
        given: What a caller gave.
        group_id: The group.

    Raises:
        ConfigurationError: It is not a topology.
        TopologyError: The topology is empty or contradicts itself.
    """
    if isinstance(given, GroupTopology):
        return given
    made = getattr(given, "group_topology", None)
    if isinstance(given, type) or not callable(made):
        raise ConfigurationError(
            f"topology={represented(given)} is not a topology: give the Topology that StreamsBuilder.build() returns"
        )
    topology: GroupTopology = made(group_id)
    return topology
