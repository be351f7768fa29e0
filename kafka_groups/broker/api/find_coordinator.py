"""FindCoordinator (key 10), v0-v6: finds the coordinator of a group, a transaction or a share-partition's state.

Key types: 0 group, 1 transaction, 2 share-partition, as `groupId:topicId:partition` (v6; KIP-932). From v4, a request
can contain several keys. Errors per key: INVALID_REQUEST (unknown key type, share key before v6, malformed share key),
COORDINATOR_NOT_AVAILABLE (no broker is running).
"""

import base64
import binascii

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError, CoordinatorNotAvailableError, InvalidRequestError
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
_UUID_BYTES = 16


async def handle(request: FindCoordinatorRequest, context: RequestContext) -> FindCoordinatorResponse:
    """Return one coordinator for each key; the first versions have fields for a single one."""
    if context.version >= FIRST_WITH_MANY_KEYS:
        found = tuple(_find_or_refuse(request.key_type, key, context) for key in request.coordinator_keys)
        return FindCoordinatorResponse(coordinators=found)
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
    _check_key(key_type, key, context.version)
    metadata = context.services.metadata
    endpoint = metadata.brokers.get(metadata.coordinator_of(key))
    if endpoint is None:
        raise CoordinatorNotAvailableError
    return Coordinator(key=key, node_id=endpoint.node_id, host=endpoint.host, port=endpoint.port, error_message="")


def _check_key(key_type: int, key: str, version: int) -> None:
    if key_type == CoordinatorType.SHARE:
        if version < _FIRST_WITH_SHARE_KEYS:
            raise InvalidRequestError(f"Share-partition keys require version {_FIRST_WITH_SHARE_KEYS}.")
        _check_share_key(key)
    elif key_type not in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION):
        raise InvalidRequestError(f"Unknown key type {key_type}.")


def _check_share_key(key: str) -> None:
    """Parse a share key. A group id may contain colons, so the key is parsed from its end."""
    group_id, topic_id, partition = ["", "", *key.rsplit(":", 2)][-3:]
    if not group_id or not _is_uuid(topic_id) or not partition.removeprefix("-").isdecimal():
        raise InvalidRequestError(f"Invalid share-partition key '{key}': expected groupId:topicId:partition.")


def _is_uuid(text: str) -> bool:
    try:
        return len(base64.urlsafe_b64decode(f"{text}==")) == _UUID_BYTES
    except (binascii.Error, ValueError):
        return False
