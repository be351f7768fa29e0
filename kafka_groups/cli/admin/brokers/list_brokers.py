"""`kafka-groups brokers list`."""

from collections.abc import Sequence
from typing import Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.described_brokers import BrokerEntry
from kafka_groups.cli.text_tables import one_line

__all__ = ["list_brokers"]


@click.command("list")
@answer_options
@connecting
def list_brokers(connection: BrokerChoice, form: AnswerForm) -> None:
    """Print each broker that runs."""
    answer = CommandAnswer[BrokerEntry](form)
    with asking(connection, answer) as admin:
        answer.items += [
            BrokerEntry(each.node_id, each.host, each.port, each.rack) for each in admin.describe_cluster().brokers
        ]
    answer.tell(_TABLE.lines, lambda each: str(each.broker))


def _row(broker: BrokerEntry) -> Sequence[str]:
    return str(broker.broker), broker.host, str(broker.port), one_line(broker.rack)


_TABLE: Final = AnswerTable[BrokerEntry](("BROKER", "HOST", "PORT", "RACK"), _row, ("BROKER", "PORT"))
