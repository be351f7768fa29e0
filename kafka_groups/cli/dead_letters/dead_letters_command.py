"""`kafka-groups dead-letters`: topics with dead letters. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["dead_letters"]

_COMMANDS = {
    "delete": ("kafka_groups.cli.dead_letters.deleting", "delete"),
    "list": ("kafka_groups.cli.dead_letters.listing", "list_letters"),
    "send-again": ("kafka_groups.cli.dead_letters.sending_again", "send_again"),
    "show": ("kafka_groups.cli.dead_letters.showing", "show"),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def dead_letters() -> None:
    """List, show, send again and delete dead letters: those of workers, and those of the brokers' own queues."""
