"""ListConfigResources (key 74), v0-v1: lists the resources of a cluster that have configs (KIP-714, KIP-1142)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import CLIENT_METRICS_RESOURCE


@frozen(kw_only=True)
class ListConfigResourcesRequest:
    """Types of resources; empty means all. v0 asks for client metrics."""

    resource_types: tuple[int, ...] = ()  # v1+


@frozen(kw_only=True)
class ListedConfigResource:
    """One resource."""

    resource_name: str
    resource_type: int = CLIENT_METRICS_RESOURCE  # v1+


@frozen(kw_only=True)
class ListConfigResourcesResponse:
    """The resources of the types that the request names."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    config_resources: tuple[ListedConfigResource, ...] = ()
