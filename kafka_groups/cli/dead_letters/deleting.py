"""`kafka-groups dead-letters delete`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.dead_letters.topic_use import using_topic
from kafka_groups.cli.documents.dead_letters import DeletedRecordsEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.times import TIME, shown_ms
from kafka_groups.errors.texts import counted

if TYPE_CHECKING:
    from kafka_groups.share.dead_letters.topic import DeadLetterTopic, RecordsToDelete

__all__ = ["delete"]

_PREFIX_ONLY: Final = (
    "Kafka deletes records from the beginning of a partition only, so single dead letters cannot be deleted."
)


@click.command()
@click.argument("topic")
@click.option("--before", type=TIME, metavar="TIME", help="Delete those before this time: 2026-01-31T12:00:00, in UTC.")
@click.option("--all", "everything", is_flag=True, help="Delete all that there are.")
@consent_options
@answer_options
@connecting
def delete(
    connection: BrokerChoice,
    form: AnswerForm,
    consent: Consent,
    topic: str,
    before: int | None,
    *,
    everything: bool,
) -> None:
    """Delete the oldest records of TOPIC, or all of them.

    Kafka deletes records from the beginning of a partition only, so single dead letters cannot be deleted. The
    programs that write to the topic set its times: a partition is deleted up to its first record from TIME on.

    It asks on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if records of a partition were not deleted.
    """
    if everything == (before is not None):
        raise click.UsageError(f"Give either --before or --all. {_PREFIX_ONLY}")
    consent.check()
    answer = CommandAnswer[DeletedRecordsEntry](form)

    async def run(found: "DeadLetterTopic") -> None:
        records = [each for each in await found.to_delete(before) if each.count]
        if not consent.is_dry_run and records:
            consent.ask(_question(topic, records, before))
            await _delete(found, records, answer)
        failed = {problem.resource for problem in answer.problems}
        answer.items += [_entry(each) for each in records if str(each.partition) not in failed]

    with answer.failing_for(topic):
        using_topic(connection, topic, run)
        if not answer.items and not answer.problems:
            click.echo(f"{topic}: there is nothing to delete.", err=True)
    answer.tell(_TABLE.lines)


def _question(topic: str, records: Sequence["RecordsToDelete"], before: int | None) -> str:
    count = counted(sum(each.count for each in records), "record")
    which = "all" if before is None else f"those before {shown_ms(before)}"
    return f"Delete {count} of {topic}, {which}?"


async def _delete(
    topic: "DeadLetterTopic", records: Sequence["RecordsToDelete"], answer: CommandAnswer[DeletedRecordsEntry]
) -> None:
    for partition, error in (await topic.delete(records)).items():
        answer.fail(problem_of(str(partition), error))


def _entry(records: "RecordsToDelete") -> DeletedRecordsEntry:
    place = records.partition
    return DeletedRecordsEntry(place.topic, place.partition, records.begin, records.before)


def _row(entry: DeletedRecordsEntry) -> Sequence[str]:
    return str(entry.partition), str(entry.begin), str(entry.before)


_TABLE: Final = AnswerTable[DeletedRecordsEntry](("PARTITION", "FROM", "BEFORE"), _row, ("PARTITION", "FROM", "BEFORE"))
