"""DescribeCluster (key 60), v0-v2: returns the cluster id, the controller and the brokers.

Errors of the request: MISMATCHED_ENDPOINT_TYPE (v1: the request asks a broker for controllers),
UNSUPPORTED_ENDPOINT_TYPE.
"""

from kafka_groups.broker.requests.authorized_operations import cluster_operations
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED
from kafka_groups.protocol.messages.describe_cluster import (
    BROKER_ENDPOINTS,
    CONTROLLER_ENDPOINTS,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

__all__ = ["handle"]


async def handle(request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    """Return the cluster id, the controller and the brokers."""
    metadata = context.services.cluster.metadata
    if request.endpoint_type != BROKER_ENDPOINTS:
        return _refusal(request, metadata.cluster_id)
    return DescribeClusterResponse(
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id,
        brokers=tuple(
            DescribeClusterBroker(broker_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
            for broker in metadata.brokers.values()
        ),
        cluster_authorized_operations=cluster_operations(context)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def _refusal(request: DescribeClusterRequest, cluster_id: str) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLER_ENDPOINTS:
        code, why = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "The request was sent to an endpoint of type BROKER"
    else:
        code, why = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}"
    return DescribeClusterResponse(error_code=code, error_message=why, cluster_id=cluster_id)
