"""The operations that a client may perform, as bit fields: all of them, because there is no authorizer."""

__all__ = ["CLUSTER_OPERATIONS", "GROUP_OPERATIONS", "NOT_ASKED", "TOPIC_OPERATIONS"]

NOT_ASKED = -(2**31)
"""The value in a response if the request did not ask for authorized operations."""

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 3, 4, 5, 6, 7, 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 9, 10, 11, 12

_OF_TOPIC = (_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
_OF_CLUSTER = (
    _CREATE, _ALTER, _DESCRIBE, _CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE,
)  # fmt: skip
_OF_GROUP = (_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)

TOPIC_OPERATIONS = sum(1 << operation for operation in _OF_TOPIC)
CLUSTER_OPERATIONS = sum(1 << operation for operation in _OF_CLUSTER)
GROUP_OPERATIONS = sum(1 << operation for operation in _OF_GROUP)
