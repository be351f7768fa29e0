"""Removing members of classic groups and of consumer groups (KIP-345)."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.admin.rules.returned_values import RemovedMember
from kafka_groups.client.calls.questions import COORDINATORS, Answer, Asking, Question, gathered, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import GroupIdNotFoundError, KafkaGroupsError, UnsupportedVersionError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_groups.protocol.messages.leave_group import (
    FIRST_WITH_MANY_MEMBERS,
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponse,
    LeaveGroupResponseMember,
)

__all__ = ["remove_everyone", "remove_instances"]

_REASON = "removed by an administrator"
_LONGEST_REASON = 255  # KIP-800

Removals = Results[str, RemovedMember]


async def remove_instances(ask: Asking, group_id: str, instance_ids: Iterable[str], reason: str | None) -> Removals:
    """Have the coordinator remove static members.

    Raises:
        UnsupportedVersionError: The broker has no LeaveGroup v3.
        KafkaGroupsError: The coordinator refused the group.
    """
    # KIP-345, "Leave Group Logic Change": without a member id, the coordinator removes whichever member has the
    # instance id.
    members = tuple(RemovedMember("", each) for each in dict.fromkeys(instance_ids))
    return await _remove(ask, group_id, members, reason)


async def remove_everyone(ask: Asking, group_id: str, reason: str | None) -> Removals:
    """Have the coordinator remove all members that the group has now.

    Raises:
        UnsupportedVersionError: The broker has no LeaveGroup v3.
        GroupIdNotFoundError: There is no such group, or it is of another type.
        KafkaGroupsError: The coordinator refused the group.
    """
    return await _remove(ask, group_id, await _members(ask, group_id), reason)


async def _remove(ask: Asking, group_id: str, members: Sequence[RemovedMember], reason: str | None) -> Removals:
    why = (reason or _REASON)[:_LONGEST_REASON]
    leaving = tuple(
        LeaveGroupRequestMember(member_id=each.member_id, group_instance_id=each.instance_id, reason=why)
        for each in members
    )

    def build(_keys: Sequence[str], version: int) -> LeaveGroupRequest:
        # Before version 3 the request names one member, and no instance ids.
        if version < FIRST_WITH_MANY_MEMBERS:
            raise UnsupportedVersionError(f"The broker has LeaveGroup v{version}; removing members needs v3 (KIP-345).")
        return LeaveGroupRequest(group_id=group_id, members=leaving)

    question = Question("remove members of the group", ApiKey.LEAVE_GROUP, (group_id,), build, _removed, COORDINATORS)
    # A group without members needs no request, and a request without members would be an error.
    return (await ask(question))[group_id] if leaving else Results()


def _removed(keys: Sequence[str], response: LeaveGroupResponse) -> Mapping[str, Answer[Removals]]:
    # There are two levels of errors: the group's, which holds for all members, and one of each member.
    if response.error_code is not ErrorCode.NONE:
        return dict.fromkeys(keys, error_for(response.error_code))
    return dict.fromkeys(keys, gathered({_key_of(each): _outcome(each) for each in response.members}))


def _key_of(each: LeaveGroupResponseMember) -> str:
    return each.member_id if each.group_instance_id is None else each.group_instance_id


def _outcome(each: LeaveGroupResponseMember) -> RemovedMember | KafkaGroupsError:
    removed = RemovedMember(each.member_id, each.group_instance_id)
    return told(each.error_code, f"{each.error_code.name}: {_key_of(each)}", removed)


# ------------------------------------------------------------------------------------------- the members


async def _members(ask: Asking, group_id: str) -> Sequence[RemovedMember]:
    """Return the members as LeaveGroup names them: static ones by their instance ids alone."""
    # There are two kinds of groups with members to remove, which different requests describe. Java asks in the same
    # order (DescribeConsumerGroupsHandler).
    try:
        return (await ask(_consumer_group(group_id)))[group_id]
    except (GroupIdNotFoundError, UnsupportedVersionError):
        return (await ask(_classic_group(group_id)))[group_id]


def _consumer_group(group_id: str) -> Question[str, Sequence[RemovedMember]]:
    def build(keys: Sequence[str], _version: int) -> ConsumerGroupDescribeRequest:
        return ConsumerGroupDescribeRequest(group_ids=tuple(keys), include_authorized_operations=False)

    def read(
        _keys: Sequence[str], response: ConsumerGroupDescribeResponse
    ) -> Mapping[str, Answer[Sequence[RemovedMember]]]:
        return {
            group.group_id: told(
                group.error_code, group.error_message, [_named(m.member_id, m.instance_id) for m in group.members]
            )
            for group in response.groups
        }

    what, api = "describe the consumer group", ApiKey.CONSUMER_GROUP_DESCRIBE
    return Question(what, api, (group_id,), build, read, COORDINATORS)


def _classic_group(group_id: str) -> Question[str, Sequence[RemovedMember]]:
    def build(keys: Sequence[str], _version: int) -> DescribeGroupsRequest:
        return DescribeGroupsRequest(groups=tuple(keys))

    def read(_keys: Sequence[str], response: DescribeGroupsResponse) -> Mapping[str, Answer[Sequence[RemovedMember]]]:
        return {
            group.group_id: told(
                group.error_code, group.error_message, [_named(m.member_id, m.group_instance_id) for m in group.members]
            )
            for group in response.groups
        }

    return Question("describe the group", ApiKey.DESCRIBE_GROUPS, (group_id,), build, read, COORDINATORS)


def _named(member_id: str, instance_id: str | None) -> RemovedMember:
    # Java names static members by their instance ids alone, too. The member id may change when they rejoin, and would
    # make the coordinator refuse the removal.
    return RemovedMember(member_id, None) if instance_id is None else RemovedMember("", instance_id)
