"""The errors for clients that lack a right. No I/O."""

from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.acls import AclResourceType
from kafka_groups.errors import BrokerError, error_for
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["refusal_of"]

_REFUSALS: Mapping[AclResourceType, tuple[ErrorCode, str]] = MappingProxyType({
    AclResourceType.TOPIC: (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    AclResourceType.GROUP: (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed."),
    AclResourceType.CLUSTER: (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."),
    AclResourceType.TRANSACTIONAL_ID: (
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "Transactional Id authorization failed.",
    ),
})  # fmt: skip
"""The error by the type of the resource, with Kafka's general text."""


def refusal_of(resource_type: AclResourceType) -> BrokerError:
    """Return the error for a client that lacks a right on a resource of a type."""
    code, text = _REFUSALS[resource_type]
    return error_for(code, text)
