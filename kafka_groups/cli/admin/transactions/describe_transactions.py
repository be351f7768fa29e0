"""`kafka-groups transactions describe`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.transactions import TransactionContents, TransactionPartitionEntry
from kafka_groups.cli.text_tables import UNKNOWN
from kafka_groups.cli.times import shown_ms

if TYPE_CHECKING:
    from kafka_groups.admin import TransactionDescription

__all__ = ["describe"]


@click.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@answer_options
@connecting
def describe(connection: BrokerChoice, form: AnswerForm, ids: tuple[str, ...]) -> None:
    """Print transactional ids with their current transactions.

    The exit status is 1 if an id could not be described.
    """
    answer = CommandAnswer[TransactionContents](form)
    with asking(connection, answer) as admin:
        answer.take(admin.describe_transactions(dict.fromkeys(ids)), lambda _id, found: _contents(found))
    answer.tell(_TABLE.lines, lambda each: each.transactional_id)


def _contents(found: "TransactionDescription") -> TransactionContents:
    return TransactionContents(
        found.transactional_id,
        found.state,
        found.producer_id,
        found.producer_epoch,
        found.timeout_ms,
        found.start_ms,
        tuple(TransactionPartitionEntry(each.topic, each.partition) for each in found.partitions),
    )


def _row(entry: TransactionContents) -> Sequence[str]:
    partitions = ",".join(f"{each.topic}:{each.partition}" for each in entry.partitions)
    numbers = entry.producer_id, entry.producer_epoch, entry.timeout_ms
    return entry.transactional_id, entry.state, *map(str, numbers), shown_ms(entry.start_ms), partitions or UNKNOWN


_TABLE: Final = AnswerTable[TransactionContents](
    ("TRANSACTIONAL ID", "STATE", "PRODUCER ID", "EPOCH", "TIMEOUT MS", "BEGAN", "PARTITIONS"),
    _row,
    ("PRODUCER ID", "EPOCH", "TIMEOUT MS"),
)
