"""FindCoordinator (key 10), v0-v6: finds the coordinator of a group, a transaction or a share-partition's state.

Key types: 0 group, 1 transaction, 2 share-partition, as `groupId:topicId:partition` (v6; KIP-932). From v4, a request
can contain several keys. Errors per key: GROUP_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
CLUSTER_AUTHORIZATION_FAILED (share keys), INVALID_REQUEST (unknown key type, share key before v6, malformed share key),
COORDINATOR_NOT_AVAILABLE (no broker is running). `metadata.placement` decides which broker coordinates a key.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.placement import (
    GROUP_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTION_TOPIC,
    coordinator_of,
    share_state_key,
)
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import (
    BrokerError,
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    InvalidRequestError,
    TransactionalIdAuthorizationFailedError,
)
from kafka_groups.protocol.messages.find_coordinator import (
    FIRST_WITH_MANY_KEYS,
    Coordinator,
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

__all__ = ["handle"]

_FIRST_WITH_SHARE_KEYS = 6
_NOBODY = -1
_PARTITION = re.compile(r"-?\d{1,10}")
_INTERNAL_TOPICS: Mapping[int, str] = {
    CoordinatorType.GROUP: GROUP_TOPIC,
    CoordinatorType.TRANSACTION: TRANSACTION_TOPIC,
    CoordinatorType.SHARE: SHARE_STATE_TOPIC,
}

_RESOURCE_TYPES: Mapping[int, AclResourceType] = {
    CoordinatorType.GROUP: AclResourceType.GROUP,
    CoordinatorType.TRANSACTION: AclResourceType.TRANSACTIONAL_ID,
}


async def handle(request: FindCoordinatorRequest, context: RequestContext) -> FindCoordinatorResponse:
    """Return one coordinator for each key; the first versions have fields for a single one."""
    if context.version >= FIRST_WITH_MANY_KEYS:
        keys = context.turns.each(request.coordinator_keys)
        found = [_find_or_refuse(request.key_type, key, context) async for key in keys]
        return FindCoordinatorResponse(coordinators=tuple(found))
    found_one = _find_or_refuse(request.key_type, request.key, context)
    return FindCoordinatorResponse(
        error_code=found_one.error_code,
        error_message=found_one.error_message,
        node_id=found_one.node_id,
        host=found_one.host,
        port=found_one.port,
    )


def _find_or_refuse(key_type: int, key: str, context: RequestContext) -> Coordinator:
    try:
        return _find(key_type, key, context)
    except (GroupAuthorizationFailedError, TransactionalIdAuthorizationFailedError) as error:
        # As in Kafka, without a text, which other errors have.
        return Coordinator(key=key, node_id=_NOBODY, host="", port=_NOBODY, error_code=code_of(error), error_message="")
    except BrokerError as error:
        return Coordinator(
            key=key,
            node_id=_NOBODY,
            host="",
            port=_NOBODY,
            error_code=code_of(error),
            error_message=str(error),
        )


def _find(key_type: int, key: str, context: RequestContext) -> Coordinator:
    internal_topic = _internal_topic(key_type, context.version)
    _check_right(key_type, key, context)
    created = context.services.coordinators.hosted.topics.get(internal_topic)
    # In Kafka, the first answer is COORDINATOR_NOT_AVAILABLE, because the topic exists only a moment later.
    if created is not None:
        created.ensured()  # as in Kafka, the question creates the topic
    image = context.services.cluster.metadata.image
    hashed = _share_key(key) if key_type == CoordinatorType.SHARE else key
    endpoint = image.brokers.get(coordinator_of(image, hashed, internal_topic))
    # The partition has no leader, or its leader is not running: clients repeat the question (KafkaApis.getCoordinator
    # in Kafka).
    if endpoint is None:
        raise CoordinatorNotAvailableError
    return Coordinator(key=key, node_id=endpoint.node_id, host=endpoint.host, port=endpoint.port, error_message="")


def _check_right(key_type: int, key: str, context: RequestContext) -> None:
    # Only brokers ask for the coordinator of a share-partition's state.
    if key_type == CoordinatorType.SHARE:
        context.require(AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER)
    else:
        context.require(AclOperation.DESCRIBE, _RESOURCE_TYPES[key_type], key)


def _internal_topic(key_type: int, version: int) -> str:
    # See KafkaApis.getCoordinator in Kafka.
    if key_type == CoordinatorType.SHARE and version < _FIRST_WITH_SHARE_KEYS:
        raise InvalidRequestError(f"Share-partition keys require version {_FIRST_WITH_SHARE_KEYS}.")
    internal_topic = _INTERNAL_TOPICS.get(key_type)
    if internal_topic is None:
        raise InvalidRequestError(f"Unknown key type {key_type}.")
    return internal_topic


def _share_key(key: str) -> str:
    """Parse a share key and return it as Kafka writes it. A group id may contain colons, so its end is parsed."""
    group_id, topic_id, partition = ["", "", *key.rsplit(":", 2)][-3:]
    parsed = _uuid(topic_id)
    if not group_id or parsed is None or not _PARTITION.fullmatch(partition):
        raise InvalidRequestError(f"Invalid share-partition key '{key}': expected groupId:topicId:partition.")
    return share_state_key(group_id, parsed, int(partition))


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))
    except (binascii.Error, ValueError):
        return None
