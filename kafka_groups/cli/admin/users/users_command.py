"""`kafka-groups users`. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["users"]

_COMMANDS = {
    "list": ("kafka_groups.cli.admin.users.list_users", "list_users", "Print users with passwords for SCRAM."),
    "remove": ("kafka_groups.cli.admin.users.remove_user", "remove", "Remove a password of USER."),
    "set": ("kafka_groups.cli.admin.users.set_user", "set_password", "Set a password of USER."),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def users() -> None:
    """List users with passwords for SCRAM; set and remove passwords."""
