"""Questions about share groups: list, describe, delete."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from kafka_groups.admin.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.admin.results import Results
from kafka_groups.admin.share_offsets import describe_offsets
from kafka_groups.admin.topics import brokers_of_cluster
from kafka_groups.admin.values import (
    ListedShareGroup,
    ShareGroupDescription,
    ShareGroupList,
    ShareGroupMember,
)
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_groups.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_groups.protocol.messages.share_group_describe import (
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kafka_groups.types import TopicPartition

__all__ = ["delete_groups", "describe_groups", "list_groups"]

_FIRST_WITH_TYPES = 5
_TYPE = "share"


async def list_groups(ask: Asking, states: Iterable[str]) -> ShareGroupList:
    """Ask every broker for its share groups."""
    wanted = tuple(states)

    def build(_keys: Sequence[int], version: int) -> ListGroupsRequest:
        if version < _FIRST_WITH_TYPES:
            raise UnsupportedVersionError(f"ListGroups v{version} cannot list share groups.")
        return ListGroupsRequest(states_filter=wanted, types_filter=(_TYPE,))

    nodes = await brokers_of_cluster(ask)
    places = {node: node for node in nodes}
    results = await ask(Question("list the share groups", ApiKey.LIST_GROUPS, nodes, build, _listed, places=places))
    groups = {group.group_id: group for listed in results.values.values() for group in listed}
    return ShareGroupList(tuple(groups[group_id] for group_id in sorted(groups)), results.errors)


def _listed(keys: Sequence[int], response: ListGroupsResponse) -> Mapping[int, Answer[tuple[ListedShareGroup, ...]]]:
    groups = tuple(ListedShareGroup(group.group_id, group.group_state) for group in response.groups)
    return {key: told(response.error_code, None, groups) for key in keys}


async def describe_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, ShareGroupDescription]:
    """Ask the coordinators for groups and members, and for the lag of the groups that exist."""
    described = await ask(_description(group_ids))
    offsets = await describe_offsets(ask, dict.fromkeys(described.values))
    values = {
        group_id: evolve(
            group,
            lag={key: offset.lag for key, offset in offsets.values[group_id].values.items()},
        )
        if group_id in offsets.values
        else evolve(group, lag_error=offsets.errors[group_id])
        for group_id, group in described.values.items()
    }
    return Results(values, described.errors)


def _description(group_ids: Iterable[str]) -> Question[str, ShareGroupDescription]:
    def build(keys: Sequence[str], _version: int) -> ShareGroupDescribeRequest:
        return ShareGroupDescribeRequest(group_ids=tuple(keys), include_authorized_operations=False)

    keys = tuple(dict.fromkeys(group_ids))
    return Question("describe the share group", ApiKey.SHARE_GROUP_DESCRIBE, keys, build, _described, COORDINATORS)


def _described(
    _keys: Sequence[str], response: ShareGroupDescribeResponse
) -> Mapping[str, Answer[ShareGroupDescription]]:
    return {
        group.group_id: told(group.error_code, group.error_message, _description_of(group)) for group in response.groups
    }


def _description_of(group: DescribedGroup) -> ShareGroupDescription:
    return ShareGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor_name,
        members=tuple(map(_member_of, group.members)),
    )


def _member_of(member: Member) -> ShareGroupMember:
    return ShareGroupMember(
        member_id=member.member_id,
        rack=member.rack_id,
        epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=member.subscribed_topic_names,
        assignment=tuple(
            TopicPartition(topic.topic_name, number)
            for topic in member.assignment.topic_partitions
            for number in topic.partitions
        ),
    )


async def delete_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, None]:
    """Have the coordinators delete share groups.

    DeleteGroups deletes groups of any type, so the coordinators are asked first whether these are share groups.
    """
    described = await ask(_description(group_ids))
    keys = tuple(described.values)
    question = Question("delete the share group", ApiKey.DELETE_GROUPS, keys, _deletion, _deleted, COORDINATORS)
    deleted = await ask(question)
    return Results(deleted.values, {**described.errors, **deleted.errors})


def _deletion(keys: Sequence[str], _version: int) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups_names=tuple(keys))


def _deleted(_keys: Sequence[str], response: DeleteGroupsResponse) -> Mapping[str, Answer[None]]:
    return {each.group_id: told(each.error_code, each.error_message, None) for each in response.results}
