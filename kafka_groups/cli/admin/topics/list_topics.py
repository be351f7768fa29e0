"""`kafka-groups topics list`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.topics import TopicEntry

if TYPE_CHECKING:
    from kafka_groups.admin import TopicListing

__all__ = ["list_topics"]


@click.command("list")
@click.option("--internal", is_flag=True, help="Print also Kafka's own topics, such as __consumer_offsets.")
@answer_options
@connecting
def list_topics(connection: BrokerChoice, form: AnswerForm, *, internal: bool) -> None:
    """Print each topic that you may describe."""
    answer = CommandAnswer[TopicEntry](form)
    with asking(connection, answer) as admin:
        answer.items += map(_entry, admin.list_topics(include_internal=internal))
    answer.tell(_TABLE.lines, lambda each: each.topic)


def _entry(topic: "TopicListing") -> TopicEntry:
    topic_id = None if topic.topic_id is None else str(topic.topic_id)
    return TopicEntry(topic.name, topic_id, topic.partitions, topic.replication_factor, topic.is_internal)


def _row(topic: TopicEntry) -> Sequence[str]:
    return topic.topic, str(topic.partition_count), str(topic.replication_factor)


_TABLE: Final = AnswerTable[TopicEntry](("TOPIC", "PARTITIONS", "REPLICAS"), _row, ("PARTITIONS", "REPLICAS"))
