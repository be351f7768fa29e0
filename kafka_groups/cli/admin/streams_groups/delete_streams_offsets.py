"""`kafka-groups streams offsets delete`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.offset_tables import DELETED_OFFSETS, named_partition
from kafka_groups.cli.admin.streams_groups.topology_option import topology_option
from kafka_groups.cli.admin.topic_options import chosen_topics, topic_options
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.moved_offsets import DeletedOffsetEntry
from kafka_groups.cli.problems import CommandProblem
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, Results
    from kafka_groups.streams import Topology

__all__ = ["delete"]


@click.command()
@click.argument("group")
@topic_options
@topology_option
@dry_run_option
@answer_options
@connecting
def delete(
    connection: BrokerChoice,
    form: AnswerForm,
    group: str,
    topology: "Topology | None",
    *,
    dry_run: bool,
    **chosen: Any,
) -> None:
    """Make GROUP forget its committed offsets of topics that it does not read at the moment.

    The exit status is 1 if an offset was not deleted.
    """
    topics = chosen_topics(**chosen)
    answer = CommandAnswer[DeletedOffsetEntry](form)
    with asking(connection, answer, group) as admin:
        deleted = (_chosen if dry_run else _deleted)(admin, group, topics, topology)
        answer.take(
            deleted,
            lambda place, _: DeletedOffsetEntry(group, place.topic, place.partition),
            lambda place: f"{group} {named_partition(place.topic, place.partition)}",
        )
        if not len(deleted):
            answer.fail(CommandProblem(group, _NO_OFFSETS if dry_run else "It has no input topics."))
    answer.tell(DELETED_OFFSETS.lines)


_NO_OFFSETS: Final = "It has no committed offsets of these topics."
_Topics = Sequence[str | TopicPartition] | None


def _deleted(
    admin: "KafkaAdmin", group: str, topics: _Topics, topology: "Topology | None"
) -> "Results[TopicPartition, Any]":
    return admin.delete_streams_group_offsets(group, topics, topology=topology)


def _chosen(
    admin: "KafkaAdmin", group: str, topics: _Topics, topology: "Topology | None"
) -> "Results[TopicPartition, Any]":
    """Return the committed offsets that would be deleted, unless a member reads their topic."""
    found = admin.describe_streams_group_offsets([group], topology=topology)[group]
    chosen = {
        place: offset
        for place, offset in found.values.items()
        if offset.offset is not None and (topics is None or place in topics or place.topic in topics)
    }
    return type(found)(chosen, found.errors)
