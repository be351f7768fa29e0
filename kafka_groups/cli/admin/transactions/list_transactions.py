"""`kafka-groups transactions list`."""

from collections.abc import Sequence
from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.transactions.transaction_options import milliseconds
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.choices import AnyCase
from kafka_groups.cli.documents.transactions import TransactionEntry
from kafka_groups.cli.problems import problem_of

__all__ = ["list_transactions"]

_STATES: Final = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")


@click.command("list")
@click.option(
    "--state", "states", multiple=True, type=AnyCase(_STATES), help="Only transactional ids in this state. Repeatable."
)
@click.option(
    "--longer-than",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Only transactions that have been open for longer (Kafka 3.8).",
)
@answer_options
@connecting
def list_transactions(
    connection: BrokerChoice, form: AnswerForm, states: tuple[str, ...], longer_than: float | None
) -> None:
    """Print each transactional id that you may describe.

    The exit status is 1 if a broker did not answer. The ids that it coordinates are missing then.
    """
    answer = CommandAnswer[TransactionEntry](form)
    with asking(connection, answer) as admin:
        found = admin.list_transactions(states=states, open_for_ms=milliseconds(longer_than))
        answer.items += [
            TransactionEntry(each.transactional_id, each.state, each.producer_id) for each in found.transactions
        ]
        for node_id, error in found.errors.items():
            answer.fail(problem_of(f"broker {node_id}", error))
    answer.tell(_TABLE.lines, lambda each: each.transactional_id)


def _row(entry: TransactionEntry) -> Sequence[str]:
    return entry.transactional_id, entry.state, str(entry.producer_id)


_TABLE: Final = AnswerTable[TransactionEntry](("TRANSACTIONAL ID", "STATE", "PRODUCER ID"), _row, ("PRODUCER ID",))
