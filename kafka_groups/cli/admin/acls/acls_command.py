"""`kafka-groups acls`. Each command is imported on first use."""

import click

from kafka_groups.cli.lazy_group import LazyGroup

__all__ = ["acls"]

_COMMANDS = {
    "add": ("kafka_groups.cli.admin.acls.add_acls", "add", "Add ACLs: allow or deny operations on resources to users."),
    "check": (
        "kafka_groups.cli.admin.acls.check_acls",
        "check",
        "Print whether the brokers allow OPERATION on a resource to USER, and why.",
    ),
    "list": ("kafka_groups.cli.admin.acls.list_acls", "list_acls", "Print ACLs."),
    "remove": ("kafka_groups.cli.admin.acls.remove_acls", "remove", "Remove the ACLs that the options choose."),
}


@click.command(cls=LazyGroup, modules=_COMMANDS)
def acls() -> None:
    """List, add, remove and check ACLs: who may do what to which resource."""
