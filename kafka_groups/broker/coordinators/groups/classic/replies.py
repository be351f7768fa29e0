"""Responses to JoinGroup and SyncGroup."""

from collections.abc import Iterable

from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import (
    FIRST_WITH_NULLABLE_PROTOCOL,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupResponse

__all__ = ["join_refused", "joined", "members_of", "sync_refused", "synced"]


def joined(
    group: ClassicGroup,
    member_id: str,
    *,
    leader: str | None = None,
    members: Iterable[JoinGroupResponseMember] = (),
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """Return the response for a member of the current generation."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=leader or group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=tuple(members),
    )


def members_of(group: ClassicGroup) -> tuple[JoinGroupResponseMember, ...]:
    """Return the members as the leader gets them."""
    return tuple(
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(group.protocol),
        )
        for member in group.members.values()
    )


def join_refused(error: ErrorCode, version: int, member_id: str = "") -> JoinGroupResponse:
    """Return the response for a member that is not let in."""
    # Older versions cannot encode null here.
    name = None if version >= FIRST_WITH_NULLABLE_PROTOCOL else ""
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=name)


def synced(group: ClassicGroup, member: ClassicMember, assignment: bytes | None = None) -> SyncGroupResponse:
    """Return the response with a member's assignment, or with another one."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        assignment=member.assignment if assignment is None else assignment,
    )


def sync_refused(error: ErrorCode) -> SyncGroupResponse:
    """Return the response for a member that gets no assignment."""
    return SyncGroupResponse(error_code=error)
