"""Members: which heartbeats are valid, and how members join, change and leave (KIP-932, "Share group membership")."""

from attrs import evolve

from kafka_groups.broker.coordinators.groups.epochs.members import refuse_blank
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.share.group import Draft, ShareGroup
from kafka_groups.errors import (
    FencedMemberEpochError,
    GroupIdNotFoundError,
    InvalidRequestError,
    UnknownMemberIdError,
)
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupMemberMetadataValue,
    ShareGroupTargetAssignmentMember,
)
from kafka_groups.protocol.messages.share_group_heartbeat import JOIN_EPOCH, LEAVE_EPOCH, ShareGroupHeartbeatRequest

__all__ = [
    "check_member_epoch",
    "group_of_member",
    "remove_member",
    "update_member",
    "validate",
]

_MAX_MEMBER_ID_LENGTH = 36


def validate(request: ShareGroupHeartbeatRequest) -> None:
    """Validate the parts of a heartbeat that do not depend on the group.

    Raises:
        InvalidRequestError: A field has an invalid value.
    """
    # The checks are those of GroupCoordinatorService.throwIfShareGroupHeartbeatRequestIsInvalid in Kafka. KIP-932 has
    # the coordinator generate member ids; since 4.1 the member does, so that an empty one is an error also when it
    # joins.
    refuse_blank("GroupId", request.group_id)
    refuse_blank("MemberId", request.member_id)
    # KafkaApis.isMemberIdValid in Kafka: the id is also part of share sessions, whose requests have the same limit, the
    # length of a UUID as text.
    if len(request.member_id) > _MAX_MEMBER_ID_LENGTH:
        raise InvalidRequestError(f"MemberId can't be longer than {_MAX_MEMBER_ID_LENGTH} characters.")
    if request.member_epoch < LEAVE_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
    refuse_blank("RackId", request.rack_id)
    # Null means "unchanged" later on. A member that joins has nothing yet that could be unchanged.
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        raise InvalidRequestError("SubscribedTopicNames must be set in first request.")


def group_of_member(group: ShareGroup | None, group_id: str, member_id: str) -> ShareGroup:
    """Return the group after checking that it exists and has the member.

    Raises:
        GroupIdNotFoundError: The group does not exist.
        UnknownMemberIdError: The group does not have the member.
    """
    if group is None:
        raise GroupIdNotFoundError(f"Share group {group_id} not found.")
    if member_id not in group.members:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of group {group_id}.")
    return group


def check_member_epoch(group: ShareGroup, member_id: str, member_epoch: int) -> None:
    """Check the epoch of a member that is neither joining nor leaving.

    The previous epoch is accepted too, because the response with the current epoch may have been lost.

    Raises:
        FencedMemberEpochError: The epoch is neither the current nor the previous one.
    """
    # There are three cases, as in GroupMetadataManager.throwIfShareGroupMemberEpochIsInvalid: an epoch from the future,
    # the current or previous one, and an old one. Nothing is checked about owned partitions, because nothing is
    # revoked.
    current = group.current_of(member_id)
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
    """Store the member's description if it changed, and return whether its subscription changed."""
    known = draft.group.members.get(request.member_id)
    said = _metadata(known, request, client)
    # A heartbeat that says nothing new writes no record.
    if said == known:
        return False
    draft.write(ShareGroupMemberMetadata(request.group_id, request.member_id, said))
    # Rack, client id and host are stored, but only members and their subscriptions increase the group epoch: KIP-932,
    # "Group epoch - Trigger a rebalance" (GroupMetadataManager.hasMemberSubscriptionChanged). The simple assignor
    # ignores racks.
    return known is None or said.subscribed_topic_names != known.subscribed_topic_names


def _metadata(
    known: ShareGroupMemberMetadataValue | None, request: ShareGroupHeartbeatRequest, client: MemberClient
) -> ShareGroupMemberMetadataValue:
    """Return the member's description after a request. Fields that the request leaves out do not change."""
    said = known or ShareGroupMemberMetadataValue(client_id=client.client_id, client_host=client.client_host)
    said = evolve(said, client_id=client.client_id, client_host=client.client_host)
    if request.rack_id is not None:
        said = evolve(said, rack_id=request.rack_id)
    if request.subscribed_topic_names is not None:
        # Sorted and without duplicates, so that the same topics in another order are not a new subscription.
        said = evolve(said, subscribed_topic_names=tuple(sorted(set(request.subscribed_topic_names))))
    return said


def remove_member(draft: Draft, member_id: str) -> None:
    """Delete everything about a member."""
    group_id = draft.group.group_id
    # The order is that of GroupMetadataManager.shareGroupFenceMember. The description goes last: as long as it is
    # stored, the member is in the group and its session can end.
    draft.write(ShareGroupCurrentMemberAssignment(group_id, member_id, None))
    draft.write(ShareGroupTargetAssignmentMember(group_id, member_id, None))
    draft.write(ShareGroupMemberMetadata(group_id, member_id, None))
