"""DescribeConfigs (key 32), v1-v4: returns the configs of resources with their sources.

The resources are topics, brokers, groups and subscriptions to client metrics. A broker returns only its own configs,
for its node id. The empty name means the configs of all brokers. It has no loggers whose levels could change.

Errors per resource: TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_TOPIC_EXCEPTION, INVALID_REQUEST (another broker, a group or client metrics without a name, a resource type
without configs).
"""

from kafka_groups.acls import AclOperation
from kafka_groups.broker.configs.config_entries import (
    ConfigEntry,
    broker_entries,
    client_metrics_entries,
    default_broker_entries,
    group_entries,
    topic_entries,
)
from kafka_groups.broker.configs.effective import ALL_BROKERS
from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.broker.requests.config_rights import require_config_right
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.broker.runtime.scheduling.cooperative_yield import COSTLY
from kafka_groups.errors import BrokerError, InvalidRequestError
from kafka_groups.protocol.messages.config_resources import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

__all__ = ["handle"]


async def handle(request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    """Return the configs of each resource."""
    resources = context.turns.each(request.resources, COSTLY)
    results = [_describe_or_refuse(resource, request, context) async for resource in resources]
    return DescribeConfigsResponse(results=tuple(results))


def _describe_or_refuse(
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResult:
    try:
        entries = _entries(resource, context)
    except BrokerError as error:
        return DescribeConfigsResult(
            error_code=code_of(error),
            error_message=str(error),
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
    wanted = resource.configuration_keys
    configs = (_told(entry, request) for entry in entries if not wanted or entry.name in wanted)
    return DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, configs=tuple(configs)
    )


def _entries(resource: DescribeConfigsResource, context: RequestContext) -> list[ConfigEntry]:
    name, services = resource.resource_name, context.services
    require_config_right(AclOperation.DESCRIBE_CONFIGS, resource.resource_type, name, context)
    if resource.resource_type == TOPIC_RESOURCE:
        check_topic_name(name)
        topic_by_id_or_name(services.cluster.metadata, None, name)
        return topic_entries(services.configs, services.cluster.metadata.configs.overrides(TOPIC_RESOURCE, name))
    if resource.resource_type == GROUP_RESOURCE:
        if not name:
            raise InvalidRequestError("The group name is empty.")
        return group_entries(services.configs, name)
    if resource.resource_type == CLIENT_METRICS_RESOURCE:
        if not name:
            raise InvalidRequestError("Client metrics subscription name must not be empty")
        return client_metrics_entries(services.configs, name)
    if resource.resource_type == BROKER_RESOURCE:
        return _of_broker(name, context)
    # Without loggers there is nothing to list, which is not an error.
    if resource.resource_type == BROKER_LOGGER_RESOURCE and name == str(services.node_id):
        return []
    raise InvalidRequestError(f"Unsupported resource type: {resource.resource_type}")


def _of_broker(name: str, context: RequestContext) -> list[ConfigEntry]:
    services = context.services
    if name == ALL_BROKERS:
        return default_broker_entries(services.configs)
    # A broker only knows its own configs. Clients send this question to the broker that they ask about
    # (ConfigHelper.describeConfigs in Kafka).
    if name != str(services.node_id):
        raise InvalidRequestError(
            f"Unexpected broker id, expected {services.node_id} or empty string, but received {name}"
        )
    return broker_entries(services.configs)


def _told(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    # As in Kafka, a default of null is not a synonym.
    synonyms = [each for each in entry.values if each.value is not None] if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.key.secret,
        synonyms=tuple(
            DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source) for s in synonyms if s.name is not None
        ),
        config_type=int(entry.key.type),
        documentation=entry.key.doc if request.include_documentation else None,
    )
