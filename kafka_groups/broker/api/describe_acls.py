"""DescribeAcls (key 29), v1-v3: lists the ACLs that match a filter, by their resource patterns.

Errors of the request: SECURITY_DISABLED (the cluster has no authorizer), CLUSTER_AUTHORIZATION_FAILED.
"""

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclResourceType
from kafka_groups.broker.authorization.bindings import matches
from kafka_groups.broker.requests.acl_requests import acl_filter, authorizer_for
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

__all__ = ["handle"]

_NO_AUTHORIZER = "No Authorizer is configured on the broker"

Pattern = tuple[AclResourceType, AclPatternType, str]


async def handle(request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    """Return the ACLs of each pattern."""
    wanted = acl_filter(request)
    try:
        authorizer_for(context, AclOperation.DESCRIBE, _NO_AUTHORIZER)
    except BrokerError as error:
        return DescribeAclsResponse(error_code=code_of(error), error_message=str(error))
    found: dict[Pattern, list[AclDescription]] = {}
    acls = context.services.cluster.metadata.acls
    async for binding in context.turns.each(acls.candidates(wanted), CHEAP):
        if matches(wanted, binding):
            pattern = (binding.resource_type, binding.pattern_type, binding.name)
            found.setdefault(pattern, []).append(_description(binding))
    return DescribeAclsResponse(
        error_message="",
        resources=tuple(
            DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=tuple(acls))
            for (kind, pattern, name), acls in found.items()
        ),
    )


def _description(binding: AclBinding) -> AclDescription:
    return AclDescription(
        principal=binding.principal,
        host=binding.host,
        operation=binding.operation,
        permission_type=binding.permission,
    )
