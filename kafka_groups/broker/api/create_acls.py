"""CreateAcls (key 30), v1-v3: creates ACLs. They count for the next request on every broker.

Each ACL is created by itself. One that exists stays, and its creation succeeds.

Errors per ACL: INVALID_REQUEST (see `check_creation`), SECURITY_DISABLED (the cluster has no authorizer),
CLUSTER_AUTHORIZATION_FAILED.
"""

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.creations import check_creation
from kafka_groups.broker.requests.acl_requests import authorizer_for, check_numbers
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError, InvalidRequestError
from kafka_groups.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

__all__ = ["handle"]

_NO_AUTHORIZER = "No Authorizer is configured."


async def handle(request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse:
    """Return one result for each ACL."""
    wanted = [_binding(creation) async for creation in context.turns.each(request.creations)]
    try:
        authorizer = authorizer_for(context, AclOperation.ALTER, _NO_AUTHORIZER)
    except BrokerError as error:
        return CreateAclsResponse(results=(_result(error),) * len(wanted))
    checks = context.turns.each(wanted)
    errors = [_problem(binding, reads_blocks=authorizer.rules.reads_blocks) async for binding in checks]
    valid = [binding for binding, error in zip(wanted, errors, strict=True) if error is None]
    context.services.cluster.metadata.change_acls(created=valid)
    return CreateAclsResponse(results=tuple(map(_result, errors)))


def _binding(creation: AclCreation) -> AclBinding:
    numbers = (creation.resource_type, creation.resource_pattern_type, creation.operation, creation.permission_type)
    check_numbers(*numbers)
    return AclBinding(
        AclResourceType.of_number(creation.resource_type),
        creation.resource_name,
        AclPatternType.of_number(creation.resource_pattern_type),
        creation.principal,
        creation.host,
        AclOperation.of_number(creation.operation),
        AclPermission.of_number(creation.permission_type),
    )


def _problem(binding: AclBinding, *, reads_blocks: bool) -> InvalidRequestError | None:
    try:
        check_creation(binding, reads_blocks=reads_blocks)
    except InvalidRequestError as error:
        return error
    return None


def _result(error: BrokerError | None) -> AclCreationResult:
    return AclCreationResult(error_code=code_of(error), error_message="" if error is None else str(error))
