"""`kafka-groups streams delete`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.streams_groups.topology_option import topology_option
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.described_groups import DeletedStreamsEntry
from kafka_groups.cli.text_tables import one_line

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin
    from kafka_groups.streams import Topology

__all__ = ["delete"]


@click.command()
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@click.option(
    "--delete-all-internal-topics", is_flag=True, help="Delete their changelogs and repartition topics first."
)
@topology_option
@answer_options
@connecting
def delete(
    connection: BrokerChoice,
    form: AnswerForm,
    group_ids: tuple[str, ...],
    topology: "Topology | None",
    *,
    delete_all_internal_topics: bool,
) -> None:
    """Delete streams groups that have no members, and their committed offsets.

    With --topology, delete classic groups of that application.

    A group whose internal topics were to be deleted, but could not be, stays.

    The exit status is 1 if a group or a topic was not deleted.
    """
    answer = CommandAnswer[DeletedStreamsEntry](form)
    with asking(connection, answer) as admin:
        names = list(dict.fromkeys(group_ids))
        if delete_all_internal_topics:
            names = [name for name in names if _has_deleted_topics(admin, name, topology, answer)]
        if names:
            deleted = admin.delete_streams_groups(names, topology=topology)
            answer.take(deleted, lambda name, _none: DeletedStreamsEntry("group", name))
    answer.tell(_DELETED.lines)


def _has_deleted_topics(
    admin: "KafkaAdmin", group: str, topology: "Topology | None", answer: CommandAnswer[DeletedStreamsEntry]
) -> bool:
    """Delete the internal topics of a group. Return whether none of them is left."""
    before = len(answer.problems)
    with answer.failing_for(group):
        deleted = admin.delete_streams_group_internal_topics(group, topology=topology)
        answer.take(deleted, lambda name, _none: DeletedStreamsEntry("topic", name))
    return len(answer.problems) == before


def _deleted_row(entry: DeletedStreamsEntry) -> Sequence[str]:
    return entry.kind, one_line(entry.name)


_DELETED: Final = AnswerTable[DeletedStreamsEntry](("DELETED", "NAME"), _deleted_row)
