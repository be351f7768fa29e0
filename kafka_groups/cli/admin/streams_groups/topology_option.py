"""The option that names the topology of a classic group, which brokers do not keep."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin
    from kafka_groups.streams import Topology

__all__ = ["owned_topics", "topology_option"]


def _loaded(_context: click.Context, _parameter: click.Parameter, given: str | None) -> "Topology | None":
    if given is None:
        return None
    from kafka_groups.cli.topologies.loading import load_topology  # noqa: PLC0415 - streams groups need no DSL

    return load_topology(given)


topology_option = click.option(
    "--topology",
    metavar="MODULE:FUNCTION",
    callback=_loaded,
    help="The function that builds the topology of the application. For a classic group, whose topology brokers do not "
    "keep.",
)
"""The option; the command gets the topology, or None."""


def owned_topics(admin: "KafkaAdmin", group: str, topology: "Topology | None") -> tuple[str, ...]:
    """Return the changelogs and repartition topics of an application.

    Raises:
        KafkaGroupsError: The group is not a streams group, and its topology is not given.
    """
    if topology is not None:
        from kafka_groups.streams.topology.internal_topics import internal_topics  # noqa: PLC0415 - as above

        owned = internal_topics(topology.graph, group)
        return tuple(sorted([*owned.changelogs, *owned.repartitions]))
    found = admin.describe_streams_groups([group])
    if group in found.errors:
        # The error of this call asks for the topology, if it is a classic group.
        _ = admin.describe_streams_group_offsets([group])[group]
    return found[group].internal_topics
