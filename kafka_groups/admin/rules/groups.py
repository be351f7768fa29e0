"""Questions about groups of one type: list, delete (ListGroups, DeleteGroups)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from attrs import frozen

from kafka_groups.admin.rules.topics import brokers_of_cluster
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import KafkaGroupsError, UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_groups.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

__all__ = [
    "GroupStates",
    "delete_of_type",
    "delete_whatever_type",
    "is_listed",
    "list_of_type",
    "state_filters",
    "type_of_group",
    "types_of_groups",
]

V = TypeVar("V")

_FIRST_WITH_TYPES = 5


@frozen
class GroupStates:
    """The groups of one type.

    Attributes:
        states: State by group, sorted by group.
        errors: Brokers that did not answer, by node id.
    """

    states: Mapping[str, str]
    errors: Mapping[int, KafkaGroupsError]


async def list_of_type(ask: Asking, group_type: str, states: Iterable[str]) -> GroupStates:
    """Ask every broker for its groups of a type, such as `share`, in some states or in any."""
    wanted = state_filters(states)

    def build(_keys: Sequence[int], version: int) -> ListGroupsRequest:
        # An older broker would return groups of all types.
        if version < _FIRST_WITH_TYPES:
            raise UnsupportedVersionError(f"ListGroups v{version} cannot list {group_type} groups.")
        return ListGroupsRequest(states_filter=wanted, types_filter=(group_type,))

    # Each broker lists the groups that it coordinates, so all of them are asked.
    what, nodes = f"list the {group_type} groups", await brokers_of_cluster(ask)
    places = {node: node for node in nodes}
    results = await ask(Question(what, ApiKey.LIST_GROUPS, nodes, build, _listed, places=places))
    found = {group_id: state for listed in results.values.values() for group_id, state in listed.items()}
    return GroupStates(dict(sorted(found.items())), results.errors)


def state_filters(states: Iterable[str]) -> tuple[str, ...]:
    """Return the names of states as requests have them."""
    # Only this state has another name in filters (StreamsGroupState.toLowerCaseString in Kafka).
    return tuple("not_ready" if each.lower() == "notready" else each for each in states)


async def type_of_group(ask: Asking, group_id: str) -> str | None:
    """Ask every broker, and return the type of a group in lower case; None if none tells it."""
    return (await types_of_groups(ask)).get(group_id)


async def types_of_groups(ask: Asking) -> dict[str, str]:
    """Ask every broker, and return the types of groups in lower case. Those of which none is told are left out."""
    listed = (await _listed_types(ask)).values.values()
    return {each: kind.lower() for groups in listed for each, kind in groups.items() if kind}


async def is_listed(ask: Asking, group_id: str) -> bool:
    """Ask every broker, and return whether one of them has a group of this name.

    Raises:
        KafkaGroupsError: A broker did not answer.
    """
    listed = (await _listed_types(ask)).checked()
    return any(group_id in groups for groups in listed.values.values())


async def _listed_types(ask: Asking) -> Results[int, Mapping[str, str]]:
    nodes = await brokers_of_cluster(ask)
    places = {node: node for node in nodes}
    return await ask(Question("list groups", ApiKey.LIST_GROUPS, nodes, _all, _types, places=places))


def _all(_keys: Sequence[int], _version: int) -> ListGroupsRequest:
    return ListGroupsRequest()


def _types(keys: Sequence[int], response: ListGroupsResponse) -> Mapping[int, Answer[Mapping[str, str]]]:
    # Before version 5 there are no types, but a classic group tells its protocol, such as `consumer`.
    types = {group.group_id: group.group_type or group.protocol_type for group in response.groups}
    return {key: told(response.error_code, None, types) for key in keys}


def _listed(keys: Sequence[int], response: ListGroupsResponse) -> Mapping[int, Answer[Mapping[str, str]]]:
    states = {group.group_id: group.group_state for group in response.groups}
    return {key: told(response.error_code, None, states) for key in keys}


async def delete_of_type(ask: Asking, group_type: str, described: Results[str, V]) -> Results[str, None]:
    """Have the coordinators delete groups.

    DeleteGroups deletes groups of any type, so the coordinators are asked first whether these are of the right one.

    Args:
        ask: Asks the brokers.
        group_type: The type, for messages.
        described: The groups, and errors of those that do not exist or are of another type.
    """
    keys = tuple(described.values)
    what = f"delete the {group_type} group"
    deleted = await ask(Question(what, ApiKey.DELETE_GROUPS, keys, _deletion, _deleted, COORDINATORS))
    return Results(deleted.values, {**described.errors, **deleted.errors})


async def delete_whatever_type(ask: Asking, group_ids: Iterable[str]) -> Results[str, None]:
    """Have the coordinators delete groups, whatever their types are."""
    keys = tuple(dict.fromkeys(group_ids))
    return await ask(Question("delete the group", ApiKey.DELETE_GROUPS, keys, _deletion, _deleted, COORDINATORS))


def _deletion(keys: Sequence[str], _version: int) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups_names=tuple(keys))


def _deleted(_keys: Sequence[str], response: DeleteGroupsResponse) -> Mapping[str, Answer[None]]:
    return {
        each.group_id: told(
            each.error_code, each.error_message or f"{each.error_code.name}: group {each.group_id}", None
        )
        for each in response.results
    }
