"""The parts that CreateAcls, DescribeAcls and DeleteAcls share."""

from kafka_groups.acls import AclFilter, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.authorizer import Authorizer
from kafka_groups.broker.requests.context import RequestContext, UnansweredError
from kafka_groups.errors import error_for
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest

__all__ = ["acl_filter", "authorizer_for", "check_numbers"]


def authorizer_for(context: RequestContext, operation: AclOperation, text: str) -> Authorizer:
    """Return the authorizer, if the client may perform the operation on the cluster.

    Args:
        context: The context of the request.
        operation: ALTER to change ACLs, DESCRIBE to list them.
        text: The text of the error without an authorizer.

    Raises:
        BrokerError: SECURITY_DISABLED without an authorizer, or CLUSTER_AUTHORIZATION_FAILED.
    """
    authorizer = context.services.cluster.authorizer
    if authorizer is None:
        raise error_for(ErrorCode.SECURITY_DISABLED, text)
    context.require(operation, AclResourceType.CLUSTER)
    return authorizer


def check_numbers(*numbers: int) -> None:
    """Refuse the number of UNKNOWN, which no client may send.

    Raises:
        UnansweredError: There is one. Kafka closes the connection, too.
    """
    if 0 in numbers:
        raise UnansweredError("The request has an ACL with an UNKNOWN element.")


def acl_filter(asked: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    """Return the filter of a request. Numbers that this release does not have become UNKNOWN, which no ACL has."""
    check_numbers(asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type)
    return AclFilter(
        AclResourceType.of_number(asked.resource_type_filter),
        asked.resource_name_filter,
        AclPatternType.of_number(asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        AclOperation.of_number(asked.operation),
        AclPermission.of_number(asked.permission_type),
    )
