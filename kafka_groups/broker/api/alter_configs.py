"""AlterConfigs (key 33), v0-v2: gives resources these configs and no others, as clients did before KIP-339.

What a request does not name is reset. Otherwise the rules are those of IncrementalAlterConfigs, and so are the
resources. All changes to a resource are applied, or none. With `validate_only` the request is only checked.

Errors per resource: those of IncrementalAlterConfigs for SET, and INVALID_REQUEST for a config without a value.
"""

from kafka_groups.broker.requests.config_alterations import altered
from kafka_groups.broker.requests.config_changes import RESOURCE_KINDS, ChangedConfigs, check_changes, current_values
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.errors import InvalidRequestError
from kafka_groups.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse, ReplacedConfigs

__all__ = ["handle"]


async def handle(request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    """Return one result for each resource."""
    responses = await altered(request.resources, _checked_changes, context, validate_only=request.validate_only)
    return AlterConfigsResponse(responses=responses)


def _checked_changes(resource: ReplacedConfigs, context: RequestContext) -> ChangedConfigs:
    kind = RESOURCE_KINDS.get(resource.resource_type)
    if kind is None:
        raise InvalidRequestError(f"Unknown resource type {resource.resource_type}")
    kind.check_resource(resource.resource_name, context)
    for config in resource.configs:
        if config.value is None:
            raise InvalidRequestError(f"Null value not supported for : {config.name}")
    values = {config.name: config.value for config in resource.configs}
    current = current_values(resource.resource_type, resource.resource_name, context)
    changes = {**dict.fromkeys(current), **values}
    check_changes(resource.resource_type, resource.resource_name, changes, context)
    return changes
