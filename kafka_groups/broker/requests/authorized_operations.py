"""The operations that a client may perform on a resource, as bit fields: each bit is one question to the authorizer."""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.bindings import CLUSTER_NAME
from kafka_groups.broker.requests.context import RequestContext

__all__ = ["cluster_operations", "group_operations", "topic_operations"]

_NO_OPERATIONS = 0
_OF_TOPIC = (
    AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE, AclOperation.ALTER,
    AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS,
)  # fmt: skip
_OF_CLUSTER = (
    AclOperation.CREATE, AclOperation.ALTER, AclOperation.DESCRIBE, AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS, AclOperation.IDEMPOTENT_WRITE,
)  # fmt: skip
_OF_GROUP = (
    AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)  # fmt: skip


def topic_operations(context: RequestContext, topic: str) -> int:
    """Return what the client may do with a topic. It need not exist."""
    return _operations(context, _OF_TOPIC, AclResourceType.TOPIC, topic)


def group_operations(context: RequestContext, group_id: str) -> int:
    """Return what the client may do with a group."""
    return _operations(context, _OF_GROUP, AclResourceType.GROUP, group_id)


def cluster_operations(context: RequestContext) -> int:
    """Return what the client may do with the cluster: nothing, if it may not even describe it."""
    # As in Kafka, this is not an error (KafkaApis.handleDescribeCluster).
    if not context.may(AclOperation.DESCRIBE, AclResourceType.CLUSTER):
        return _NO_OPERATIONS
    return _operations(context, _OF_CLUSTER, AclResourceType.CLUSTER, CLUSTER_NAME)


def _operations(
    context: RequestContext, operations: tuple[AclOperation, ...], resource_type: AclResourceType, name: str
) -> int:
    return sum(1 << operation for operation in operations if context.may(operation, resource_type, name))
