"""The operations on a resource that a client may be authorized for: numbers that several responses share (KIP-430)."""

from typing import Final

NOT_ASKED: Final = -(2**31)
"""The value in a response if the request did not ask for authorized operations."""

READ: Final = 3
WRITE: Final = 4
CREATE: Final = 5
DELETE: Final = 6
ALTER: Final = 7
DESCRIBE: Final = 8
CLUSTER_ACTION: Final = 9
DESCRIBE_CONFIGS: Final = 10
ALTER_CONFIGS: Final = 11
IDEMPOTENT_WRITE: Final = 12
"""Kafka's numbers of the operations. In a response, the bit with this number stands for the operation."""
