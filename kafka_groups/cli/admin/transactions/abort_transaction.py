"""`kafka-groups transactions abort`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.transactions.transaction_options import PLACE
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.documents.transactions import AbortedTransactionEntry
from kafka_groups.cli.problems import CommandProblem
from kafka_groups.cli.times import shown_ms
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin

__all__ = ["abort"]


@click.command()
@click.argument("place", metavar="TOPIC:PARTITION", type=PLACE)
@click.option(
    "--start-offset",
    "offset",
    type=click.IntRange(0),
    required=True,
    metavar="OFFSET",
    help="The offset at which the transaction begins, as `transactions hanging` and `transactions producers` print it.",
)
@consent_options
@answer_options
@connecting
def abort(connection: BrokerChoice, form: AnswerForm, consent: Consent, place: TopicPartition, offset: int) -> None:
    """Abort a hanging transaction in one partition, past its coordinator.

    Use it for a transaction that `transactions hanging` prints. The coordinator of one that still runs could commit it
    in the other partitions: use `transactions fence` for that. It first shows the producer and its last write, and asks
    on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if no such transaction is open, or it was not aborted.
    """
    consent.check()
    name = f"{place.topic}:{place.partition}"
    answer = CommandAnswer[AbortedTransactionEntry](form)
    with asking(connection, answer, name) as admin:
        found = _open_transaction(admin, place, offset)
        if found is None:
            answer.fail(_not_open(name, offset))
        else:
            if not consent.is_dry_run:
                consent.ask(_question(name, found))
                admin.abort_transaction(place, offset)
            answer.items.append(found)
    answer.tell(_TABLE.lines)


def _open_transaction(admin: "KafkaAdmin", place: TopicPartition, offset: int) -> AbortedTransactionEntry | None:
    for each in admin.describe_producers([place])[place]:
        if each.transaction_start_offset == offset:
            return AbortedTransactionEntry(
                place.topic, place.partition, offset, each.producer_id, each.producer_epoch, each.last_timestamp_ms
            )
    return None


def _not_open(name: str, offset: int) -> CommandProblem:
    remedy = f"See where open ones begin: kafka-groups transactions producers {name}"
    return CommandProblem(name, f"No open transaction begins at offset {offset}", remedy)


def _question(name: str, found: AbortedTransactionEntry) -> str:
    return (
        f"Abort the transaction that begins at offset {found.start_offset} of {name}? Its producer {found.producer_id},"
        f" in epoch {found.producer_epoch}, wrote last at {shown_ms(found.last_ms)}."
    )


def _row(entry: AbortedTransactionEntry) -> Sequence[str]:
    numbers = entry.start_offset, entry.producer_id, entry.producer_epoch
    return f"{entry.topic}:{entry.partition}", *map(str, numbers), shown_ms(entry.last_ms)


_TABLE: Final = AnswerTable[AbortedTransactionEntry](
    ("PARTITION", "BEGINS", "PRODUCER ID", "EPOCH", "LAST TIME"), _row, ("BEGINS", "PRODUCER ID", "EPOCH")
)
