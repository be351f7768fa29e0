"""`kafka-groups users list`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.users import UserEntry

if TYPE_CHECKING:
    from kafka_groups.admin import UserDescription

__all__ = ["list_users"]


@click.command("list")
@click.argument("names", metavar="[USER]...", nargs=-1)
@answer_options
@connecting
def list_users(connection: BrokerChoice, form: AnswerForm, names: tuple[str, ...]) -> None:
    """Print users with passwords for SCRAM.

    A user has a line for each mechanism to log in with.

    The exit status is 1 if a user has none.
    """
    answer = CommandAnswer[UserEntry](form)
    with asking(connection, answer) as admin:
        found = admin.describe_users(dict.fromkeys(names) or None)
        answer.take(found, None)
        answer.items += [entry for each in found.values.values() for entry in _entries(each)]
    if form is AnswerForm.NAMES:  # a user has a line for each mechanism, but one name
        answer.items = list({each.user: each for each in answer.items}.values())
    answer.tell(_TABLE.lines, lambda each: each.user)


def _entries(user: "UserDescription") -> Iterator[UserEntry]:
    for mechanism, iterations in sorted(user.iterations.items()):
        yield UserEntry(user.user, mechanism, iterations)


def _row(entry: UserEntry) -> Sequence[str]:
    return entry.user, entry.mechanism, str(entry.iterations)


_TABLE: Final = AnswerTable[UserEntry](("USER", "MECHANISM", "ITERATIONS"), _row, ("ITERATIONS",))
