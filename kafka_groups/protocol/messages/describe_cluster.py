"""DescribeCluster (key 60), v0-v2: id, controller and brokers of a cluster (KIP-700)."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2
"""Types of endpoints that a request may ask for (KIP-919)."""


@frozen(kw_only=True)
class DescribeClusterRequest:
    """`endpoint_type` 1 means brokers, 2 means controllers (KIP-919)."""

    include_cluster_authorized_operations: bool
    endpoint_type: int = 1  # v1+
    include_fenced_brokers: bool = False  # v2+


@frozen(kw_only=True)
class DescribeClusterBroker:
    """Address of one broker on the requested listener. Fenced brokers are listed only on request."""

    broker_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False  # v2+


@frozen(kw_only=True)
class DescribeClusterResponse:
    """`controller_id` is -1 if there is none. -2147483648 means that authorized operations were not requested."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    endpoint_type: int = 1  # v1+
    cluster_id: str
    controller_id: int = -1
    brokers: tuple[DescribeClusterBroker, ...] = ()
    cluster_authorized_operations: int = -2147483648
