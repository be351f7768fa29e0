"""`kafka-groups offsets`: how far share groups are. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["offsets"]

_COMMANDS = {
    "delete": (
        "kafka_groups.cli.admin.offsets.delete_offsets",
        "delete",
        "Make GROUP, which must have no members, forget topics.",
    ),
    "describe": (
        "kafka_groups.cli.admin.offsets.describe_offsets",
        "describe",
        "Print the start offset and lag of share groups in each partition.",
    ),
    "reset": (
        "kafka_groups.cli.admin.offsets.reset_offsets",
        "reset",
        "Move GROUP, which must have no members, to the beginning or end of topics, or to a time.",
    ),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def offsets() -> None:
    """Show, reset and delete the offsets of share groups."""
