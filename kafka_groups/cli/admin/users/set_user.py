"""`kafka-groups users set`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.users.mechanism_option import mechanism_option
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import is_terminal
from kafka_groups.cli.documents.users import UserEntry

if TYPE_CHECKING:
    from kafka_groups.admin.rules.user_values import ScramMechanism

__all__ = ["set_password"]

_FEWEST: Final = 4_096
_MOST: Final = 16_384


@click.command("set")
@click.argument("user")
@mechanism_option
@click.option(
    "--iterations",
    type=click.IntRange(_FEWEST, _MOST),
    default=_FEWEST,
    metavar="N",
    help="How often the password is hashed.",
)
@click.option(
    "--password-file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="A file whose first line is the password; - is standard input. Without it, the command asks on a terminal.",
)
@answer_options
@connecting
def set_password(
    connection: BrokerChoice,
    form: AnswerForm,
    user: str,
    mechanism: "ScramMechanism",
    iterations: int,
    password_file: TextIO | None,
) -> None:
    """Set a password of USER. The user has one for each mechanism.

    The name is without a type: ann is the principal User:ann in ACLs. The password is never an option, as other users
    of a machine see the options of its processes. It is not sent either: brokers get what they need to check it.
    Clients that are logged in stay so.

    The exit status is 1 if the password was not set.
    """
    from kafka_groups.admin import UserScramCredentialUpsertion  # noqa: PLC0415 - help texts need no client

    password = _asked_for(user) if password_file is None else _first_line(password_file)
    answer = CommandAnswer[UserEntry](form)
    with asking(connection, answer) as admin:
        done = admin.alter_users([UserScramCredentialUpsertion(user, mechanism, password, iterations)])
        answer.take(done, lambda name, _none: UserEntry(name, mechanism, iterations))
    answer.tell(_TABLE.lines)


def _asked_for(user: str) -> str:
    if not is_terminal():
        raise click.UsageError(
            "Nobody can be asked for the password, as standard input is not a terminal. Give --password-file."
        )
    given: str = click.prompt(f"Password of {user}", hide_input=True, confirmation_prompt=True, err=True)
    return given


def _first_line(file: TextIO) -> str:
    line = file.readline().rstrip("\r\n")
    if not line:
        raise click.BadParameter("The first line is empty, but it is the password.", param_hint="--password-file")
    return line


def _row(entry: UserEntry) -> Sequence[str]:
    return entry.user, entry.mechanism, str(entry.iterations)


_TABLE: Final = AnswerTable[UserEntry](("USER", "MECHANISM", "ITERATIONS"), _row, ("ITERATIONS",))
