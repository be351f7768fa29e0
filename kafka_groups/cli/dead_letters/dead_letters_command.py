"""`kafka-groups dead-letters`: topics with dead letters. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["dead_letters"]

_COMMANDS = {
    "delete": (
        "kafka_groups.cli.dead_letters.deleting",
        "delete",
        "Delete the oldest records of TOPIC, or all of them.",
    ),
    "list": (
        "kafka_groups.cli.dead_letters.listing",
        "list_letters",
        "Print the dead letters of TOPIC, the oldest first.",
    ),
    "send-again": (
        "kafka_groups.cli.dead_letters.sending_again",
        "send_again",
        "Send dead letters of TOPIC to the topics that they came from, as records with their own headers.",
    ),
    "show": (
        "kafka_groups.cli.dead_letters.showing",
        "show",
        "Print a dead letter of TOPIC: its headers, its key and its value, as text or in hexadecimal.",
    ),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def dead_letters() -> None:
    """List, show, send again and delete dead letters: those of workers, and those of the brokers' own queues."""
