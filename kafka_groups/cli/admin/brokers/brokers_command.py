"""`kafka-groups brokers`. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["brokers"]

_COMMANDS = {
    "configs": (
        "kafka_groups.cli.admin.brokers.broker_configs",
        "configs",
        "Print the configurations of brokers, or change some of BROKER or of all brokers.",
    ),
    "list": ("kafka_groups.cli.admin.brokers.list_brokers", "list_brokers", "Print each broker that runs."),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def brokers() -> None:
    """List brokers; show and change their configurations."""
