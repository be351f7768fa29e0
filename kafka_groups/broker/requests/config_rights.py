"""The rights to see and change configs, which depend on the kind of resource that has them."""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.messages.config_resources import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)

__all__ = ["require_config_right"]

_OF_THE_CLUSTER = frozenset({BROKER_RESOURCE, BROKER_LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE})


def require_config_right(operation: AclOperation, resource_type: int, name: str, context: RequestContext) -> None:
    """Raise an error if the client may not see or change the configs of a resource.

    Args:
        operation: DESCRIBE_CONFIGS or ALTER_CONFIGS.
        resource_type: Type of the resource in requests about configs. Nothing is asked about one without configs.
        name: Name of the resource. It need not exist.
        context: The context of the request.

    Raises:
        BrokerError: TOPIC_, GROUP_ or CLUSTER_AUTHORIZATION_FAILED.
    """
    if resource_type == TOPIC_RESOURCE:
        context.require(operation, AclResourceType.TOPIC, name)
    elif resource_type == GROUP_RESOURCE:
        context.require(operation, AclResourceType.GROUP, name)
    elif resource_type in _OF_THE_CLUSTER:
        context.require(operation, AclResourceType.CLUSTER)
