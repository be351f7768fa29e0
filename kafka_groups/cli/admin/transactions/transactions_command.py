"""`kafka-groups transactions`. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["transactions"]

_COMMANDS = {
    "abort": (
        "kafka_groups.cli.admin.transactions.abort_transaction",
        "abort",
        "Abort a hanging transaction in one partition, past its coordinator.",
    ),
    "describe": (
        "kafka_groups.cli.admin.transactions.describe_transactions",
        "describe",
        "Print transactional ids with their current transactions.",
    ),
    "fence": (
        "kafka_groups.cli.admin.transactions.fence_producers",
        "fence",
        "Fence the producers of transactional ids, and abort their open transactions.",
    ),
    "hanging": (
        "kafka_groups.cli.admin.transactions.hanging_transactions",
        "hanging",
        "Print transactions that hang: open in a partition, and unknown to their coordinators.",
    ),
    "list": (
        "kafka_groups.cli.admin.transactions.list_transactions",
        "list_transactions",
        "Print each transactional id that you may describe.",
    ),
    "producers": (
        "kafka_groups.cli.admin.transactions.describe_producers",
        "producers",
        "Print the producers that the leaders of partitions remember.",
    ),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def transactions() -> None:
    """List and describe transactions and producers; find and abort hanging transactions; fence producers."""
