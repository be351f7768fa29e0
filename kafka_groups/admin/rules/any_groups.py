"""Questions about groups of any type: list, describe, delete (ListGroups, DeleteGroups, and a description each)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka_groups.admin.rules.described_classic import describe_classic_groups
from kafka_groups.admin.rules.described_consumers import describe_consumer_groups
from kafka_groups.admin.rules.group_values import GroupDescription, GroupList, GroupListing
from kafka_groups.admin.rules.groups import delete_whatever_type, state_filters
from kafka_groups.admin.rules.share_groups import describe_groups as describe_share_groups
from kafka_groups.admin.rules.streams_groups import describe_streams_groups
from kafka_groups.admin.rules.topics import brokers_of_cluster
from kafka_groups.client.calls.questions import Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import GroupIdNotFoundError, KafkaGroupsError, UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

__all__ = ["delete_any_groups", "describe_any_groups", "list_any_groups"]

_FIRST_WITH_STATES: Final = 4
_FIRST_WITH_TYPES: Final = 5
_SHARE, _STREAMS, _CONSUMER, _CLASSIC = "share", "streams", "consumer", "classic"


async def list_any_groups(ask: Asking, types: Sequence[str], states: Sequence[str]) -> GroupList:
    """Ask every broker for the groups that it coordinates, of some types and in some states or of all.

    Raises:
        KafkaGroupsError: No broker named the others.
    """

    def build(_keys: Sequence[int], version: int) -> ListGroupsRequest:
        # An older broker would return groups of all types, in all states.
        if (types and version < _FIRST_WITH_TYPES) or (states and version < _FIRST_WITH_STATES):
            what = "types (Kafka 3.8)" if types else "states (Kafka 2.6)"
            raise UnsupportedVersionError(f"ListGroups v{version} cannot filter by {what}.")
        return ListGroupsRequest(states_filter=state_filters(states), types_filter=tuple(types))

    nodes = await brokers_of_cluster(ask)
    places = {node: node for node in nodes}
    results = await ask(Question("list the groups", ApiKey.LIST_GROUPS, nodes, build, _listed, places=places))
    found = {group.group_id: group for listed in results.values.values() for group in listed}
    return GroupList(tuple(sorted(found.values(), key=lambda each: each.group_id)), results.errors)


def _listed(keys: Sequence[int], response: ListGroupsResponse) -> Mapping[int, Answer[tuple[GroupListing, ...]]]:
    groups = tuple(
        GroupListing(each.group_id, each.group_type.lower(), each.protocol_type, each.group_state)
        for each in response.groups
    )
    return {key: told(response.error_code, None, groups) for key in keys}


async def describe_any_groups(ask: Asking, group_ids: Sequence[str]) -> Results[str, GroupDescription]:
    """Ask every broker which types groups have, and the coordinators for what they are."""
    listed = await list_any_groups(ask, (), ())
    types = {group.group_id: group.type for group in listed.groups}
    found = await _described(ask, group_ids, types)
    unlisted = {key: _not_found(error, listed.errors) for key, error in found.errors.items() if key not in types}
    values = {key: found.values[key] for key in group_ids if key in found.values}
    return Results(values, {**found.errors, **unlisted})


async def _described(ask: Asking, group_ids: Iterable[str], types: Mapping[str, str]) -> Results[str, GroupDescription]:
    by_type: dict[str, list[str]] = {_SHARE: [], _STREAMS: [], _CONSUMER: [], _CLASSIC: []}
    for each in group_ids:
        # A group that no broker lists does not exist, or may not be seen. The question about classic groups tells.
        by_type[types.get(each) or _CLASSIC].append(each)
    share = await describe_share_groups(ask, by_type[_SHARE])
    streams = await describe_streams_groups(ask, by_type[_STREAMS])
    consumer = await describe_consumer_groups(ask, by_type[_CONSUMER])
    classic = await describe_classic_groups(ask, by_type[_CLASSIC])
    return Results(
        {**share.values, **streams.values, **consumer.values, **classic.values},
        {**share.errors, **streams.errors, **consumer.errors, **classic.errors},
    )


def _not_found(error: KafkaGroupsError, unasked: Mapping[int, KafkaGroupsError]) -> KafkaGroupsError:
    """Return the error of a broker that did not list its groups, if that may be why a group was not found."""
    return next(iter(unasked.values()), error) if isinstance(error, GroupIdNotFoundError) else error


async def delete_any_groups(ask: Asking, group_ids: Sequence[str]) -> Results[str, None]:
    """Have the coordinators delete groups of any type but streams groups, which have topics of their own."""
    listed = await list_any_groups(ask, (), ())
    streams = {group.group_id for group in listed.groups if group.type == _STREAMS}
    refused = {each: _has_topics(each) for each in group_ids if each in streams}
    deleted = await delete_whatever_type(ask, [each for each in group_ids if each not in streams])
    return Results(deleted.values, {**refused, **deleted.errors})


def _has_topics(group_id: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(
        f"Group {group_id} is a streams group, which may have internal topics. Delete it with delete_streams_groups"
        " (kafka-groups streams delete)."
    )
