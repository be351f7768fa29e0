"""DeleteAcls (key 31), v1-v3: deletes the ACLs that match one of the filters, and returns them for each filter.

Errors per filter: INVALID_REQUEST (a number of the filter is unknown), SECURITY_DISABLED (the cluster has no
authorizer), CLUSTER_AUTHORIZATION_FAILED.
"""

from kafka_groups.acls import AclBinding, AclFilter, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.bindings import AccessControlLists, matches
from kafka_groups.broker.requests.acl_requests import acl_filter, authorizer_for
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY
from kafka_groups.errors import BrokerError, InvalidRequestError
from kafka_groups.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

__all__ = ["handle"]

_NO_AUTHORIZER = "No Authorizer is configured."


async def handle(request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponse:
    """Return one result for each filter. An ACL that matches two filters is in both results."""
    filters = [acl_filter(each) async for each in context.turns.each(request.filters, COSTLY)]
    try:
        authorizer_for(context, AclOperation.ALTER, _NO_AUTHORIZER)
    except BrokerError as error:
        return DeleteAclsResponse(filter_results=(_refused(error),) * len(filters))
    metadata = context.services.cluster.metadata
    acls, deleted, results = metadata.acls, dict[AclBinding, None](), []
    for wanted in filters:
        try:
            found = await _matching(wanted, acls, context)
        except InvalidRequestError as error:
            results.append(_refused(error))
            continue
        deleted.update(dict.fromkeys(found))
        results.append(_deleted(found))
    metadata.change_acls(deleted=deleted)
    return DeleteAclsResponse(filter_results=tuple(results))


async def _matching(wanted: AclFilter, acls: AccessControlLists, context: RequestContext) -> list[AclBinding]:
    if AclResourceType.UNKNOWN is wanted.resource_type or AclPatternType.UNKNOWN is wanted.pattern_type:
        raise InvalidRequestError("Unknown patternFilter.")
    if AclOperation.UNKNOWN is wanted.operation or AclPermission.UNKNOWN is wanted.permission:
        raise InvalidRequestError("Unknown entryFilter.")
    candidates = context.turns.each(acls.candidates(wanted), CHEAP)
    return [binding async for binding in candidates if matches(wanted, binding)]


def _refused(error: BrokerError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=code_of(error), error_message=str(error))


def _deleted(bindings: list[AclBinding]) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(matching_acls=tuple(map(_matching_acl, bindings)))


def _matching_acl(binding: AclBinding) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        resource_type=binding.resource_type,
        resource_name=binding.name,
        pattern_type=binding.pattern_type,
        principal=binding.principal,
        host=binding.host,
        operation=binding.operation,
        permission_type=binding.permission,
    )
