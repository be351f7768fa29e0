"""Members of a consumer group: what they say about themselves and what they own. `epochs` has who may enter."""

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, regex_of
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerAssignment
from kafka_groups.broker.coordinators.groups.epochs.members import remove
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.errors import UnknownMemberIdError
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpression,
)
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_groups.protocol.messages.join_group import JoinGroupRequestProtocol

__all__ = [
    "classic_of",
    "forget_unused_regex",
    "new_member",
    "owns_at_most",
    "remove_member",
    "store_member",
    "stored_protocols",
    "update_member",
]

_NOT_SET = -1
_NOTHING = (None, None, None, None)


def owns_at_most(request: ConsumerGroupHeartbeatRequest, current: ConsumerAssignment) -> bool:
    """Return whether a member says that it owns nothing but partitions that it is assigned."""
    # The member does not say what it owns. Kafka's isSubset treats that as "may own anything", and the member is
    # fenced.
    if request.topic_partitions is None:
        return False
    return all(_is_assigned(topic, current) for topic in request.topic_partitions)


def _is_assigned(topic: ConsumerGroupHeartbeatTopicPartitions, current: ConsumerAssignment) -> bool:
    assigned = {} if topic.topic_id is None else current.assigned.get(topic.topic_id, {})
    return all(number in assigned for number in topic.partitions)


def new_member(client: MemberClient) -> ConsumerGroupMemberMetadataValue:
    """Return a member that has not described itself yet."""
    return ConsumerGroupMemberMetadataValue(
        client_id=client.client_id,
        client_host=client.client_host,
        subscribed_topic_regex="",
        rebalance_timeout_ms=_NOT_SET,
    )


def classic_of(member: ConsumerGroupMemberMetadataValue) -> ClassicMemberMetadata:
    """Return the JoinGroup request of a member that speaks the classic protocol, as records have it.

    Raises:
        UnknownMemberIdError: The member does not speak it.
    """
    # GroupMetadataManager.throwIfMemberDoesNotUseClassicProtocol in Kafka answers UNKNOWN_MEMBER_ID, too: to the
    # classic protocol, the member does not exist.
    if member.classic_member_metadata is None:
        raise UnknownMemberIdError("The member does not speak the classic protocol.")
    return member.classic_member_metadata


def stored_protocols(protocols: Iterable[JoinGroupRequestProtocol]) -> tuple[ClassicProtocol, ...]:
    """Return the protocols of a JoinGroup request as records have them."""
    return tuple(ClassicProtocol(name=each.name, metadata=each.metadata) for each in protocols)


def update_member(
    draft: ConsumerDraft, member_id: str, request: ConsumerGroupHeartbeatRequest, client: MemberClient
) -> ConsumerGroupMemberMetadataValue | None:
    """Store the member's description if it changed, and return what it was before. None: the member is new."""
    known = draft.group.members.get(member_id)
    store_member(draft, member_id, known, _described(known, request, client))
    return known


def store_member(
    draft: ConsumerDraft,
    member_id: str,
    known: ConsumerGroupMemberMetadataValue | None,
    said: ConsumerGroupMemberMetadataValue,
) -> None:
    """Store a member's description if it changed."""
    if said != known:
        draft.write(ConsumerGroupMemberMetadata(draft.group.group_id, member_id, said))


def _described(
    known: ConsumerGroupMemberMetadataValue | None, request: ConsumerGroupHeartbeatRequest, client: MemberClient
) -> ConsumerGroupMemberMetadataValue:
    """Return the member's description after a request. Fields that the request leaves out do not change."""
    is_same_client = known is not None and (known.client_id, known.client_host) == (
        client.client_id,
        client.client_host,
    )
    # Most heartbeats say nothing, and then there is nothing to compare. A member that has spoken the classic protocol
    # changes by its heartbeat alone: its metadata of that protocol has to go.
    if known is not None and known.classic_member_metadata is None and is_same_client and _says_nothing(request):
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
        # Sorted and without duplicates, so that another order is not another subscription. Kafka keeps a set.
        changes["subscribed_topic_names"] = tuple(sorted(set(request.subscribed_topic_names)))
    if request.rebalance_timeout_ms != _NOT_SET:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    # Null means "unchanged" in each of these fields, as with the maybeUpdate methods of Kafka's
    # ConsumerGroupMember.Builder. The empty string takes a regular expression back.
    said = {name: value for name, value in changes.items() if value is not None}
    return evolve(known or new_member(client), **said, classic_member_metadata=None)


def _says_nothing(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a heartbeat has nothing about the member, as most of them have."""
    said = (request.subscribed_topic_names, request.subscribed_topic_regex, request.server_assignor, request.rack_id)
    return said == _NOTHING and request.instance_id is None and request.rebalance_timeout_ms == _NOT_SET


def remove_member(draft: ConsumerDraft, member_id: str) -> None:
    """Delete everything about a member, and what is known of a regular expression if it was the last to use it."""
    regex = regex_of(draft.group.members[member_id])
    remove(draft, member_id)
    forget_unused_regex(draft, regex)


def forget_unused_regex(draft: ConsumerDraft, regex: str) -> None:
    """Forget the topics of a regular expression that no member subscribes to any more."""
    # GroupMetadataManager.maybeDeleteResolvedRegularExpressions in Kafka. Its topics would otherwise stay subscribed.
    if regex in draft.group.regexes and regex not in draft.group.regex_subscribers:
        draft.write(ConsumerGroupRegularExpression(draft.group.group_id, regex, None))
