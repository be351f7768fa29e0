"""What the requests to the share coordinator have in common (KIP-932, "Share coordinator")."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kafka_groups.broker.coordinators.share_state.shard import no_state
from kafka_groups.broker.coordinators.share_state.state import StateKey
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC, coordinator_of, share_state_key
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.errors import (
    BrokerError,
    InvalidRequestError,
    NotCoordinatorError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.share_state import ShareStatePartitionResult, ShareStateTopicResult

__all__ = ["check_existing", "check_known", "check_share_coordinator", "each_settled", "state_key"]

_NO_TOPIC = UUID(int=0)


def state_key(group_id: str, topic_id: UUID | None, partition: int) -> StateKey:
    """Return the key of a share-partition. A topic id of zeros is that of no topic."""
    return group_id, topic_id or _NO_TOPIC, partition


def check_share_coordinator(services: BrokerServices, key: StateKey) -> None:
    """Raise an error if this broker does not coordinate the state of a share-partition.

    Raises:
        NotCoordinatorError: Another broker does, or the topic of the states does not exist yet.
        InvalidRequestError: The number of the partition is negative.
    """
    image = services.metadata.image
    if image.topic(SHARE_STATE_TOPIC) is None:
        raise NotCoordinatorError
    if coordinator_of(image, share_state_key(*key), SHARE_STATE_TOPIC) != services.node_id:
        raise NotCoordinatorError
    if key[2] < 0:
        raise InvalidRequestError(f"The partition id {key[2]} is negative.")


def check_existing(services: BrokerServices, key: StateKey) -> None:
    """Raise an error if a partition does not exist.

    Raises:
        UnknownTopicOrPartitionError: The partition does not exist.
    """
    if services.metadata.partition(key[1], key[2]) is None:
        raise UnknownTopicOrPartitionError(f"The partition {key[2]} of the topic with id {key[1]} does not exist.")


def check_known(services: BrokerServices, key: StateKey) -> None:
    """Raise an error if a share-partition has no state, or its partition does not exist any more.

    Raises:
        InvalidRequestError: There is no state. As in Kafka, that is found out first.
        UnknownTopicOrPartitionError: The partition does not exist.
    """
    if services.share_coordinator.state(key) is None:
        raise no_state(key)
    check_existing(services, key)


def each_settled(request: Any, operation: Callable[[StateKey, Any], None]) -> tuple[ShareStateTopicResult, ...]:
    """Do something with each share-partition of a request, and return the results: success or an error.

    Args:
        request: Has topics with partitions. As in Kafka, nothing is done without a group id.
        operation: Takes the key of the share-partition and its part of the request.
    """
    if not request.group_id:
        return ()
    return tuple(
        ShareStateTopicResult(
            topic_id=topic.topic_id,
            partitions=tuple(
                _settled(state_key(request.group_id, topic.topic_id, partition.partition), partition, operation)
                for partition in topic.partitions
            ),
        )
        for topic in request.topics
    )


def _settled(key: StateKey, partition: Any, operation: Callable[[StateKey, Any], None]) -> ShareStatePartitionResult:
    try:
        operation(key, partition)
    except BrokerError as error:
        return ShareStatePartitionResult(partition=key[2], error_code=code_of(error), error_message=str(error))
    return ShareStatePartitionResult(partition=key[2])
