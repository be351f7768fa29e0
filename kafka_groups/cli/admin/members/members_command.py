"""`kafka-groups members`. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["members"]

_COMMANDS = {
    "remove": (
        "kafka_groups.cli.admin.members.removing",
        "remove",
        "Remove members from GROUP, so that others get their partitions at once.",
    ),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def members() -> None:
    """Administer members of groups of ordinary consumers."""
