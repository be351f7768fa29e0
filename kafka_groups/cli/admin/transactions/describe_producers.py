"""`kafka-groups transactions producers`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.transactions.transaction_options import PLACE
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.transactions import ProducerEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.text_tables import shown_number
from kafka_groups.cli.times import shown_ms
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    from kafka_groups.admin import PartitionProducer

__all__ = ["producers"]


@click.command()
@click.argument("places", metavar="TOPIC:PARTITION...", nargs=-1, required=True, type=PLACE)
@answer_options
@connecting
def producers(connection: BrokerChoice, form: AnswerForm, places: tuple[TopicPartition, ...]) -> None:
    """Print the producers that the leaders of partitions remember.

    BEGINS is the offset at which an open transaction begins, for `transactions abort`.

    The exit status is 1 if a partition could not be asked about.
    """
    answer = CommandAnswer[ProducerEntry](form)
    with asking(connection, answer) as admin:
        found = admin.describe_producers(dict.fromkeys(places))
        answer.items += [_entry(place, each) for place, remembered in found.values.items() for each in remembered]
        for place, error in found.errors.items():
            answer.fail(problem_of(f"{place.topic}:{place.partition}", error))
    answer.tell(_TABLE.lines, lambda each: str(each.producer_id))


def _entry(place: TopicPartition, producer: "PartitionProducer") -> ProducerEntry:
    return ProducerEntry(
        place.topic,
        place.partition,
        producer.producer_id,
        producer.producer_epoch,
        producer.last_sequence,
        producer.last_timestamp_ms,
        producer.coordinator_epoch,
        producer.transaction_start_offset,
    )


def _row(entry: ProducerEntry) -> Sequence[str]:
    return (
        f"{entry.topic}:{entry.partition}",
        str(entry.producer_id),
        str(entry.producer_epoch),
        shown_number(entry.last_sequence),
        shown_ms(entry.last_ms),
        shown_number(entry.coordinator_epoch),
        shown_number(entry.transaction_start_offset),
    )


_TABLE: Final = AnswerTable[ProducerEntry](
    ("PARTITION", "PRODUCER ID", "EPOCH", "LAST SEQUENCE", "LAST TIME", "COORDINATOR EPOCH", "BEGINS"),
    _row,
    ("PRODUCER ID", "EPOCH", "LAST SEQUENCE", "COORDINATOR EPOCH", "BEGINS"),
)
