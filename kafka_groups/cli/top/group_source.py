"""Groups as `top` shows them, from brokers alone: a row for each group."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from kafka_groups.admin.rules.any_groups import describe_any_groups, list_any_groups
from kafka_groups.admin.rules.group_values import GroupDescription
from kafka_groups.cli.documents.top import TOP_GROUP, TopGroupEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.cli.text_tables import UNKNOWN, cut_line, one_line, shown_number, table_lines
from kafka_groups.cli.top.group_rates import GroupMoment, GroupRates, rates_between
from kafka_groups.cli.top.looks import TopLook
from kafka_groups.client.calls.client import AdminClient
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TopicPartition

__all__ = ["GroupSource", "group_lines"]

_TIMEOUT_MS: Final = 10_000
_NUMBERS: Final = ("MEMBERS", "LAG", "ACKED/S", "ARRIVING/S")
_HEADINGS: Final = ("GROUP", "TYPE", "STATE", *_NUMBERS)


class GroupSource:
    """Asks brokers for groups and their lag, again and again.

    Args:
        client: Asks the brokers. Its owner closes it.
        group_ids: The groups; empty for all that may be described.
    """

    def __init__(self, client: AdminClient, group_ids: Sequence[str]) -> None:
        self._client = client
        self._group_ids = tuple(dict.fromkeys(group_ids))
        self._before: Mapping[str, GroupMoment] = {}

    def __repr__(self) -> str:
        return f"<GroupSource {', '.join(self._group_ids) or 'all groups'}>"

    async def look(self) -> TopLook:
        """Return the groups as they are now. Rates are known from the second look on."""
        try:
            entries = await self._entries(self._client.within(_TIMEOUT_MS))
        except KafkaGroupsError as error:
            entries = [_failed(name, error) for name in self._group_ids or (None,)]
        return TopLook(partial(group_lines, entries), entries, any(each.error is not None for each in entries))

    async def _entries(self, ask: Asking) -> Sequence[TopGroupEntry]:
        entries = []
        names = self._group_ids
        if not names:
            listed = await list_any_groups(ask, (), ())
            names = tuple(each.group_id for each in listed.groups)
            entries += [_failed(None, error) for error in listed.errors.values()]
        found = await describe_any_groups(ask, names) if names else None
        if found is None:
            return entries
        entries += await self._described(ask, found.values)
        return [*entries, *(_failed(name, error) for name, error in found.errors.items())]

    async def _described(self, ask: Asking, groups: Mapping[str, GroupDescription]) -> Sequence[TopGroupEntry]:
        places = {place for group in groups.values() for place in group.lag}
        ends = (await offsets_at(ask, places, LATEST)).values if places else {}
        at_s = asyncio.get_running_loop().time()
        now = {name: _progress(at_s, group, ends) for name, group in groups.items()}
        before, self._before = self._before, now
        return [_entry(group, rates_between(before.get(name), now[name])) for name, group in groups.items()]


def _progress(at_s: float, group: GroupDescription, ends: Mapping[TopicPartition, int]) -> GroupMoment:
    return GroupMoment(at_s, {place: ends[place] for place in group.lag if place in ends}, group.lag)


def _entry(group: GroupDescription, rates: GroupRates | None) -> TopGroupEntry:
    return TopGroupEntry(
        TOP_GROUP,
        group.group_id,
        group.type,
        group.state,
        len(group.members),
        group.total_lag,
        None if rates is None else rates.acknowledged,
        None if rates is None else rates.arriving,
        None if group.lag_error is None else problem_of(f"group {group.group_id}", group.lag_error).entry,
    )


def _failed(name: str | None, error: KafkaGroupsError) -> TopGroupEntry:
    problem = problem_of("cluster" if name is None else f"group {name}", error)
    return TopGroupEntry(TOP_GROUP, name, None, None, None, None, None, None, problem.entry)


# --------------------------------------------------------------------------------------------------- the view


def group_lines(entries: Sequence[TopGroupEntry], width: int | None) -> Sequence[str]:
    """Return the table of groups, and below it the reasons why something is unknown."""
    rows = [_row(entry) for entry in entries if entry.group is not None]
    table = list(table_lines(_HEADINGS, rows, numbers=_NUMBERS, width=width))
    return [*table, *(cut_line(reason, width) for reason in _reasons(entries))]


def _row(entry: TopGroupEntry) -> Sequence[str]:
    rates = entry.acknowledged_per_s, entry.arriving_per_s
    return (
        one_line(entry.group),
        one_line(entry.type),
        one_line(entry.state),
        shown_number(entry.members),
        shown_number(entry.lag),
        *(UNKNOWN if each is None else f"{each:.1f}" for each in rates),
    )


def _reasons(entries: Sequence[TopGroupEntry]) -> Iterator[str]:
    for entry in entries:
        if entry.error is not None:
            remedy = "" if entry.error.remedy is None else f" {entry.error.remedy}"
            yield one_line(f"{entry.error.resource}: {entry.error.message}{remedy}")
