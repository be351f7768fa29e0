"""Members of a consumer group: who may enter, with which epoch, and what they say about themselves."""

from typing import Any

from attrs import evolve

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft
from kafka_groups.broker.coordinators.groups.consumer.records import (
    ConsumerAssignment,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerMember,
)
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.members import check_epoch, check_room, known_member
from kafka_groups.errors import (
    UnreleasedInstanceIdError,
)
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)

__all__ = [
    "enter",
    "forget_unused_regex",
    "leave_for_a_while",
    "remove",
    "store_member",
    "take_over",
    "update_member",
]

_NOT_SET = -1
_NOTHING = (None, None, None, None)


# ---------------------------------------------------------------------------------------------- entering


def enter(draft: ConsumerDraft, member_id: str, request: ConsumerGroupHeartbeatRequest, max_size: int) -> str | None:
    """Check that a member may join or stay, and return the id that it had before, if it is static and returns.

    It takes its former place (KIP-345).

    Raises:
        GroupMaxSizeReachedError: The group is full.
        UnknownMemberIdError: The group does not have the member, and it does not join.
        UnreleasedInstanceIdError: The instance is still there.
        FencedInstanceIdError: The instance has been started again.
        FencedMemberEpochError: The epoch is neither the member's current epoch nor its previous one.
    """
    group = draft.group
    if request.member_epoch != JOIN_GROUP_EPOCH:
        known_member(group, member_id, request.instance_id)
        current = group.current_of(member_id)
        check_epoch(request.member_epoch, current, lambda: _owns_at_most(request, current), "consumer", "partitions")
        return None
    owner = None if request.instance_id is None else group.instances.get(request.instance_id)
    if owner is None:
        check_room(group, member_id, max_size, "consumer")
        return None
    is_away = group.current_of(owner).member_epoch == LEAVE_STATIC_EPOCH
    if not is_away and group.members[owner].classic is None:
        raise UnreleasedInstanceIdError(
            f"Static member {member_id} with instance id {request.instance_id} cannot join the group because the "
            f"instance id is owned by {owner} member."
        )
    take_over(draft, owner, member_id)
    return owner


def _owns_at_most(request: ConsumerGroupHeartbeatRequest, current: ConsumerAssignment) -> bool:
    if request.topic_partitions is None:
        return False
    return all(_is_assigned(topic, current) for topic in request.topic_partitions)


def _is_assigned(topic: ConsumerGroupHeartbeatTopicPartitions, current: ConsumerAssignment) -> bool:
    assigned = {} if topic.topic_id is None else current.assigned.get(topic.topic_id, {})
    return all(number in assigned for number in topic.partitions)


def take_over(draft: ConsumerDraft, old_id: str, new_id: str) -> None:
    """Let a static member that returns take the place of the one that it was, with its partitions."""
    group = draft.group
    member, target, current = group.members[old_id], group.target.get(old_id), group.current_of(old_id)
    _forget(draft, old_id)
    draft.write(ConsumerGroupMemberMetadata(group.group_id, new_id, member))
    if target is not None:
        draft.write(ConsumerGroupTargetAssignmentMember(group.group_id, new_id, target))
    returned = evolve(current, member_epoch=JOIN_GROUP_EPOCH, previous_member_epoch=0)
    draft.write(ConsumerGroupCurrentMemberAssignment(group.group_id, new_id, returned))


# ----------------------------------------------------------------------------------------------- staying


def update_member(
    draft: ConsumerDraft, member_id: str, request: ConsumerGroupHeartbeatRequest, client: MemberClient
) -> ConsumerMember | None:
    """Store the member's description if it changed, and return what it was before. None: the member is new."""
    known = draft.group.members.get(member_id)
    store_member(draft, member_id, known, _described(known, request, client))
    return known


def store_member(draft: ConsumerDraft, member_id: str, known: ConsumerMember | None, said: ConsumerMember) -> None:
    """Store a member's description if it changed."""
    if said != known:
        draft.write(ConsumerGroupMemberMetadata(draft.group.group_id, member_id, said))


def _described(
    known: ConsumerMember | None, request: ConsumerGroupHeartbeatRequest, client: MemberClient
) -> ConsumerMember:
    """Return the member's description after a request. Fields that the request leaves out do not change."""
    is_same_client = known is not None and (known.client_id, known.client_host) == (
        client.client_id,
        client.client_host,
    )
    if known is not None and known.classic is None and is_same_client and _says_nothing(request):
        return known
    changes: dict[str, Any] = {
        "client_id": client.client_id,
        "client_host": client.client_host,
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "server_assignor": request.server_assignor,
        "subscribed_topic_regex": request.subscribed_topic_regex,
    }
    if request.subscribed_topic_names is not None:
        changes["subscribed_topic_names"] = tuple(sorted(set(request.subscribed_topic_names)))
    if request.rebalance_timeout_ms != _NOT_SET:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    said = {name: value for name, value in changes.items() if value is not None}
    if known is None:
        known = ConsumerMember(client_id=client.client_id, client_host=client.client_host)
    return evolve(known, **said, classic=None)


def _says_nothing(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a heartbeat has nothing about the member, as most of them have."""
    said = (request.subscribed_topic_names, request.subscribed_topic_regex, request.server_assignor, request.rack_id)
    return said == _NOTHING and request.instance_id is None and request.rebalance_timeout_ms == _NOT_SET


# ----------------------------------------------------------------------------------------------- leaving


def leave_for_a_while(draft: ConsumerDraft, member_id: str) -> None:
    """Note that a static member is away. It keeps its partitions until it returns or its session ends.

    As in Kafka, the partitions lose their epochs, so that their offsets can be committed in any.
    """
    current = draft.group.current_of(member_id)
    assigned = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in current.assigned.items()}
    away = ConsumerAssignment(
        member_epoch=LEAVE_STATIC_EPOCH, previous_member_epoch=current.previous_member_epoch, assigned=assigned
    )
    draft.write(ConsumerGroupCurrentMemberAssignment(draft.group.group_id, member_id, away))


def remove(draft: ConsumerDraft, member_id: str) -> None:
    """Delete everything about a member, and what is known of a regular expression if it was the last to use it."""
    regex = draft.group.members[member_id].subscribed_topic_regex
    _forget(draft, member_id)
    forget_unused_regex(draft, regex)


def forget_unused_regex(draft: ConsumerDraft, regex: str) -> None:
    """Forget the topics of a regular expression that no member subscribes to any more."""
    if regex in draft.group.regexes and regex not in draft.group.regex_subscribers:
        draft.write(ConsumerGroupRegularExpression(draft.group.group_id, regex, None))


def _forget(draft: ConsumerDraft, member_id: str) -> None:
    group_id = draft.group.group_id
    draft.write(ConsumerGroupCurrentMemberAssignment(group_id, member_id, None))
    draft.write(ConsumerGroupTargetAssignmentMember(group_id, member_id, None))
    draft.write(ConsumerGroupMemberMetadata(group_id, member_id, None))
