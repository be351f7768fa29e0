"""`kafka-groups streams offsets`: how far streams groups are. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["offsets"]

_COMMANDS = {
    "alter": (
        "kafka_groups.cli.admin.streams_groups.alter_streams_offsets",
        "alter",
        "Set committed offsets of GROUP, which must have no members.",
    ),
    "delete": (
        "kafka_groups.cli.admin.streams_groups.delete_streams_offsets",
        "delete",
        "Make GROUP forget its committed offsets of topics that it does not read at the moment.",
    ),
    "list": (
        "kafka_groups.cli.admin.streams_groups.list_streams_offsets",
        "list_offsets",
        "Print the committed offset and lag of GROUP in each partition that it reads.",
    ),
    "reset": (
        "kafka_groups.cli.admin.streams_groups.reset_streams_offsets",
        "reset",
        "Move the committed offsets of GROUP, which must have no members.",
    ),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def offsets() -> None:
    """Show, move and delete the committed offsets of a streams group.

    They can also be those of an application with group.protocol=classic: say with --topology which it is.
    """
