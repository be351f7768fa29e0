"""ListConfigResources (key 74), v0-v1: lists the resources that have configs (KIP-714, KIP-1142).

Groups and subscriptions to client metrics are listed if a config of theirs was set, topics and brokers always. v0 lists
client metrics.

Errors: CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION (a type of resources that does not exist).
"""

from collections.abc import Callable, Iterable, Mapping

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafka_groups.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListedConfigResource,
)

__all__ = ["handle"]

_ONLY_TYPE_OF_V0 = (CLIENT_METRICS_RESOURCE,)


async def handle(request: ListConfigResourcesRequest, context: RequestContext) -> ListConfigResourcesResponse:
    """Return the resources of the types that the request names."""
    if not context.may(AclOperation.DESCRIBE_CONFIGS, AclResourceType.CLUSTER):
        return ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    # Version 0 was made to list subscriptions to client metrics, and has no field for types (KIP-1142).
    named = request.resource_types if context.version else _ONLY_TYPE_OF_V0
    wanted = frozenset(named or _NAMES)
    # One type that is unknown refuses the whole request (KafkaApis.handleListConfigResources in Kafka).
    if not wanted <= _NAMES.keys():
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    image = context.services.cluster.metadata.image
    resources = [
        ListedConfigResource(resource_type=kind, resource_name=name)
        for kind in _NAMES
        if kind in wanted
        async for name in context.turns.each(_NAMES[kind](image), CHEAP)
    ]
    return ListConfigResourcesResponse(config_resources=tuple(resources))


def _brokers(image: MetadataImage) -> Iterable[str]:
    return map(str, image.brokers)


_NAMES: Mapping[int, Callable[[MetadataImage], Iterable[str]]] = {
    GROUP_RESOURCE: lambda image: image.configs.names(GROUP_RESOURCE),
    CLIENT_METRICS_RESOURCE: lambda image: image.configs.names(CLIENT_METRICS_RESOURCE),
    BROKER_LOGGER_RESOURCE: _brokers,
    BROKER_RESOURCE: _brokers,
    TOPIC_RESOURCE: lambda image: (topic.name for topic in image.topics()),
}
"""The names of the resources of each type, in the order in which they are listed."""
