"""`kafka-groups topics delete-records`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.topics.topic_arguments import RECORD_BOUND, RecordBound
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.documents.topics import LowWatermarkEntry
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.cli.problems import CommandProblem, problem_of
from kafka_groups.errors.texts import counted
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin

__all__ = ["delete_records"]

_ARGUMENT: Final = "TOPIC:PARTITION=OFFSET..."
_END: Final = "(end)"


@click.command("delete-records")
@click.argument("bounds", metavar=_ARGUMENT, nargs=-1, required=True, type=RECORD_BOUND)
@consent_options
@answer_options
@connecting
def delete_records(
    connection: BrokerChoice, form: AnswerForm, consent: Consent, bounds: tuple[RecordBound, ...]
) -> None:
    """Delete the oldest records of partitions: those before OFFSET, or all of them with `latest`.

    Other records stay, and keep their offsets. It asks on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if records of a partition were not deleted.
    """
    refuse_repeated(map(str, bounds), _ARGUMENT)
    consent.check()
    answer = CommandAnswer[LowWatermarkEntry](form)
    with asking(connection, answer) as admin:
        if consent.is_dry_run:
            _plan(admin, bounds, answer)
        else:
            consent.ask(f"Delete the oldest records of {counted(len(bounds), 'partition')}: {_shown(bounds)}?")
            _delete(admin, bounds, answer)
    answer.tell(_TABLE.lines)


def _shown(bounds: Iterable[RecordBound]) -> str:
    return ", ".join(f"{each} {'all' if each.before is None else f'before {each.before}'}" for each in bounds)


def _plan(admin: "KafkaAdmin", bounds: Iterable[RecordBound], answer: CommandAnswer[LowWatermarkEntry]) -> None:
    found = admin.describe_topics(dict.fromkeys(each.topic for each in bounds))
    for each in bounds:
        if each.topic in found.errors:
            answer.fail(problem_of(str(each), found.errors[each.topic]))
        elif each.partition >= len(found[each.topic].partitions):
            answer.fail(_no_partition(each, len(found[each.topic].partitions)))
        else:
            answer.items.append(LowWatermarkEntry(each.topic, each.partition, each.before))


def _no_partition(bound: RecordBound, count: int) -> CommandProblem:
    return CommandProblem(str(bound), f"Topic {bound.topic} has {counted(count, 'partition')}, from 0 to {count - 1}.")


def _delete(admin: "KafkaAdmin", bounds: Iterable[RecordBound], answer: CommandAnswer[LowWatermarkEntry]) -> None:
    done = admin.delete_records(
        {
            TopicPartition(each.topic, each.partition): "latest" if each.before is None else each.before
            for each in bounds
        }
    )
    answer.take(
        done,
        lambda place, before: LowWatermarkEntry(place.topic, place.partition, before),
        lambda place: f"{place.topic}:{place.partition}",
    )


def _row(entry: LowWatermarkEntry) -> Sequence[str]:
    return entry.topic, str(entry.partition), _END if entry.before is None else str(entry.before)


_TABLE: Final = AnswerTable[LowWatermarkEntry](
    ("TOPIC", "PARTITION", "FIRST OFFSET"), _row, ("PARTITION", "FIRST OFFSET")
)
