"""`kafka-groups streams offsets list`."""

from typing import TYPE_CHECKING

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.offset_tables import LISTED_OFFSETS, named_partition
from kafka_groups.cli.admin.streams_groups.topology_option import topology_option
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.documents.moved_offsets import ListedOffsetEntry

if TYPE_CHECKING:
    from kafka_groups.admin import StreamsGroupOffset
    from kafka_groups.streams import Topology
    from kafka_groups.types import TopicPartition

__all__ = ["list_offsets"]


@click.command("list")
@click.argument("group")
@topology_option
@answer_options
@connecting
def list_offsets(connection: BrokerChoice, form: AnswerForm, group: str, topology: "Topology | None") -> None:
    """Print the committed offset and lag of GROUP in each partition that it reads.

    The exit status is 1 if a partition could not be described.
    """

    def entry(place: "TopicPartition", found: "StreamsGroupOffset") -> ListedOffsetEntry:
        return ListedOffsetEntry(place.topic, place.partition, found.offset, found.end_offset, found.lag, group)

    answer = CommandAnswer[ListedOffsetEntry](form)
    with asking(connection, answer, group) as admin:
        found = admin.describe_streams_group_offsets([group], topology=topology)[group]
        answer.take(found, entry, lambda place: f"{group} {named_partition(place.topic, place.partition)}")
        if not len(found):
            click.echo(f"{group}: has no input topics", err=True)
    answer.tell(LISTED_OFFSETS.lines, lambda each: named_partition(each.topic, each.partition))
