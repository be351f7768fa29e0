"""The commands of `kafka-groups groups`."""

import click

from kafka_groups.admin import ShareGroupDescription
from kafka_groups.cli.admin.connection import BrokerChoice, connected, connecting, report, report_states
from kafka_groups.cli.admin.groups.configs import configs_command
from kafka_groups.cli.choices import choosing_states

__all__ = ["configs", "delete", "describe", "list_groups"]

_STATES = ("Empty", "Stable", "Dead")


configs = configs_command("", "the share, consumer or streams group")


@click.command("list")
@choosing_states(*_STATES)
@connecting
def list_groups(connection: BrokerChoice, states: tuple[str, ...]) -> None:
    """Print each share group and its state.

    The exit status is 1 if a broker did not list its groups.
    """
    with connected(connection) as admin:
        listed = admin.list_share_groups(states=states)
    report_states({group.group_id: group.state for group in listed.groups}, listed.errors)


@click.command()
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@connecting
def describe(connection: BrokerChoice, group_ids: tuple[str, ...]) -> None:
    """Print the state, lag and members of share groups.

    The exit status is 1 if a group could not be described.
    """
    with connected(connection) as admin:
        described = admin.describe_share_groups(group_ids)
    report(described, _described)


def _described(_group_id: str, group: ShareGroupDescription) -> str:
    lag = "unknown" if group.total_lag is None else group.total_lag
    lines = [f"{group.group_id} {group.state} lag={lag} members={len(group.members)}"]
    lines += [f"  {each.member_id} {each.client_id} {each.client_host}" for each in group.members]
    return "\n".join(lines)


@click.command()
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@connecting
def delete(connection: BrokerChoice, group_ids: tuple[str, ...]) -> None:
    """Delete share groups that have no members.

    The exit status is 1 if a group was not deleted.
    """
    with connected(connection) as admin:
        deleted = admin.delete_share_groups(group_ids)
    report(deleted, lambda name, _none: f"{name}: deleted")
