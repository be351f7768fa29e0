"""IncrementalAlterConfigs (key 44), v0-v1: sets and resets configs of resources.

The resources are topics, brokers, groups and subscriptions to client metrics.

Operations: SET, DELETE, and for lists APPEND and SUBTRACT. All changes to a resource are applied, or none. With
`validate_only` the request is only checked. Groups need not exist. Only some of a broker's configs can change while it
runs (`configs.effective.DYNAMIC_BROKER_KEYS`). An empty broker name means all brokers.

Errors per resource: TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED, INVALID_CONFIG (a key that is unknown or came with
a later release, a value that is invalid or outside the broker's bounds, a list operation on a key that is not a list),
INVALID_REQUEST (resource or config listed twice, SET without a value, unknown operation or resource type, unknown
broker, topic or group without a name; a value of a broker that is invalid or can't change while it runs),
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from attrs import frozen

from kafka_groups.acls import AclOperation
from kafka_groups.broker.configs.effective import ALL_BROKERS, DYNAMIC_BROKER_KEYS
from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.broker.requests.config_rights import require_config_right
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_of, message_unless_refused
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY
from kafka_groups.config.cluster.broker import broker_keys, validate_broker_config
from kafka_groups.config.cluster.client_metrics import client_metrics_config
from kafka_groups.config.cluster.groups import check_group_config, group_keys
from kafka_groups.config.cluster.topic import topic_config, topic_keys
from kafka_groups.config.keys import Key, KeyType
from kafka_groups.errors import BrokerError, InvalidConfigError, InvalidRequestError
from kafka_groups.protocol.messages.config_resources import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["handle"]


@frozen
class _ResourceKind:
    """Rules for resources of one type: whether they exist, their keys, and which values are valid together."""

    check_resource: Callable[[str, RequestContext], None]
    keys: Callable[[], Mapping[str, Key]]
    check_values: Callable[[RequestContext, Mapping[str, str]], None]


async def handle(request: IncrementalAlterConfigsRequest, context: RequestContext) -> IncrementalAlterConfigsResponse:
    """Return one result for each resource."""
    each = context.turns.each
    keys = [(resource.resource_type, resource.resource_name) async for resource in each(request.resources, CHEAP)]
    times = Counter(keys)
    responses: list[AlterConfigsResourceResponse] = []
    async for resource in each(request.resources, COSTLY):
        key = (resource.resource_type, resource.resource_name)
        error = _alter(resource, context, times[key], validate_only=request.validate_only)
        responses.append(_response(resource, error))
    return IncrementalAlterConfigsResponse(responses=tuple(responses))


def _response(resource: AlterConfigsResource, error: BrokerError | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code_of(error),
        error_message=_message_of(error, resource),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _message_of(error: BrokerError | None, resource: AlterConfigsResource) -> str | None:
    # In Kafka, brokers check the right for themselves without a text, and the controller the others with one
    # (ConfigAdminManager.preprocess and ControllerApis.handleIncrementalAlterConfigs).
    has_text = resource.resource_type not in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE)
    return message_of(error) if has_text else message_unless_refused(error)


def _alter(
    resource: AlterConfigsResource, context: RequestContext, times: int, *, validate_only: bool
) -> BrokerError | None:
    try:
        # The order of two changes to one resource would matter, and a request has none.
        if times > 1:
            raise InvalidRequestError("Each resource must appear at most once.")
        require_config_right(AclOperation.ALTER_CONFIGS, resource.resource_type, resource.resource_name, context)
        changes = _checked_changes(resource, context)
    except BrokerError as error:
        return error
    if not validate_only:
        context.services.cluster.metadata.alter_configs(resource.resource_type, resource.resource_name, changes)
    return None


def _checked_changes(resource: AlterConfigsResource, context: RequestContext) -> dict[str, str | None]:
    # Kafka also changes the levels of loggers this way. Brokers here have none.
    kind = _KINDS.get(resource.resource_type)
    if kind is None:
        raise InvalidRequestError(f"Unsupported resource type: {resource.resource_type}")
    kind.check_resource(resource.resource_name, context)
    repeated = [name for name, count in Counter(config.name for config in resource.configs).items() if count > 1]
    if repeated:
        raise InvalidRequestError(f"Error due to duplicate config keys: {', '.join(repeated)}")
    current = context.services.cluster.metadata.configs.overrides(resource.resource_type, resource.resource_name)
    keys = kind.keys()
    changes = {config.name: _changed(config, keys, current) for config in resource.configs}
    # Values are checked together with those that were set before, because some only fit others.
    merged = {**current, **changes}
    kind.check_values(context, {name: value for name, value in merged.items() if value is not None})
    return changes


def _changed(config: AlterableConfig, keys: Mapping[str, Key], current: Mapping[str, str]) -> str | None:
    # Deleting what is not set, or not known, succeeds: nothing is there afterwards.
    if config.config_operation == DELETE:
        return None
    if config.config_operation not in (SET, APPEND, SUBTRACT):
        raise InvalidRequestError(f"Unknown operation {config.config_operation} on {config.name}")
    if config.value is None:
        raise InvalidRequestError(f"Null value not supported for: {config.name}")
    if config.config_operation == SET:
        return config.value
    key = keys.get(config.name)
    # APPEND and SUBTRACT need to know what kind of value a key has. For SET, `check_values` finds unknown keys.
    if key is None:
        raise InvalidConfigError(f"Unknown configuration key '{config.name}' for this resource.")
    return _changed_list(key, config.value, current.get(config.name), adds=config.config_operation == APPEND)


def _changed_list(key: Key, items: str, current: str | None, *, adds: bool) -> str:
    if key.type is not KeyType.LIST:
        raise InvalidConfigError(f"Can't append to or subtract from {key.name}, because its type is not LIST.")
    # A list that was never set begins with its default.
    before = _items(current if current is not None else key.format(key.default) or "")
    named = _items(items)
    # An item that is in the list already is not added again, and one that is not in it can be subtracted.
    if adds:
        return ",".join(dict.fromkeys([*before, *named]))
    return ",".join(item for item in before if item not in named)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


# ------------------------------------------------------------------------------------- kinds of resources


def _check_topic(name: str, context: RequestContext) -> None:
    if not name:
        raise InvalidRequestError("Default topic resources are not allowed.")
    check_topic_name(name)
    topic_by_id_or_name(context.services.cluster.metadata, None, name)


def _check_topic_values(context: RequestContext, values: Mapping[str, str]) -> None:
    cluster = context.services.cluster
    cluster.profile.check_topic_keys(values)
    topic_config(cluster.settings, values)


def _check_group(name: str, _context: RequestContext) -> None:
    if not name:
        raise InvalidRequestError("The group name is empty.")


def _check_group_values(context: RequestContext, values: Mapping[str, str]) -> None:
    cluster = context.services.cluster
    cluster.profile.check_group_keys(values)
    check_group_config(cluster.settings, values)


def _check_client_metrics(name: str, _context: RequestContext) -> None:
    if not name:
        raise InvalidRequestError("Subscription name can't be empty")


def _no_list_operations() -> Mapping[str, Key]:
    return {}


def _check_client_metrics_values(_context: RequestContext, values: Mapping[str, str]) -> None:
    client_metrics_config(values)


def _check_broker(name: str, context: RequestContext) -> None:
    if name != ALL_BROKERS and name not in map(str, context.services.cluster.metadata.brokers):
        raise InvalidRequestError(f"Unexpected broker id: {name}")


def _check_broker_values(context: RequestContext, values: Mapping[str, str]) -> None:
    # As in Kafka: unknown keys are kept, because plug-ins may use them, and errors are INVALID_REQUEST.
    cluster = context.services.cluster
    known = {name for name in broker_keys() if name not in cluster.profile.missing_broker_keys}
    fixed = sorted((values.keys() & known) - DYNAMIC_BROKER_KEYS)
    if fixed:
        raise InvalidRequestError(f"Cannot update these configs dynamically: {', '.join(fixed)}")
    for name in values.keys() & known & DYNAMIC_BROKER_KEYS:
        try:
            validate_broker_config(cluster.settings, name, values[name])
        except InvalidConfigError as error:
            raise InvalidRequestError(str(error)) from error


_KINDS: Mapping[int, _ResourceKind] = {
    TOPIC_RESOURCE: _ResourceKind(_check_topic, topic_keys, _check_topic_values),
    GROUP_RESOURCE: _ResourceKind(_check_group, group_keys, _check_group_values),
    CLIENT_METRICS_RESOURCE: _ResourceKind(_check_client_metrics, _no_list_operations, _check_client_metrics_values),
    BROKER_RESOURCE: _ResourceKind(_check_broker, broker_keys, _check_broker_values),
}
