"""LeaveGroup in a consumer group: an administrator removes members, or one that speaks the classic protocol leaves."""

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.members import remove_member
from kafka_groups.broker.coordinators.groups.epochs.members import known_member
from kafka_groups.errors import BrokerError, UnknownMemberIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leave_group import (
    FIRST_WITH_MANY_MEMBERS,
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponse,
    LeaveGroupResponseMember,
)

__all__ = ["leave"]


def leave(
    stored: ConsumerGroup, draft: ConsumerDraft, request: LeaveGroupRequest, version: int
) -> tuple[LeaveGroupResponse, list[str]]:
    """Remove members, and return the response and the ids of those that are gone.

    Args:
        stored: The group as it is: as in Kafka, no member of a request is seen to be gone by the next one.
        draft: The group from which the members are removed.
        request: The request.
        version: Its version.
    """
    given = request.members
    if version < FIRST_WITH_MANY_MEMBERS:
        # Older versions name one member at the top level, and only by its member id.
        given = (LeaveGroupRequestMember(member_id=request.member_id),)
    gone: list[str] = []
    results = [_removed(stored, draft, each, gone) for each in given]
    if version < FIRST_WITH_MANY_MEMBERS:
        return LeaveGroupResponse(error_code=results[0].error_code), gone
    return LeaveGroupResponse(members=tuple(results)), gone


def _removed(
    stored: ConsumerGroup, draft: ConsumerDraft, leaving: LeaveGroupRequestMember, gone: list[str]
) -> LeaveGroupResponseMember:
    error = ErrorCode.NONE
    try:
        member_id = _member_id(stored, leaving)
        # A member that is named twice is removed once, but both entries succeed: Kafka collects members in a set before
        # it fences them (GroupMetadataManager.classicGroupLeaveToConsumerGroup).
        if member_id not in gone:
            remove_member(draft, member_id)
            gone.append(member_id)
    # Each member has its own result. One that is unknown does not keep the others from leaving.
    except BrokerError as refused:
        error = ErrorCode(refused.code)
    return LeaveGroupResponseMember(
        member_id=leaving.member_id, group_instance_id=leaving.group_instance_id, error_code=error
    )


def _member_id(group: ConsumerGroup, leaving: LeaveGroupRequestMember) -> str:
    """Return the member that is meant. An administrator knows the instance alone."""
    instance = leaving.group_instance_id
    member_id = leaving.member_id
    # An administrator names the instance, because only the process itself knows its member id (KIP-345).
    if not member_id and instance is not None:
        member_id = group.instances.get(instance, "")
    if not member_id:
        raise UnknownMemberIdError(f"Group {group.group_id} has no instance {instance}.")
    known_member(group, member_id, instance)
    return member_id
