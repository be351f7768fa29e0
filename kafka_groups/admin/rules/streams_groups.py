"""Questions about streams groups: list, describe with lag, delete (KIP-1071)."""

from collections.abc import Iterable

from attrs import evolve

from kafka_groups.admin.rules.groups import delete_of_type, list_of_type
from kafka_groups.admin.rules.streams_descriptions import described_streams_groups
from kafka_groups.admin.rules.streams_offsets import known_lags, offsets_of_groups
from kafka_groups.admin.rules.streams_values import ListedStreamsGroup, StreamsGroupDescription, StreamsGroupList
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results

__all__ = ["delete_streams_groups", "describe_streams_groups", "list_streams_groups"]

_TYPE = "streams"


async def list_streams_groups(ask: Asking, states: Iterable[str]) -> StreamsGroupList:
    """Ask every broker for its streams groups."""
    listed = await list_of_type(ask, _TYPE, states)
    return StreamsGroupList(tuple(ListedStreamsGroup(*group) for group in listed.states.items()), listed.errors)


async def describe_streams_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, StreamsGroupDescription]:
    """Ask the coordinators for groups, topologies and members, and for the lag of the groups that exist."""
    described = await described_streams_groups(ask, group_ids)
    offsets = await offsets_of_groups(ask, described.values, dict.fromkeys(described.values))
    values = {
        group_id: evolve(group, lag=known_lags(offsets.values[group_id]))
        if group_id in offsets.values
        else evolve(group, lag_error=offsets.errors[group_id])
        for group_id, group in described.values.items()
    }
    return Results(values, described.errors)


async def delete_streams_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, None]:
    """Have the coordinators delete streams groups, and no groups of other types."""
    return await delete_of_type(ask, _TYPE, await described_streams_groups(ask, group_ids))
