"""`kafka-groups streams offsets delete`."""

from typing import TYPE_CHECKING

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.offset_tables import DELETED_OFFSETS, named_partition
from kafka_groups.cli.admin.streams_groups.topology_option import topology_option
from kafka_groups.cli.admin.topic_options import chosen_topics, topic_options
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.documents.moved_offsets import DeletedOffsetEntry
from kafka_groups.cli.problems import CommandProblem

if TYPE_CHECKING:
    from kafka_groups.streams import Topology

__all__ = ["delete"]


@click.command()
@click.argument("group")
@topic_options
@topology_option
@answer_options
@connecting
def delete(
    connection: BrokerChoice,
    form: AnswerForm,
    group: str,
    input_topics: tuple[str, ...],
    topology: "Topology | None",
    *,
    all_input_topics: bool,
) -> None:
    """Make GROUP forget its committed offsets of topics that it does not read at the moment.

    The exit status is 1 if an offset was not deleted.
    """
    topics = chosen_topics(input_topics, all_input_topics=all_input_topics)
    answer = CommandAnswer[DeletedOffsetEntry](form)
    with asking(connection, answer, group) as admin:
        deleted = admin.delete_streams_group_offsets(group, topics, topology=topology)
        answer.take(
            deleted,
            lambda place, _none: DeletedOffsetEntry(group, place.topic, place.partition),
            lambda place: f"{group} {named_partition(place.topic, place.partition)}",
        )
        if not len(deleted):
            answer.fail(CommandProblem(group, "It has no input topics."))
    answer.tell(DELETED_OFFSETS.lines)
