"""The operations that a client may perform, as bit fields: all of them, because there is no authorizer."""

from kafka_groups.acls import AclOperation as Op

__all__ = ["CLUSTER_OPERATIONS", "GROUP_OPERATIONS", "TOPIC_OPERATIONS"]

_OF_TOPIC = (
    Op.READ, Op.WRITE, Op.CREATE, Op.DELETE, Op.ALTER, Op.DESCRIBE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS,
)  # fmt: skip
_OF_CLUSTER = (
    Op.CREATE, Op.ALTER, Op.DESCRIBE, Op.CLUSTER_ACTION, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS, Op.IDEMPOTENT_WRITE,
)  # fmt: skip
_OF_GROUP = (Op.READ, Op.DELETE, Op.DESCRIBE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS)

TOPIC_OPERATIONS = sum(1 << operation for operation in _OF_TOPIC)
CLUSTER_OPERATIONS = sum(1 << operation for operation in _OF_CLUSTER)
GROUP_OPERATIONS = sum(1 << operation for operation in _OF_GROUP)
