"""Questions about the groups of streams applications: list, describe with lag, delete (KIP-1071)."""

from collections.abc import Iterable
from typing import TypeVar

from attrs import evolve

from kafka_groups.admin.rules.application_groups import application_groups, fitting_groups
from kafka_groups.admin.rules.classic_streams.classic_descriptions import described_classic_group
from kafka_groups.admin.rules.classic_streams.classic_groups import classic_groups
from kafka_groups.admin.rules.classic_streams.classic_values import ClassicStreamsGroupDescription
from kafka_groups.admin.rules.group_topology.given_topology import GivenTopology
from kafka_groups.admin.rules.groups import delete_of_type, list_of_type
from kafka_groups.admin.rules.streams_descriptions import described_streams_groups
from kafka_groups.admin.rules.streams_offsets import known_lags, offsets_of_groups
from kafka_groups.admin.rules.streams_values import ListedStreamsGroup, StreamsGroupDescription, StreamsGroupList
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results

__all__ = ["delete_streams_groups", "describe_classic_groups", "describe_streams_groups", "list_streams_groups"]

G = TypeVar("G", StreamsGroupDescription, ClassicStreamsGroupDescription)

_TYPE = "streams"


async def list_streams_groups(ask: Asking, states: Iterable[str]) -> StreamsGroupList:
    """Ask every broker for its streams groups."""
    listed = await list_of_type(ask, _TYPE, states)
    return StreamsGroupList(tuple(ListedStreamsGroup(*group) for group in listed.states.items()), listed.errors)


async def describe_streams_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, StreamsGroupDescription]:
    """Ask the coordinators for groups, topologies and members, and for the lag of the groups that exist."""
    return await _with_lag(ask, await described_streams_groups(ask, group_ids))


async def describe_classic_groups(
    ask: Asking, group_ids: Iterable[str]
) -> Results[str, ClassicStreamsGroupDescription]:
    """Ask the coordinators for classic groups, and for the lag of those that exist."""
    found = await classic_groups(ask, group_ids)
    described = {group_id: described_classic_group(group) for group_id, group in found.values.items()}
    return await _with_lag(ask, Results(described, found.errors))


async def _with_lag(ask: Asking, described: Results[str, G]) -> Results[str, G]:
    offsets = await offsets_of_groups(ask, described.values, dict.fromkeys(described.values))
    values = {
        group_id: evolve(group, lag=known_lags(offsets.values[group_id]))
        if group_id in offsets.values
        else evolve(group, lag_error=offsets.errors[group_id])
        for group_id, group in described.values.items()
    }
    return Results(values, described.errors)


async def delete_streams_groups(
    ask: Asking, group_ids: Iterable[str], topology: GivenTopology | None
) -> Results[str, None]:
    """Have the coordinators delete streams groups, or the classic groups of a topology, and no others."""
    found = await fitting_groups(ask, await application_groups(ask, group_ids, topology))
    return await delete_of_type(ask, _TYPE if topology is None else "classic", found)
