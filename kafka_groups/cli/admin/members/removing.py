"""`kafka-groups members remove`."""

from collections.abc import Sequence
from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.removed_members import RemovedMemberEntry
from kafka_groups.cli.text_tables import one_line

__all__ = ["remove"]


@click.command()
@click.argument("group")
@click.option("--instance", "instances", multiple=True, metavar="ID", help="A static member's instance id. Repeatable.")
@click.option("--everyone", is_flag=True, help="Remove all members, static or not.")
@click.option("--reason", help="Why, for the broker's log.")
@answer_options
@connecting
def remove(
    connection: BrokerChoice,
    form: AnswerForm,
    group: str,
    instances: tuple[str, ...],
    reason: str | None,
    *,
    everyone: bool,
) -> None:
    """Remove members from GROUP, so that others get their partitions at once.

    The exit status is 1 if a member could not be removed.
    """
    if bool(instances) == everyone:
        raise click.UsageError("Give either --instance, once or several times, or --everyone.")
    answer = CommandAnswer[RemovedMemberEntry](form)
    with asking(connection, answer, group) as admin:
        removed = admin.remove_members(group, "everyone" if everyone else instances, reason=reason)
        answer.take(
            removed, lambda _name, member: RemovedMemberEntry(group, member.member_id or None, member.instance_id)
        )
        if not len(removed):
            click.echo(f"{group}: has no members", err=True)
    answer.tell(_TABLE.lines)


def _row(member: RemovedMemberEntry) -> Sequence[str]:
    return one_line(member.instance), one_line(member.member)


_TABLE: Final = AnswerTable[RemovedMemberEntry](("REMOVED INSTANCE", "MEMBER"), _row)
