"""`kafka-groups groups describe`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.admin.groups.group_options import type_option
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.described_groups import (
    AssignedTopicEntry,
    GroupContents,
    GroupMemberEntry,
    GroupOffsetEntry,
)
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.text_tables import UNKNOWN, one_line, shown_number
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    from kafka_groups.admin import GroupDescription, KafkaAdmin, Results

    PartitionResults = Results[str, Results[TopicPartition, Any]]

__all__ = ["describe", "described_groups", "shown_assignment"]

MemberRow = tuple[str, GroupMemberEntry]
OffsetRow = tuple[str, GroupOffsetEntry]


@click.command()
@click.argument("group_ids", metavar="[GROUP]...", nargs=-1)
@click.option("--all-groups", is_flag=True, help="All groups that you may describe.")
@type_option
@click.option("--members", is_flag=True, help="Print also the members.")
@click.option("--offsets", is_flag=True, help="Print also the offset and lag in each partition.")
@answer_options
@connecting
def describe(
    connection: BrokerChoice,
    form: AnswerForm,
    group_ids: tuple[str, ...],
    *,
    members: bool,
    offsets: bool,
    **chosen: bool | tuple[str, ...],
) -> None:
    """Print the state, lag and number of members of groups of any type.

    The lag is the sum over partitions with an offset. With --json, members are always printed.

    The exit status is 1 if a group, or a partition of it, could not be described.
    """
    all_groups, types = chosen["all_groups"], chosen["types"]
    _check(group_ids, all_groups=bool(all_groups), types=bool(types))
    answer = CommandAnswer[GroupContents](form)
    with asking(connection, answer) as admin:
        names = _listed(admin, types, answer) if isinstance(types, tuple) and all_groups else group_ids
        answer.items += described_groups(admin, names, answer, with_offsets=offsets)
    answer.tell(lambda items: _lines(items, members=members, offsets=offsets), lambda each: each.group)


def _check(group_ids: Sequence[str], *, all_groups: bool, types: bool) -> None:
    if bool(group_ids) == all_groups:
        raise click.UsageError("Give either GROUP, once or several times, or --all-groups.")
    if types and not all_groups:
        raise click.UsageError("--type selects from all groups: give it with --all-groups.")


def _listed(admin: "KafkaAdmin", types: Iterable[str], answer: CommandAnswer[GroupContents]) -> Sequence[str]:
    found = admin.list_groups(types=types)
    for node_id, error in found.errors.items():
        answer.fail(problem_of(f"broker {node_id}", error))
    return [each.group_id for each in found.groups]


def described_groups(
    admin: "KafkaAdmin", names: Iterable[str], answer: CommandAnswer[GroupContents], *, with_offsets: bool
) -> Sequence[GroupContents]:
    """Return groups as entries. What cannot be described becomes an error of the answer."""
    from kafka_groups.cli.admin.groups.group_entries import contents_of  # noqa: PLC0415 - help texts need no client

    names = list(dict.fromkeys(names))
    if not names:
        return ()
    found = admin.describe_groups(names)
    offsets = _offsets(admin, found.values, answer) if with_offsets else {}
    answer.take(found, None)
    return [contents_of(group, offsets.get(name)) for name, group in found.values.items()]


def _offsets(
    admin: "KafkaAdmin", groups: Mapping[str, "GroupDescription"], answer: CommandAnswer[GroupContents]
) -> Mapping[str, Sequence[GroupOffsetEntry]]:
    from kafka_groups.cli.admin.groups.group_entries import offset_entries  # noqa: PLC0415 - as above

    entries = {}
    for name, found in _asked_offsets(admin, groups):
        if name in found.errors:
            answer.fail(problem_of(name, found.errors[name]))
            continue
        partitions = found.values[name]
        for place, error in partitions.errors.items():
            answer.fail(problem_of(f"{name} {place.topic}:{place.partition}", error))
        entries[name] = offset_entries(partitions.values)
    return entries


def _asked_offsets(
    admin: "KafkaAdmin", groups: Mapping[str, "GroupDescription"]
) -> Iterator[tuple[str, "PartitionResults"]]:
    """Return the offsets of each group, with the call of its type."""
    calls: Mapping[str, Callable[[Sequence[str]], PartitionResults]] = {
        "share": admin.describe_share_group_offsets,
        "streams": admin.describe_streams_group_offsets,
        "consumer": admin.describe_consumer_group_offsets,
        "classic": admin.describe_consumer_group_offsets,
    }
    for call in dict.fromkeys(calls.values()):
        names = [name for name, group in groups.items() if calls[group.type] == call]
        if names:
            found = call(names)
            yield from ((name, found) for name in names)


# --------------------------------------------------------------------------------------------------------- text


def _lines(groups: Sequence[GroupContents], *, members: bool, offsets: bool) -> Iterator[str]:
    yield from _GROUPS.lines(groups)
    if members and any(each.members for each in groups):
        yield ""
        yield from _MEMBERS.lines((group.group, each) for group in groups for each in group.members)
    if offsets and any(each.offsets for each in groups):
        yield ""
        yield from _OFFSETS.lines((group.group, each) for group in groups for each in group.offsets or ())


def _row(group: GroupContents) -> Sequence[str]:
    return (
        one_line(group.group),
        one_line(group.type),
        one_line(group.state),
        shown_number(group.lag),
        str(len(group.members)),
    )


def _member_row(given: MemberRow) -> Sequence[str]:
    group, member = given
    has = shown_assignment(member.assigned) if member.tasks is None else " ".join(member.tasks) or UNKNOWN
    who = member.member, member.instance, member.client, member.host
    return one_line(group), *map(one_line, who), has


def shown_assignment(assigned: Iterable[AssignedTopicEntry]) -> str:
    """Return partitions for a cell, such as `orders:0,1`."""
    return " ".join(f"{each.topic}:{','.join(map(str, each.partitions))}" for each in assigned) or UNKNOWN


def _offset_row(given: OffsetRow) -> Sequence[str]:
    group, place = given
    numbers = place.offset, place.end, place.lag
    return one_line(group), place.topic, str(place.partition), *map(shown_number, numbers)


_GROUPS: Final = AnswerTable[GroupContents](("GROUP", "TYPE", "STATE", "LAG", "MEMBERS"), _row, ("LAG", "MEMBERS"))
_MEMBERS: Final = AnswerTable[MemberRow](("GROUP", "MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNED"), _member_row)
_OFFSETS: Final = AnswerTable[OffsetRow](
    ("GROUP", "TOPIC", "PARTITION", "OFFSET", "END", "LAG"), _offset_row, ("PARTITION", "OFFSET", "END", "LAG")
)
