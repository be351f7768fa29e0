"""Members: which heartbeats are valid, and how members join, change and go (KIP-932, "Share group membership")."""

from attrs import evolve, frozen

from kafka_groups.broker.coordinator.records import (
    MemberMetadata,
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupTargetAssignmentMember,
)
from kafka_groups.broker.coordinator.share_group.draft import Draft
from kafka_groups.broker.coordinator.share_group.group import ShareGroup
from kafka_groups.errors import (
    FencedMemberEpochError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    UnknownMemberIdError,
)
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

__all__ = [
    "JOIN_EPOCH",
    "LEAVE_EPOCH",
    "MemberClient",
    "check_can_join",
    "check_member_epoch",
    "group_of_member",
    "remove_member",
    "update_member",
    "validate",
]

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
_MAX_MEMBER_ID_LENGTH = 36


@frozen
class MemberClient:
    """Where a heartbeat came from: the client id of its header, and the host as ShareGroupDescribe shows it."""

    client_id: str
    client_host: str


def validate(request: ShareGroupHeartbeatRequest) -> None:
    """Check what can be checked without the group.

    Raises:
        InvalidRequestError: A field has a value that no group accepts.
    """
    if not request.group_id.strip():
        raise InvalidRequestError("GroupId can't be empty.")
    if not request.member_id.strip():
        raise InvalidRequestError("MemberId can't be empty.")
    if len(request.member_id) > _MAX_MEMBER_ID_LENGTH:
        raise InvalidRequestError(f"MemberId can't be longer than {_MAX_MEMBER_ID_LENGTH} characters.")
    if request.member_epoch < LEAVE_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
    if request.rack_id is not None and not request.rack_id.strip():
        raise InvalidRequestError("RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        raise InvalidRequestError("SubscribedTopicNames must be set in first request.")


def group_of_member(group: ShareGroup | None, group_id: str, member_id: str) -> ShareGroup:
    """The group, after a check that it exists and has the member.

    Raises:
        GroupIdNotFoundError: There is no such group.
        UnknownMemberIdError: It has no such member.
    """
    if group is None:
        raise GroupIdNotFoundError(f"Share group {group_id} not found.")
    if member_id not in group.members:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of group {group_id}.")
    return group


def check_can_join(group: ShareGroup | None, member_id: str, max_size: int) -> None:
    """Check that a member may join; one that is in the group may always join again.

    Raises:
        GroupMaxSizeReachedError: The group is full.
    """
    if group is not None and member_id not in group.members and len(group.members) >= max_size:
        raise GroupMaxSizeReachedError(f"The share group has reached its maximum capacity of {max_size} members.")


def check_member_epoch(group: ShareGroup, member_id: str, member_epoch: int) -> None:
    """Check the epoch of a known member that neither joins nor leaves.

    The previous epoch is as good as the current one, for the response that brought the current one may be lost.

    Raises:
        FencedMemberEpochError: The epoch is neither of the two.
    """
    current = group.current[member_id]
    if member_epoch > current.member_epoch:
        raise FencedMemberEpochError(
            f"The share group member has a greater member epoch ({member_epoch}) than the one known by the group "
            f"coordinator ({current.member_epoch}). The member must abandon all its partitions and rejoin."
        )
    if member_epoch not in (current.member_epoch, current.previous_member_epoch):
        raise FencedMemberEpochError(
            f"The share group member has a smaller member epoch ({member_epoch}) than the one known by the group "
            f"coordinator ({current.member_epoch}), and it does not match the previous member epoch "
            f"({current.previous_member_epoch}). The member must abandon all its partitions and rejoin."
        )


def update_member(draft: Draft, request: ShareGroupHeartbeatRequest, client: MemberClient) -> bool:
    """Write what the request says about its member, if that is new; returns whether the subscription changed."""
    known = draft.group.members.get(request.member_id)
    said = _metadata(known, request, client)
    if said != known:
        draft.write(ShareGroupMemberMetadata(request.group_id, request.member_id, said))
    return known is None or said.subscribed_topic_names != known.subscribed_topic_names


def _metadata(
    known: MemberMetadata | None, request: ShareGroupHeartbeatRequest, client: MemberClient
) -> MemberMetadata:
    """What is known about a member after a request; fields that it leaves out stay as they were."""
    said = known or MemberMetadata(client.client_id, client.client_host, ())
    said = evolve(said, client_id=client.client_id, client_host=client.client_host)
    if request.rack_id is not None:
        said = evolve(said, rack_id=request.rack_id)
    if request.subscribed_topic_names is not None:
        said = evolve(said, subscribed_topic_names=tuple(sorted(set(request.subscribed_topic_names))))
    return said


def remove_member(draft: Draft, member_id: str) -> None:
    """Take back everything that is known of a member."""
    group_id = draft.group.group_id
    draft.write(ShareGroupCurrentMemberAssignment(group_id, member_id, None))
    draft.write(ShareGroupTargetAssignmentMember(group_id, member_id, None))
    draft.write(ShareGroupMemberMetadata(group_id, member_id, None))
