"""`kafka-groups users remove`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.users.mechanism_option import mechanism_option
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.documents.users import CredentialEntry
from kafka_groups.cli.problems import CommandProblem

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin
    from kafka_groups.admin.rules.user_values import ScramMechanism

__all__ = ["remove"]


@click.command()
@click.argument("user")
@mechanism_option
@consent_options
@answer_options
@connecting
def remove(
    connection: BrokerChoice, form: AnswerForm, consent: Consent, user: str, mechanism: "ScramMechanism"
) -> None:
    """Remove a password of USER.

    Nobody can log in with it any more. Clients that are logged in stay so.

    It asks on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if the user has no such password.
    """
    from kafka_groups.admin import UserScramCredentialDeletion  # noqa: PLC0415 - help texts need no client

    consent.check()
    answer = CommandAnswer[CredentialEntry](form)
    with asking(connection, answer) as admin:
        if consent.is_dry_run:
            _look(admin, user, mechanism, answer)
        else:
            consent.ask(f"Remove the password of {user} for {mechanism}?")
            done = admin.alter_users([UserScramCredentialDeletion(user, mechanism)])
            answer.take(done, lambda name, _none: CredentialEntry(name, mechanism))
    answer.tell(_TABLE.lines)


def _look(admin: "KafkaAdmin", user: str, mechanism: "ScramMechanism", answer: CommandAnswer[CredentialEntry]) -> None:
    found = admin.describe_users([user])
    answer.take(found, None)
    for each in found.values.values():
        if mechanism in each.iterations:
            answer.items.append(CredentialEntry(user, mechanism))
        else:
            answer.fail(CommandProblem(user, f"The user has no password for {mechanism}"))


def _row(entry: CredentialEntry) -> Sequence[str]:
    return entry.user, entry.mechanism


_TABLE: Final = AnswerTable[CredentialEntry](("REMOVED USER", "MECHANISM"), _row)
