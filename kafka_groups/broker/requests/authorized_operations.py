"""The operations that a client may perform, as bit fields: all of them, because there is no authorizer."""

from kafka_groups.protocol.messages import authorized_operations as op

__all__ = ["CLUSTER_OPERATIONS", "GROUP_OPERATIONS", "TOPIC_OPERATIONS"]

_OF_TOPIC = (
    op.READ, op.WRITE, op.CREATE, op.DELETE, op.ALTER, op.DESCRIBE, op.DESCRIBE_CONFIGS, op.ALTER_CONFIGS,
)  # fmt: skip
_OF_CLUSTER = (
    op.CREATE, op.ALTER, op.DESCRIBE, op.CLUSTER_ACTION, op.DESCRIBE_CONFIGS, op.ALTER_CONFIGS, op.IDEMPOTENT_WRITE,
)  # fmt: skip
_OF_GROUP = (op.READ, op.DELETE, op.DESCRIBE, op.DESCRIBE_CONFIGS, op.ALTER_CONFIGS)

TOPIC_OPERATIONS = sum(1 << operation for operation in _OF_TOPIC)
CLUSTER_OPERATIONS = sum(1 << operation for operation in _OF_CLUSTER)
GROUP_OPERATIONS = sum(1 << operation for operation in _OF_GROUP)
