"""`kafka-groups streams offsets alter`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.offset_tables import MOVED_OFFSETS, named_partition
from kafka_groups.cli.admin.streams_groups.topology_option import topology_option
from kafka_groups.cli.admin.topic_options import topic_partitions
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.moved_offsets import MovedOffsetEntry
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, Results
    from kafka_groups.streams import Topology

__all__ = ["alter"]


@click.command()
@click.argument("group")
@click.argument("given", metavar="TOPIC:PARTITION=OFFSET...", nargs=-1, required=True)
@topology_option
@dry_run_option
@answer_options
@connecting
def alter(
    connection: BrokerChoice,
    form: AnswerForm,
    group: str,
    given: tuple[str, ...],
    topology: "Topology | None",
    *,
    dry_run: bool,
) -> None:
    """Set committed offsets of GROUP, which must have no members.

    The exit status is 1 if an offset was not set.
    """
    pairs = [_offset(text) for text in given]
    refuse_repeated([str(partition) for partition, _ in pairs], "TOPIC:PARTITION=OFFSET...")
    wanted = dict(pairs)

    def entry(place: TopicPartition, _: object) -> MovedOffsetEntry:
        return MovedOffsetEntry(group, place.topic, place.partition, wanted[place])

    answer = CommandAnswer[MovedOffsetEntry](form)
    with asking(connection, answer, group) as admin:
        # The question shows mistakes in the names of the group and the topics.
        ask = _questioned if dry_run else _altered
        answer.take(
            ask(admin, group, wanted, topology),
            entry,
            lambda place: f"{group} {named_partition(place.topic, place.partition)}",
        )
    answer.tell(MOVED_OFFSETS.lines)


def _questioned(
    admin: "KafkaAdmin", group: str, wanted: Mapping[TopicPartition, int], topology: "Topology | None"
) -> "Results[TopicPartition, Any]":
    return admin.describe_streams_group_offsets({group: list(wanted)}, topology=topology)[group]


def _altered(
    admin: "KafkaAdmin", group: str, wanted: Mapping[TopicPartition, int], topology: "Topology | None"
) -> "Results[TopicPartition, Any]":
    return admin.alter_streams_group_offsets(group, wanted, topology=topology)


def _offset(text: str) -> tuple[TopicPartition, int]:
    place, _, offset = text.rpartition("=")
    partitions = [each for each in topic_partitions(place) if isinstance(each, TopicPartition)]
    if len(partitions) != 1 or not offset.isdecimal():
        raise click.UsageError(f"{text!r} is not of the form TOPIC:PARTITION=OFFSET.")
    return partitions[0], int(offset)
