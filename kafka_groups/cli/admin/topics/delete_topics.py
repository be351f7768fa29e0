"""`kafka-groups topics delete`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.documents.topics import DeletedTopicEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.errors import UnknownTopicOrPartitionError
from kafka_groups.errors.texts import counted

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, Results

__all__ = ["delete"]


@click.command()
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True)
@click.option("--if-exists", is_flag=True, help="Topics that do not exist are no error.")
@consent_options
@answer_options
@connecting
def delete(
    connection: BrokerChoice, form: AnswerForm, consent: Consent, names: tuple[str, ...], *, if_exists: bool
) -> None:
    """Delete topics with all their records.

    It asks on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if a topic was not deleted.
    """
    consent.check()
    answer = CommandAnswer[DeletedTopicEntry](form)
    with asking(connection, answer) as admin:
        found = _found(admin, list(dict.fromkeys(names)), consent)
        answer.items += map(DeletedTopicEntry, found.values)
        for name, error in found.errors.items():
            if not (if_exists and isinstance(error, UnknownTopicOrPartitionError)):
                answer.fail(problem_of(name, error))
    answer.tell(_TABLE.lines)


def _found(admin: "KafkaAdmin", names: Sequence[str], consent: Consent) -> "Results[str, Any]":
    """Delete topics, or say which there are."""
    if consent.is_dry_run:
        return admin.describe_topics(names)
    consent.ask(f"Delete {counted(len(names), 'topic')} with all records: {', '.join(names)}?")
    return admin.delete_topics(names)


def _row(topic: DeletedTopicEntry) -> Sequence[str]:
    return (topic.topic,)


_TABLE: Final = AnswerTable[DeletedTopicEntry](("DELETED TOPIC",), _row)
