"""AlterConfigs (key 33), v0-v2: gives resources these configs and no others, as clients did before KIP-339.

What a request does not name is reset. Otherwise the rules are those of IncrementalAlterConfigs, and so are the
resources. All changes to a resource are applied, or none. With `validate_only` the request is only checked.

Errors per resource: those of IncrementalAlterConfigs for SET, and INVALID_REQUEST for a config without a value.
"""

from collections import Counter

from kafka_groups.acls import AclOperation
from kafka_groups.broker.requests.config_changes import (
    RESOURCE_KINDS,
    ChangedConfigs,
    check_changes,
    current_values,
    message_for,
)
from kafka_groups.broker.requests.config_rights import require_config_right
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY
from kafka_groups.errors import BrokerError, InvalidRequestError
from kafka_groups.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse, ReplacedConfigs
from kafka_groups.protocol.messages.incremental_alter_configs import AlterConfigsResourceResponse

__all__ = ["handle"]


async def handle(request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    """Return one result for each resource."""
    each = context.turns.each
    times = Counter(
        [(resource.resource_type, resource.resource_name) async for resource in each(request.resources, CHEAP)]
    )
    responses: list[AlterConfigsResourceResponse] = []
    async for resource in each(request.resources, COSTLY):
        is_repeated = times[resource.resource_type, resource.resource_name] > 1
        error = _replace(resource, context, is_repeated=is_repeated, validate_only=request.validate_only)
        responses.append(_response(resource, error))
    return AlterConfigsResponse(responses=tuple(responses))


def _response(resource: ReplacedConfigs, error: BrokerError | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code_of(error),
        error_message=message_for(error, resource.resource_type),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _replace(
    resource: ReplacedConfigs, context: RequestContext, *, is_repeated: bool, validate_only: bool
) -> BrokerError | None:
    try:
        # The order of two changes to one resource would matter, and a request has none.
        if is_repeated:
            raise InvalidRequestError("Each resource must appear at most once.")
        require_config_right(AclOperation.ALTER_CONFIGS, resource.resource_type, resource.resource_name, context)
        changes = _checked_changes(resource, context)
    except BrokerError as error:
        return error
    if not validate_only:
        context.services.cluster.metadata.alter_configs(resource.resource_type, resource.resource_name, changes)
    return None


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
