"""The `kafka-groups` command. Each subcommand is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["main"]

_COMMANDS = {
    "broker": ("kafka_groups.cli.broker", "broker"),
    "dead-letters": ("kafka_groups.cli.dead_letters.dead_letters_command", "dead_letters"),
    "demo": ("kafka_groups.cli.demo.demo_command", "demo"),
    "groups": ("kafka_groups.cli.admin.groups", "groups"),
    "members": ("kafka_groups.cli.admin.members", "members"),
    "offsets": ("kafka_groups.cli.admin.offsets", "offsets"),
    "streams": ("kafka_groups.cli.streams_commands", "streams"),
    "top": ("kafka_groups.cli.top.top_command", "top"),
    "worker": ("kafka_groups.cli.worker_command", "run_worker"),
}


@click.command(
    cls=LazyGroup, modules=_COMMANDS, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="kafka-groups")
def main() -> None:
    """Kafka share and streams groups for Python: an embedded broker, handler workers, administration, and a demo."""
