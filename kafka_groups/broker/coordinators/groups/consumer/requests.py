"""Checks of heartbeats of consumer groups that do not depend on the group."""

from collections.abc import Collection

from kafka_groups.broker.coordinators.groups.epochs.members import refuse_blank
from kafka_groups.errors import InvalidRequestError, UnsupportedAssignorError
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    FIRST_WITH_MEMBER_ID_REQUIRED,
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
)

__all__ = ["is_full", "validate"]

_NOT_SET = -1


def validate(request: ConsumerGroupHeartbeatRequest, version: int, assignors: Collection[str]) -> None:
    """Check a heartbeat.

    Raises:
        InvalidRequestError: A field is missing or has an invalid value.
        UnsupportedAssignorError: The member prefers an assignor that the broker does not have.
    """
    # The checks are those of GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid in Kafka, in its
    # order. From version 1 on, members generate their ids themselves.
    if not _gets_id(request, version):
        refuse_blank("MemberId", request.member_id)
    refuse_blank("GroupId", request.group_id)
    refuse_blank("InstanceId", request.instance_id)
    refuse_blank("RackId", request.rack_id)
    _check_epoch(request)
    # Only server-side assignors exist, so a name that the broker does not know cannot be served. Null leaves the choice
    # to the group.
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise UnsupportedAssignorError(
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        )


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a heartbeat says everything, as it does after an error. The response then says everything, too."""
    has_topics = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    # Kafka's consumerGroupHeartbeat has the same three conditions for a full request.
    return has_topics and request.rebalance_timeout_ms != _NOT_SET and request.topic_partitions is not None


def _gets_id(request: ConsumerGroupHeartbeatRequest, version: int) -> bool:
    return version < FIRST_WITH_MEMBER_ID_REQUIRED and request.member_epoch == JOIN_GROUP_EPOCH


def _check_epoch(request: ConsumerGroupHeartbeatRequest) -> None:
    # There are three cases: joining, a static member that leaves for a while, and an epoch below all that have a
    # meaning.
    if request.member_epoch == JOIN_GROUP_EPOCH:
        _check_joining(request)
    elif request.member_epoch == LEAVE_STATIC_EPOCH and request.instance_id is None:
        raise InvalidRequestError("InstanceId can't be null.")
    elif request.member_epoch < LEAVE_STATIC_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == _NOT_SET:
        raise InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
    # A member that joins must have given up everything. The empty list says so; null would mean "as before".
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequestError("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidRequestError(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )
