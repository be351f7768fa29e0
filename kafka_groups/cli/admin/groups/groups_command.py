"""`kafka-groups groups`: share groups, and the configurations of all groups. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["groups"]

_COMMANDS = {
    "configs": (
        "kafka_groups.cli.admin.groups.share_groups",
        "configs",
        "Print the configurations of the share, consumer or streams group GROUP, or change some.",
    ),
    "delete": ("kafka_groups.cli.admin.groups.share_groups", "delete", "Delete share groups that have no members."),
    "describe": (
        "kafka_groups.cli.admin.groups.share_groups",
        "describe",
        "Print the state, lag and members of share groups.",
    ),
    "list": ("kafka_groups.cli.admin.groups.share_groups", "list_groups", "Print each share group and its state."),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def groups() -> None:
    """List, describe and delete share groups; show and change the configurations of groups."""
