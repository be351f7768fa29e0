"""The `kafka-groups` command. Each subcommand is imported on first use."""

import importlib

import click

__all__ = ["main"]

_COMMANDS = {
    "broker": ("kafka_groups.cli.broker", "broker"),
    "demo": ("kafka_groups.cli.demo.command", "demo"),
    "groups": ("kafka_groups.cli.admin.groups", "groups"),
    "members": ("kafka_groups.cli.admin.members", "members"),
    "offsets": ("kafka_groups.cli.admin.offsets", "offsets"),
    "streams": ("kafka_groups.cli.admin.streams", "streams"),
}


class _LazyGroup(click.Group):
    """A group that imports its commands on demand, so that `--help` and the broker start quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.command(cls=_LazyGroup, context_settings={"show_default": True})
@click.version_option(package_name="kafka-groups")
def main() -> None:
    """Kafka share and streams groups for Python: an embedded broker, administration of groups, and a demo."""
