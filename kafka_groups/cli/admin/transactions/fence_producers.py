"""`kafka-groups transactions fence`."""

from collections.abc import Sequence
from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.documents.transactions import FencedProducerEntry
from kafka_groups.cli.text_tables import shown_number
from kafka_groups.errors.texts import counted

__all__ = ["fence"]


@click.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@consent_options
@answer_options
@connecting
def fence(connection: BrokerChoice, form: AnswerForm, consent: Consent, ids: tuple[str, ...]) -> None:
    """Fence the producers of transactional ids, and abort their open transactions.

    A producer that is running gets an error with its next request. An id that does not exist is created, but --dry-run
    says that it does not exist. It asks on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if the producers of an id were not fenced.
    """
    consent.check()
    names = list(dict.fromkeys(ids))
    answer = CommandAnswer[FencedProducerEntry](form)
    with asking(connection, answer) as admin:
        if consent.is_dry_run:
            answer.take(admin.describe_transactions(names), lambda name, _found: FencedProducerEntry(name, None, None))
        else:
            consent.ask(f"Fence the producers of {counted(len(names), 'transactional id')}: {', '.join(names)}?")
            answer.take(
                admin.fence_producers(names),
                lambda name, found: FencedProducerEntry(name, found.producer_id, found.producer_epoch),
            )
    answer.tell(_TABLE.lines)


def _row(entry: FencedProducerEntry) -> Sequence[str]:
    return entry.transactional_id, shown_number(entry.producer_id), shown_number(entry.producer_epoch)


_TABLE: Final = AnswerTable[FencedProducerEntry](
    ("TRANSACTIONAL ID", "PRODUCER ID", "EPOCH"), _row, ("PRODUCER ID", "EPOCH")
)
