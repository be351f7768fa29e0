"""Questions about share groups: list, describe, delete."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from kafka_groups.admin.rules.groups import delete_of_type, list_of_type, type_of_group
from kafka_groups.admin.rules.returned_values import (
    ListedShareGroup,
    ShareGroupDescription,
    ShareGroupList,
    ShareGroupMember,
)
from kafka_groups.admin.rules.share_offsets import describe_offsets
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import GroupIdNotFoundError, NonEmptyGroupError
from kafka_groups.errors.texts import counted
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.share_group_describe import (
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kafka_groups.types import TopicPartition

__all__ = ["delete_groups", "describe_groups", "list_groups"]

_TYPE = "share"


async def list_groups(ask: Asking, states: Iterable[str]) -> ShareGroupList:
    """Ask every broker for its share groups."""
    listed = await list_of_type(ask, _TYPE, states)
    return ShareGroupList(tuple(ListedShareGroup(*group) for group in listed.states.items()), listed.errors)


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


async def check_may_change(ask: Asking, group_id: str) -> None:
    """Check that the coordinator would let the offsets of a group be set, as it does for one that does not exist yet.

    Raises:
        GroupIdNotFoundError: It is a group of another type.
        NonEmptyGroupError: It has members.
    """
    described = await describe_groups(ask, [group_id])
    if isinstance(described.errors.get(group_id), GroupIdNotFoundError):
        kind = await type_of_group(ask, group_id)
        # Without any group of this name, setting offsets creates the share group. A group of another type stands in the
        # way, and the coordinator's error would not say which type it has.
        if kind not in (None, _TYPE):
            raise GroupIdNotFoundError(f"Group {group_id} is not a share group. It is a {kind} group.")
    group = described.values.get(group_id)
    if group is not None and group.members:
        members = counted(len(group.members), "member")
        raise NonEmptyGroupError(f"The share group {group_id} has {members}. Stop all of its members first.")


async def delete_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, None]:
    """Have the coordinators delete share groups, and no groups of other types."""
    return await delete_of_type(ask, _TYPE, await ask(_description(group_ids)))
