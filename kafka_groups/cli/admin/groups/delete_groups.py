"""`kafka-groups groups delete`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.described_groups import DeletedGroupEntry
from kafka_groups.cli.problems import CommandProblem

if TYPE_CHECKING:
    from kafka_groups.admin import GroupDescription, KafkaAdmin

__all__ = ["delete"]

_OF_STREAMS: Final = "stream"
"""The protocol of the members of a streams application in a classic group."""


@click.command()
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@answer_options
@connecting
def delete(connection: BrokerChoice, form: AnswerForm, group_ids: tuple[str, ...]) -> None:
    """Delete share, consumer and classic groups that have no members, and their offsets.

    Streams groups have topics of their own: `streams delete` deletes them.

    The exit status is 1 if a group was not deleted.
    """
    answer = CommandAnswer[DeletedGroupEntry](form)
    with asking(connection, answer) as admin:
        names = list(dict.fromkeys(group_ids))
        of_streams = _streams_groups(admin, names)
        for name, command in of_streams.items():
            answer.fail(_belongs_to_streams(name, command))
        others = [name for name in names if name not in of_streams]
        if others:
            answer.take(admin.delete_groups(others), lambda name, _none: DeletedGroupEntry(name))
    answer.tell(_TABLE.lines)


def _streams_groups(admin: "KafkaAdmin", names: Sequence[str]) -> dict[str, str]:
    """Return the groups of streams applications, and the command that deletes each."""
    commands = {name: _command(group) for name, group in admin.describe_groups(names).values.items()}
    return {name: command for name, command in commands.items() if command is not None}


def _command(group: "GroupDescription") -> str | None:
    from kafka_groups.admin import ClassicGroupDescription  # noqa: PLC0415 - help texts need no client

    if group.type == "streams":
        return f"kafka-groups streams delete {group.group_id}"
    if isinstance(group, ClassicGroupDescription) and group.protocol == _OF_STREAMS:
        return f"kafka-groups streams delete {group.group_id} --topology MODULE:FUNCTION"
    return None


def _belongs_to_streams(name: str, command: str) -> CommandProblem:
    return CommandProblem(
        name, "It is the group of a streams application, which has topics of its own.", f"Delete it with {command}"
    )


def _row(group: DeletedGroupEntry) -> Sequence[str]:
    return (group.group,)


_TABLE: Final = AnswerTable[DeletedGroupEntry](("DELETED GROUP",), _row)
