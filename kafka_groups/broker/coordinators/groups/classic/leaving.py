"""LeaveGroup: members leave a classic group, or an administrator removes them (KIP-345, KIP-800)."""

from collections.abc import Iterable

from kafka_groups.broker.coordinators.groups.classic.classic_changes import ClassicChanges
from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.rounds import drop_member, members_left
from kafka_groups.errors import BrokerError, UnknownMemberIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leave_group import (
    FIRST_WITH_MANY_MEMBERS,
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponse,
    LeaveGroupResponseMember,
)

__all__ = ["leave", "leave_missing"]


def leave(group: ClassicGroup, request: LeaveGroupRequest, version: int, changes: ClassicChanges) -> LeaveGroupResponse:
    """Remove members, each with its own result. All of them together cause one rebalance."""
    results = [_removed(group, each, changes) for each in _members(request, version)]
    # One request may remove many members, so that a fleet that shrinks rebalances once (KIP-345, "Leave Group Logic
    # Change"; GroupMetadataManager.classicGroupLeaveToClassicGroup in Kafka).
    if any(each.error_code == ErrorCode.NONE for each in results):
        members_left(group, changes)
    return _response(results, version)


def leave_missing(request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
    """Return the response for a group that does not exist."""
    members = _members(request, version)
    return _response([_result(each, ErrorCode.UNKNOWN_MEMBER_ID) for each in members], version)


def _members(request: LeaveGroupRequest, version: int) -> Iterable[LeaveGroupRequestMember]:
    # Older versions have one member, in a field of its own.
    if version < FIRST_WITH_MANY_MEMBERS:
        return (LeaveGroupRequestMember(member_id=request.member_id),)
    return request.members


def _removed(
    group: ClassicGroup, leaving: LeaveGroupRequestMember, changes: ClassicChanges
) -> LeaveGroupResponseMember:
    try:
        _remove(group, leaving, changes)
    except BrokerError as error:
        return _result(leaving, ErrorCode(error.code))
    return _result(leaving, ErrorCode.NONE)


def _remove(group: ClassicGroup, leaving: LeaveGroupRequestMember, changes: ClassicChanges) -> None:
    # The id was given out (KIP-394), and the client leaves before it has joined. A round may only have waited for it.
    if leaving.member_id in group.pending_joins:
        changes.end_session(group, leaving.member_id)
        group.remove(leaving.member_id)
        return
    member_id = leaving.member_id
    # A static member may be named by its instance id alone. A member id, if there is one, has to fit it, and otherwise
    # FENCED_INSTANCE_ID protects a process that was started in the meantime (KIP-345, "Leave Group Logic Change").
    if not member_id:  # an administrator knows the instance alone
        instance = leaving.group_instance_id
        member_id = "" if instance is None else group.static_members.get(instance, "")
        if not member_id:
            raise UnknownMemberIdError(f"Group {group.group_id} has no instance {instance}.")
    # A static member that is named by its member id alone goes as well, with its instance id: that is how an
    # application returns to dynamic members (KIP-345, "Switching from Static Member to Dynamic Member").
    drop_member(group, group.check_member(member_id, leaving.group_instance_id), changes)


def _result(leaving: LeaveGroupRequestMember, error: ErrorCode) -> LeaveGroupResponseMember:
    return LeaveGroupResponseMember(
        member_id=leaving.member_id, group_instance_id=leaving.group_instance_id, error_code=error
    )


def _response(results: list[LeaveGroupResponseMember], version: int) -> LeaveGroupResponse:
    if version < FIRST_WITH_MANY_MEMBERS:
        return LeaveGroupResponse(error_code=results[0].error_code)
    return LeaveGroupResponse(members=tuple(results))
