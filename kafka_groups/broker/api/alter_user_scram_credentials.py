"""AlterUserScramCredentials (key 51), v0: sets and deletes the SCRAM credentials of users (KIP-554).

Errors per user: CLUSTER_AUTHORIZATION_FAILED (all of them), UNSUPPORTED_SASL_MECHANISM, UNACCEPTABLE_CREDENTIAL (no
name, fewer than 4096 or more than 16384 iterations), RESOURCE_NOT_FOUND (deletes what does not exist),
DUPLICATE_RESOURCE (the same user twice, also with different mechanisms).
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.security import ScramCredentials
from kafka_groups.errors import BrokerError, error_for
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_groups.protocol.sasl.scram import MECHANISM_NAMES, MIN_ITERATIONS, scram_credential

__all__ = ["handle"]

_MAX_ITERATIONS = 16_384

Change = ScramCredentialDeletion | ScramCredentialUpsertion


async def handle(
    request: AlterUserScramCredentialsRequest, context: RequestContext
) -> AlterUserScramCredentialsResponse:
    """Return one result for each user."""
    changes: dict[str, list[Change]] = {}
    every: tuple[Change, ...] = (*request.deletions, *request.upsertions)
    for change in every:
        changes.setdefault(change.name, []).append(change)
    each = context.turns.each(changes.items())
    if not context.may(AclOperation.ALTER, AclResourceType.CLUSTER):
        return AlterUserScramCredentialsResponse(results=tuple([_refused(user) async for user, _ in each]))
    results = [_altered(user, of_user, context.services.cluster.scram) async for user, of_user in each]
    return AlterUserScramCredentialsResponse(results=tuple(results))


def _refused(user: str) -> AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResult(user=user, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def _altered(user: str, changes: list[Change], credentials: ScramCredentials) -> AlterUserScramCredentialsResult:
    try:
        _check_changes(changes, credentials)
    except BrokerError as error:
        code = code_of(error)
        return AlterUserScramCredentialsResult(user=user, error_code=code, error_message=str(error))
    _apply(changes[0], credentials)
    return AlterUserScramCredentialsResult(user=user)


def _check_changes(changes: list[Change], credentials: ScramCredentials) -> None:
    # An error of the first change comes first. Kafka refuses a second one also for another mechanism of the user
    # (ScramControlManager.alterCredentials).
    _check(changes[0], credentials)
    if len(changes) > 1:
        raise error_for(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")


def _check(change: Change, credentials: ScramCredentials) -> None:
    if not change.name:
        raise error_for(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    mechanism = MECHANISM_NAMES.get(change.mechanism)
    if mechanism is None:
        raise error_for(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialUpsertion):
        _check_iterations(change.iterations)
    elif credentials.get(change.name, mechanism) is None:
        raise error_for(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")


def _check_iterations(iterations: int) -> None:
    # The bounds are Kafka's. Few iterations make guessing cheap, and many let a client slow down the brokers.
    if iterations < MIN_ITERATIONS:
        raise error_for(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if iterations > _MAX_ITERATIONS:
        raise error_for(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")


def _apply(change: Change, credentials: ScramCredentials) -> None:
    mechanism = MECHANISM_NAMES[change.mechanism]
    if isinstance(change, ScramCredentialDeletion):
        credentials.remove(change.name, mechanism)
        return
    stored = scram_credential(mechanism, change.salted_password, change.salt, change.iterations)
    credentials.put(change.name, mechanism, stored)
