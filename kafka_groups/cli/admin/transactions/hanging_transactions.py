"""`kafka-groups transactions hanging`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.transactions import HangingTransactionEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.text_tables import UNKNOWN
from kafka_groups.cli.times import shown_ms

if TYPE_CHECKING:
    from kafka_groups.admin import HangingTransaction

__all__ = ["hanging"]

_LONGER_THAN_S: Final = 900.0
"""The brokers' default of `transaction.max.timeout.ms`."""


@click.command()
@click.option(
    "--topic", "topics", multiple=True, metavar="TOPIC", help="Search this topic. Repeatable.  [default: all]"
)
@click.option(
    "--longer-than",
    type=click.FloatRange(0),
    default=_LONGER_THAN_S,
    metavar="SECONDS",
    help="Only transactions whose producers have written nothing for longer. Give at least transaction.max.timeout.ms "
    "of the brokers.",
)
@answer_options
@connecting
def hanging(connection: BrokerChoice, form: AnswerForm, topics: tuple[str, ...], longer_than: float) -> None:
    """Print transactions that hang: open in a partition, and unknown to their coordinators.

    Readers of committed records wait for them. `transactions abort` ends one. You need READ on the topics, and DESCRIBE
    on all transactional ids: a transaction whose id you may not describe looks like one that hangs.

    The exit status is 1 if a partition could not be searched.
    """
    answer = CommandAnswer[HangingTransactionEntry](form)
    with asking(connection, answer) as admin:
        found = admin.find_hanging_transactions(topics or None, longer_than_ms=round(longer_than * 1_000))
        answer.items += map(_entry, found.transactions)
        for place, error in found.errors.items():
            answer.fail(problem_of(f"{place.topic}:{place.partition}", error))
    answer.tell(_TABLE.lines, lambda each: f"{each.topic}:{each.partition}")


def _entry(found: "HangingTransaction") -> HangingTransactionEntry:
    return HangingTransactionEntry(
        found.partition.topic,
        found.partition.partition,
        found.start_offset,
        found.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.last_timestamp_ms,
        found.coordinator_epoch,
    )


def _row(entry: HangingTransactionEntry) -> Sequence[str]:
    return (
        f"{entry.topic}:{entry.partition}",
        str(entry.start_offset),
        entry.transactional_id or UNKNOWN,
        str(entry.producer_id),
        str(entry.producer_epoch),
        shown_ms(entry.last_ms),
    )


_TABLE: Final = AnswerTable[HangingTransactionEntry](
    ("PARTITION", "BEGINS", "TRANSACTIONAL ID", "PRODUCER ID", "EPOCH", "LAST TIME"),
    _row,
    ("BEGINS", "PRODUCER ID", "EPOCH"),
)
