"""Questions about users with SCRAM credentials: describe, alter (KIP-554)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kafka_groups.admin.rules.user_values import (
    UserDescription,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka_groups.client.calls.questions import Answer, Asking, Question, gathered, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import KafkaGroupsError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_groups.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)
from kafka_groups.protocol.sasl.scram import MECHANISM_NAMES, MECHANISM_NUMBERS, salted_password

__all__ = ["UserChange", "alter_users", "describe_all_users", "describe_users"]

UserChange = UserScramCredentialUpsertion | UserScramCredentialDeletion
UserDescriptions = Results[str, UserDescription]

_CLUSTER: Final = "the cluster"
_UNKNOWN: Final = "UNKNOWN"


async def describe_users(ask: Asking, users: Iterable[str]) -> UserDescriptions:
    """Ask any broker for the mechanisms of users."""

    def build(keys: Sequence[str], _version: int) -> DescribeUserScramCredentialsRequest:
        return DescribeUserScramCredentialsRequest(users=tuple(UserName(name=each) for each in keys))

    def read(
        keys: Sequence[str], response: DescribeUserScramCredentialsResponse
    ) -> Mapping[str, Answer[UserDescription]]:
        # Without the right, one error holds for the request, and the results have no names.
        if response.error_code is not ErrorCode.NONE:
            return dict.fromkeys(keys, error_for(response.error_code, response.error_message))
        return {each.user: _description_of(each) for each in response.results}

    keys = tuple(dict.fromkeys(users))
    return await ask(Question("describe the user", ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, keys, build, read))


async def describe_all_users(ask: Asking) -> UserDescriptions:
    """Ask any broker for the mechanisms of all users who have credentials.

    Raises:
        KafkaGroupsError: You may not describe the cluster.
    """

    def read(
        _keys: Sequence[str], response: DescribeUserScramCredentialsResponse
    ) -> Mapping[str, Answer[UserDescriptions]]:
        found = gathered({each.user: _description_of(each) for each in sorted(response.results, key=_name_of)})
        return {_CLUSTER: told(response.error_code, response.error_message, found)}

    request = DescribeUserScramCredentialsRequest(users=None)
    api = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS
    return (await ask(Question("list the users of", api, (_CLUSTER,), lambda _keys, _version: request, read)))[_CLUSTER]


def _name_of(result: DescribeUserScramCredentialsResult) -> str:
    return result.user


def _description_of(result: DescribeUserScramCredentialsResult) -> UserDescription | KafkaGroupsError:
    iterations = {MECHANISM_NAMES.get(each.mechanism, _UNKNOWN): each.iterations for each in result.credential_infos}
    message = result.error_message or f"{result.error_code.name}: user {result.user}"
    return told(result.error_code, message, UserDescription(result.user, dict(sorted(iterations.items()))))


async def alter_users(ask: Asking, changes: Sequence[UserChange], new_salt: Callable[[], bytes]) -> Results[str, None]:
    """Have the controller change the credentials of users. The first change of a user that fails is the last one.

    Args:
        ask: Asks the brokers.
        changes: The changes.
        new_salt: Returns a salt that nobody can guess. Each password has one of its own.
    """
    errors: dict[str, KafkaGroupsError] = {}
    for some in _requests(changes):
        going_on = {user: change for user, change in some.items() if user not in errors}
        errors |= (await ask(_alteration(going_on, new_salt))).errors
    return Results({each.user: None for each in changes if each.user not in errors}, errors)


def _requests(changes: Iterable[UserChange]) -> list[dict[str, UserChange]]:
    """Return changes by user, in order. A request that names a user twice is refused (DUPLICATE_RESOURCE)."""
    requests: list[dict[str, UserChange]] = []
    for change in changes:
        free = next((each for each in requests if change.user not in each), None)
        if free is None:
            requests.append(free := {})
        free[change.user] = change
    return requests


def _alteration(changes: Mapping[str, UserChange], new_salt: Callable[[], bytes]) -> Question[str, None]:
    # Hashed once, so that a request that is repeated sets the same credentials.
    upsertions = {
        user: _hashed(change, new_salt())
        for user, change in changes.items()
        if isinstance(change, UserScramCredentialUpsertion)
    }
    deletions = {
        user: ScramCredentialDeletion(name=user, mechanism=MECHANISM_NUMBERS[change.mechanism])
        for user, change in changes.items()
        if isinstance(change, UserScramCredentialDeletion)
    }

    def build(keys: Sequence[str], _version: int) -> AlterUserScramCredentialsRequest:
        return AlterUserScramCredentialsRequest(
            deletions=tuple(deletions[key] for key in keys if key in deletions),
            upsertions=tuple(upsertions[key] for key in keys if key in upsertions),
        )

    return Question("alter the user", ApiKey.ALTER_USER_SCRAM_CREDENTIALS, tuple(changes), build, _altered)


def _hashed(change: UserScramCredentialUpsertion, salt: bytes) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=change.user,
        mechanism=MECHANISM_NUMBERS[change.mechanism],
        iterations=change.iterations,
        salt=salt,
        salted_password=salted_password(change.mechanism, change.password, salt, change.iterations),
    )


def _altered(_keys: Sequence[str], response: AlterUserScramCredentialsResponse) -> Mapping[str, Answer[None]]:
    return {
        each.user: told(each.error_code, each.error_message or f"{each.error_code.name}: user {each.user}", None)
        for each in response.results
    }
