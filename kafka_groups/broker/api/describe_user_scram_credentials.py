"""DescribeUserScramCredentials (key 50), v0: the mechanisms and iterations of users, or of all users (KIP-554).

Error of the request: CLUSTER_AUTHORIZATION_FAILED.
Errors per user: RESOURCE_NOT_FOUND for one without credentials, DUPLICATE_RESOURCE for one that is named twice.
"""

from collections import Counter

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.security import ScramCredentials
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafka_groups.protocol.sasl.scram import MECHANISM_NUMBERS

__all__ = ["handle"]


async def handle(
    request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    """Return one result for each user."""
    if not context.may(AclOperation.DESCRIBE, AclResourceType.CLUSTER):
        return _refusal(request)
    credentials = context.services.cluster.scram
    times = Counter(user.name for user in request.users or ())
    # Without names, all users are described.
    names = times or dict.fromkeys(credentials.users, 1)
    each = context.turns.each(names.items())
    results = [_described(name, count, credentials) async for name, count in each]
    return DescribeUserScramCredentialsResponse(results=tuple(results))


def _refusal(request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    # As in Kafka, one error of the request and one for each user, without the name
    # (DescribeUserScramCredentialsRequest.getErrorResponse). Kafka never answers a request for all users.
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    refused = tuple(DescribeUserScramCredentialsResult(user="", error_code=code) for _ in request.users or ())
    return DescribeUserScramCredentialsResponse(error_code=code, results=refused)


def _described(name: str, times: int, credentials: ScramCredentials) -> DescribeUserScramCredentialsResult:
    # Kafka refuses a user that is listed twice, instead of answering once (KIP-554).
    if times > 1:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
        )
    stored = credentials.of(name)
    if not stored:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {name}",
        )
    infos = (CredentialInfo(mechanism=MECHANISM_NUMBERS[m], iterations=c.iterations) for m, c in stored.items())
    return DescribeUserScramCredentialsResult(user=name, credential_infos=tuple(infos))
