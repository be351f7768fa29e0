"""`kafka-groups streams offsets reset`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.offsets.offset_tables import named_partition
from kafka_groups.cli.admin.reset_options import ResetOptions, reset_options
from kafka_groups.cli.admin.streams_groups.topology_option import owned_topics, topology_option
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.moved_offsets import StreamsResetEntry
from kafka_groups.cli.problems import CommandProblem
from kafka_groups.cli.text_tables import one_line, shown_number

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin, Results
    from kafka_groups.streams import Topology

__all__ = ["reset"]


@click.command()
@click.argument("group")
@reset_options
@topology_option
@answer_options
@connecting
def reset(connection: BrokerChoice, form: AnswerForm, group: str, topology: "Topology | None", **given: Any) -> None:
    """Move the committed offsets of GROUP, which must have no members.

    Say where to with exactly one of the options --to-earliest to --from-file, which topics with --all-input-topics or
    --input-topic, and give --execute, or --dry-run to see what would be done.

    The stores and repartition topics of the application still have what it made of earlier records. Delete its internal
    topics with --delete-all-internal-topics or --delete-internal-topic, and remove the local state of its instances.

    The exit status is 1 if a partition was not moved, or a topic not deleted. No topic is deleted if a partition was
    not moved.
    """
    options = ResetOptions.read(given)
    if options.exports and form is not AnswerForm.TABLE:
        raise click.UsageError("--export prints CSV: leave --json and --quiet out.")
    answer = CommandAnswer[StreamsResetEntry](form)
    with asking(connection, answer, group) as admin:
        if _has_internal_topics(admin, group, topology, options.internal_topics, answer):
            _reset(admin, group, topology, options, answer)
    answer.tell(_exported if options.exports else _TABLE.lines)


def _has_internal_topics(
    admin: "KafkaAdmin",
    group: str,
    topology: "Topology | None",
    names: Iterable[str],
    answer: CommandAnswer[StreamsResetEntry],
) -> bool:
    """Find a wrong name before the group is moved."""
    known = owned_topics(admin, group, topology) if names else ()
    wrong = [name for name in names if name not in known]
    for name in wrong:
        others = f"Those are {', '.join(known) or 'none'}."
        answer.fail(CommandProblem(group, f"{name} is not an internal topic of {group}.", others))
    return not wrong


def _reset(
    admin: "KafkaAdmin",
    group: str,
    topology: "Topology | None",
    options: ResetOptions,
    answer: CommandAnswer[StreamsResetEntry],
) -> None:
    moved = admin.reset_streams_group_offsets(
        group, options.to, options.topics, shift_by=options.shift_by, dry_run=options.is_dry_run, topology=topology
    )
    if not len(moved):
        answer.fail(CommandProblem(group, "It has no input topics."))
    answer.take(
        moved,
        lambda place, offset: StreamsResetEntry(group, place.topic, place.partition, offset, deleted=False),
        lambda place: f"{group} {named_partition(place.topic, place.partition)}",
    )
    if not answer.problems:
        deleted = _without_topics(admin, group, topology, options)
        answer.take(deleted, lambda name, _none: StreamsResetEntry(group, name, None, None, deleted=True))


def _without_topics(
    admin: "KafkaAdmin", group: str, topology: "Topology | None", options: ResetOptions
) -> "Results[str, None]":
    from kafka_groups.admin import Results  # noqa: PLC0415 - help texts need no client

    if options.deletes_all_internal_topics:
        return admin.delete_streams_group_internal_topics(group, topology=topology)
    if options.internal_topics:
        return admin.delete_streams_group_internal_topics(group, options.internal_topics, topology=topology)
    return Results()


def _exported(entries: Iterable[StreamsResetEntry]) -> Iterator[str]:
    return (f"{each.topic},{each.partition},{each.offset}" for each in entries if not each.deleted)


def _row(entry: StreamsResetEntry) -> Sequence[str]:
    offset = "deleted" if entry.deleted else shown_number(entry.offset)
    return one_line(entry.group), entry.topic, shown_number(entry.partition), offset


_TABLE: Final = AnswerTable[StreamsResetEntry](
    ("GROUP", "TOPIC", "PARTITION", "NEW OFFSET"), _row, ("PARTITION", "NEW OFFSET")
)
