"""`kafka-groups topics grow`."""

from collections.abc import Sequence
from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.topics.topic_arguments import TOPIC_AND_COUNT, TopicCount
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.topics import GrownTopicEntry
from kafka_groups.cli.key_value import refuse_repeated

__all__ = ["grow"]

_ARGUMENT: Final = "NAME:PARTITIONS..."


@click.command()
@click.argument("given", metavar=_ARGUMENT, nargs=-1, required=True, type=TOPIC_AND_COUNT)
@dry_run_option
@answer_options
@connecting
def grow(connection: BrokerChoice, form: AnswerForm, given: tuple[TopicCount, ...], *, dry_run: bool) -> None:
    """Add partitions to topics. PARTITIONS is the number that a topic will have.

    Partitions cannot be removed again. Records of a key that are written from then on may be in another partition than
    earlier ones.

    The exit status is 1 if a topic got no partitions.
    """
    refuse_repeated([each.topic for each in given], _ARGUMENT)
    totals = {each.topic: _total(each) for each in given}
    answer = CommandAnswer[GrownTopicEntry](form)
    with asking(connection, answer) as admin:
        grown = admin.create_partitions(totals, validate_only=dry_run)
        answer.take(grown, lambda name, _none: GrownTopicEntry(name, totals[name]))
    answer.tell(_TABLE.lines)


def _total(given: TopicCount) -> int:
    if given.count is None:
        raise click.BadParameter(
            f"{given.topic!r} has no number of partitions: give {given.topic}:PARTITIONS.", param_hint=_ARGUMENT
        )
    return given.count


def _row(topic: GrownTopicEntry) -> Sequence[str]:
    return topic.topic, str(topic.partition_count)


_TABLE: Final = AnswerTable[GrownTopicEntry](("TOPIC", "PARTITIONS"), _row, ("PARTITIONS",))
