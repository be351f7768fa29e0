"""FindCoordinator (key 10), v0-v6: finds the coordinator of a group (0), transaction (1) or share-partition (2)."""

import enum
from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

FIRST_WITH_MANY_KEYS: Final = 4
"""Version from which a request can contain several keys (KIP-699)."""


class CoordinatorType(enum.IntEnum):
    """The meaning of a key."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


@frozen(kw_only=True)
class FindCoordinatorRequest:
    """`coordinator_keys` from v4 (KIP-699), one `key` before.

    The key of a share-partition is `group:topic id:partition` (v6).
    """

    key_type: int = 0  # v1+
    coordinator_keys: tuple[str, ...] = ()  # v4+
    key: str = ""  # v0-v3


@frozen(kw_only=True)
class Coordinator:
    """The coordinator of one key. If there is an error, the node is -1, the host empty and the port -1."""

    key: str
    node_id: int
    host: str
    port: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class FindCoordinatorResponse:
    """`coordinators` from v4. Before, the response itself has the fields of the only coordinator."""

    throttle_time_ms: int = 0  # v1+
    coordinators: tuple[Coordinator, ...] = ()  # v4+
    error_code: ErrorCode = ErrorCode.NONE  # v0-v3
    error_message: str | None = None  # v1-v3
    node_id: int = 0  # v0-v3
    host: str = ""  # v0-v3
    port: int = 0  # v0-v3

    def found(self, key: str) -> tuple[Coordinator, ...]:
        """Return the coordinators in either form.

        Args:
            key: The key that was asked for, if there was only one.
        """
        return self.coordinators or (
            Coordinator(
                key=key,
                node_id=self.node_id,
                host=self.host,
                port=self.port,
                error_code=self.error_code,
                error_message=self.error_message,
            ),
        )
