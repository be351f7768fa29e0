"""`kafka-groups groups`: groups of all types. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["groups"]

_COMMANDS = {
    "configs": (
        "kafka_groups.cli.admin.groups.group_configs",
        "configs",
        "Print the configurations of the share, consumer or streams group GROUP, or change some.",
    ),
    "delete": (
        "kafka_groups.cli.admin.groups.delete_groups",
        "delete",
        "Delete share, consumer and classic groups that have no members, and their offsets.",
    ),
    "describe": (
        "kafka_groups.cli.admin.groups.describe_groups",
        "describe",
        "Print the state, lag and number of members of groups of any type.",
    ),
    "list": (
        "kafka_groups.cli.admin.groups.list_groups",
        "list_groups",
        "Print each group that you may describe, with its type and state.",
    ),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def groups() -> None:
    """List, describe and delete groups of all types; show and change their configurations."""
