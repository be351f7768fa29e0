"""The way of both requests that alter configs: one result for each resource, all of whose changes are made, or none."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from kafka_groups.acls import AclOperation
from kafka_groups.broker.requests.config_changes import ChangedConfigs, message_for
from kafka_groups.broker.requests.config_rights import require_config_right
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY
from kafka_groups.errors import BrokerError, InvalidRequestError
from kafka_groups.protocol.messages.incremental_alter_configs import AlterConfigsResourceResponse

__all__ = ["altered"]


class _Resource(Protocol):
    @property
    def resource_type(self) -> int: ...

    @property
    def resource_name(self) -> str: ...


R = TypeVar("R", bound=_Resource)


async def altered(
    resources: Sequence[R],
    checked: Callable[[R, RequestContext], ChangedConfigs],
    context: RequestContext,
    *,
    validate_only: bool,
) -> tuple[AlterConfigsResourceResponse, ...]:
    """Alter the configs of resources.

    Args:
        resources: The resources of a request.
        checked: Returns the changes that a resource of the request asks for, or raises an error.
        context: The request's context.
        validate_only: Whether changes are only checked.
    """
    each = context.turns.each
    times = Counter([_key(resource) async for resource in each(resources, CHEAP)])
    responses: list[AlterConfigsResourceResponse] = []
    async for resource in each(resources, COSTLY):
        try:
            # The order of two changes to one resource would matter, and a request has none.
            if times[_key(resource)] > 1:
                raise InvalidRequestError("Each resource must appear at most once.")
            require_config_right(AclOperation.ALTER_CONFIGS, resource.resource_type, resource.resource_name, context)
            changes = checked(resource, context)
        except BrokerError as error:
            responses.append(_response(resource, error))
            continue
        if not validate_only:
            context.services.cluster.metadata.alter_configs(resource.resource_type, resource.resource_name, changes)
        responses.append(_response(resource, None))
    return tuple(responses)


def _key(resource: _Resource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _response(resource: _Resource, error: BrokerError | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code_of(error),
        error_message=message_for(error, resource.resource_type),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
