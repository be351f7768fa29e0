"""IncrementalAlterConfigs (key 44), v0-v1: sets and resets configs of resources.

The resources are topics, brokers, groups and subscriptions to client metrics.

Operations: SET, DELETE, and for lists APPEND and SUBTRACT. All changes to a resource are applied, or none. With
`validate_only` the request is only checked. Groups need not exist. Only some of a broker's configs can change while it
runs (`configs.broker_changes`). An empty broker name means all brokers.

Errors per resource: TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED, INVALID_CONFIG (a key that is unknown or came with
a later release, a value that is invalid or outside the broker's bounds, a list operation on a key that is not a list),
INVALID_REQUEST (resource or config listed twice, SET without a value, unknown operation or resource type, unknown
broker, topic or group without a name; a value of a broker that is invalid or can't change while it runs),
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION.
"""

from collections import Counter
from collections.abc import Mapping

from kafka_groups.broker.requests.config_alterations import altered
from kafka_groups.broker.requests.config_changes import RESOURCE_KINDS, check_changes, current_values
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.config.keys import Key, KeyType
from kafka_groups.errors import InvalidConfigError, InvalidRequestError
from kafka_groups.protocol.messages.incremental_alter_configs import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["handle"]


async def handle(request: IncrementalAlterConfigsRequest, context: RequestContext) -> IncrementalAlterConfigsResponse:
    """Return one result for each resource."""
    responses = await altered(request.resources, _checked_changes, context, validate_only=request.validate_only)
    return IncrementalAlterConfigsResponse(responses=responses)


def _checked_changes(resource: AlterConfigsResource, context: RequestContext) -> dict[str, str | None]:
    # Kafka also changes the levels of loggers this way. Brokers here have none.
    kind = RESOURCE_KINDS.get(resource.resource_type)
    if kind is None:
        raise InvalidRequestError(f"Unsupported resource type: {resource.resource_type}")
    kind.check_resource(resource.resource_name, context)
    repeated = [name for name, count in Counter(config.name for config in resource.configs).items() if count > 1]
    if repeated:
        raise InvalidRequestError(f"Error due to duplicate config keys: {', '.join(repeated)}")
    current = current_values(resource.resource_type, resource.resource_name, context)
    keys = kind.keys()
    changes = {config.name: _changed(config, keys, current) for config in resource.configs}
    check_changes(resource.resource_type, resource.resource_name, changes, context)
    return changes


def _changed(config: AlterableConfig, keys: Mapping[str, Key], current: Mapping[str, str]) -> str | None:
    # Deleting what is not set, or not known, succeeds: nothing is there afterwards.
    if config.config_operation == DELETE:
        return None
    if config.config_operation not in (SET, APPEND, SUBTRACT):
        raise InvalidRequestError(f"Unknown operation {config.config_operation} on {config.name}")
    if config.value is None:
        raise InvalidRequestError(f"Null value not supported for : {config.name}")
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
