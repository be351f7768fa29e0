"""`kafka-groups members remove`."""

import click

from kafka_groups.admin import RemovedMember
from kafka_groups.cli.admin.connection import BrokerChoice, connected, connecting, report

__all__ = ["remove"]


@click.command()
@click.argument("group")
@click.option("--instance", "instances", multiple=True, metavar="ID", help="A static member's instance id. Repeatable.")
@click.option("--everyone", is_flag=True, help="Remove all members, static or not.")
@click.option("--reason", help="Why, for the broker's log.")
@connecting
def remove(
    connection: BrokerChoice, group: str, instances: tuple[str, ...], reason: str | None, *, everyone: bool
) -> None:
    """Remove members from GROUP, so that others get their partitions at once.

    The exit status is 1 if a member could not be removed.
    """
    if bool(instances) == everyone:
        raise click.UsageError("Give either --instance, once or several times, or --everyone.")
    with connected(connection) as admin:
        removed = admin.remove_members(group, "everyone" if everyone else instances, reason=reason)
    report(removed, _removed, nothing=f"{group}: has no members")


def _removed(name: str, member: RemovedMember) -> str:
    return f"{name}: removed" + ("" if member.instance_id is not None else " (not a static member)")
