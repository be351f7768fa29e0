"""The rules by which a connection authenticates at a broker, and the requests that change SCRAM credentials."""

import random
from typing import Any

import pytest

from kafka_groups.broker.security import ANONYMOUS, Authentication, BrokerSecurity, ScramCredentials
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_groups.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafka_groups.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_groups.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_groups.protocol.sasl.oauthbearer import unsecured_token
from kafka_groups.protocol.sasl.scram import ScramClient
from tests.support.broker.broker_services import HandlerBroker

SECURITY = BrokerSecurity(mechanisms=("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"), users={"ann": "pw", "bob": "pw"})
ANN, BOB, WRONG = b"\0ann\0pw", b"\0bob\0pw", b"\0ann\0no"
NOW_MS = 10_000


def authentication(max_session_ms: int = 0, security: BrokerSecurity = SECURITY) -> Authentication:
    credentials = ScramCredentials()
    credentials.add_users(security, lambda: random.Random(1).randbytes(16))
    return Authentication(security, credentials, max_session_ms, lambda: "nonce")


def authenticated(max_session_ms: int = 0) -> Authentication:
    made = authentication(max_session_ms)
    made.handshake("PLAIN", NOW_MS)
    assert made.authenticate(ANN, NOW_MS, 0).error_code is ErrorCode.NONE
    return made


def permitted(made: Authentication, now_ms: int = NOW_MS) -> set[ApiKey]:
    return {key for key in ApiKey if made.permits(key, now_ms)}


def test_each_step_permits_its_own_requests() -> None:
    made = authentication()
    assert permitted(made) == {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE}
    assert made.handshake("PLAIN", NOW_MS).error_code is ErrorCode.NONE
    assert permitted(made) == {ApiKey.SASL_AUTHENTICATE}
    made.authenticate(ANN, NOW_MS, 0)
    assert permitted(made) == set(ApiKey)


@pytest.mark.parametrize(("mechanism", "message"), [("PLAIN", WRONG), ("OAUTHBEARER", b"x"), ("SCRAM-SHA-256", b"x")])
def test_after_a_failure_nothing_is_permitted(mechanism: str, message: bytes) -> None:
    made = authentication()
    made.handshake(mechanism, NOW_MS)
    assert made.authenticate(message, NOW_MS, 0).error_code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert made.has_failed
    assert permitted(made) == set()


def test_mechanism_that_is_not_enabled_is_refused_with_those_that_are() -> None:
    made = authentication()
    response = made.handshake("SCRAM-SHA-512", NOW_MS)
    assert response.error_code is ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert response.mechanisms == SECURITY.mechanisms
    assert made.has_failed


def test_scram_takes_two_rounds() -> None:
    made = authentication()
    made.handshake("SCRAM-SHA-256", NOW_MS)
    client = ScramClient("SCRAM-SHA-256", "ann", "pw", "c")
    challenge = made.authenticate(client.first(), NOW_MS, 0)
    assert permitted(made) == {ApiKey.SASL_AUTHENTICATE}
    final = client.respond(challenge.auth_bytes)
    assert final is not None
    assert client.respond(made.authenticate(final, NOW_MS, 0).auth_bytes) is None
    assert made.principal == "User:ann"


def test_the_principal_is_known_once_the_exchange_has_succeeded() -> None:
    made = authentication()
    assert made.principal == ANONYMOUS
    made.handshake("PLAIN", NOW_MS)
    assert made.principal == ANONYMOUS
    made.authenticate(ANN, NOW_MS, 0)
    assert made.principal == "User:ann"
    made.handshake("PLAIN", NOW_MS + 2_000)
    made.authenticate(WRONG, NOW_MS + 2_000, 0)
    assert made.principal == "User:ann"
    assert permitted(made) == set()


# -------------------------------------------------------------------------------------------------- the session


def test_session_ends_and_begins_anew() -> None:
    made = authenticated(max_session_ms=5_000)
    assert permitted(made, NOW_MS + 4_999) == set(ApiKey)
    assert permitted(made, NOW_MS + 5_000) == {ApiKey.SASL_HANDSHAKE}
    assert made.handshake("PLAIN", NOW_MS + 5_000).error_code is ErrorCode.NONE
    assert made.authenticate(ANN, NOW_MS + 5_000, 0).session_lifetime_ms == 5_000
    assert permitted(made, NOW_MS + 9_999) == set(ApiKey)


@pytest.mark.parametrize(("max_session_ms", "lifetime_ms"), [(0, 60_000), (5_000, 5_000), (90_000, 60_000)])
def test_session_is_no_longer_than_the_token_lives(max_session_ms: int, lifetime_ms: int) -> None:
    made = authentication(max_session_ms)
    made.handshake("OAUTHBEARER", NOW_MS)
    token = unsecured_token({"sub": "ann", "exp": 61})
    answer = made.authenticate(f"n,,\x01auth=Bearer {token}\x01\x01".encode(), NOW_MS, wall_ms=1_000)
    assert answer.session_lifetime_ms == lifetime_ms


def test_other_user_or_mechanism_is_refused_when_a_client_authenticates_again() -> None:
    made = authenticated()
    made.handshake("PLAIN", NOW_MS + 2_000)
    answer = made.authenticate(BOB, NOW_MS + 2_000, 0)
    assert answer.error_code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Cannot change principals during re-authentication"
    assert made.has_failed
    made = authenticated()
    assert made.handshake("OAUTHBEARER", NOW_MS + 2_000).error_code is ErrorCode.UNSUPPORTED_SASL_MECHANISM


def test_authenticating_again_within_a_second_or_without_a_handshake_is_refused() -> None:
    made = authenticated()
    assert made.handshake("PLAIN", NOW_MS + 999).error_code is ErrorCode.ILLEGAL_SASL_STATE
    assert made.authenticate(ANN, NOW_MS + 999, 0).error_code is ErrorCode.ILLEGAL_SASL_STATE
    assert permitted(made) == set(ApiKey)


@pytest.mark.parametrize("mechanisms", [(), ("OAUTHBEARER",)])
def test_users_whose_passwords_no_mechanism_asks_for_are_refused(mechanisms: tuple[str, ...]) -> None:
    """Such a cluster would be open to anyone, or closed to the users."""
    with pytest.raises(ConfigurationError, match="or leave the users out"):
        BrokerSecurity(mechanisms=mechanisms, users={"ann": "x"})


def test_unknown_mechanism_is_refused_and_passwords_are_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="Unknown SASL mechanism 'GSSAPI'"):
        BrokerSecurity(mechanisms=("GSSAPI",))
    assert "pw" not in repr(SECURITY) + repr(authentication())


# ----------------------------------------------------------------------------------------------- the requests


async def test_broker_without_sasl_says_so() -> None:
    broker = HandlerBroker()
    handshake = await broker.ask(SaslHandshakeRequest(mechanism="PLAIN"))
    authenticate = await broker.ask(SaslAuthenticateRequest(auth_bytes=ANN))
    assert handshake.error_code is authenticate.error_code is ErrorCode.ILLEGAL_SASL_STATE


def upsertion(**changes: Any) -> ScramCredentialUpsertion:
    given: dict[str, Any] = {
        "name": "ann",
        "mechanism": 1,
        "iterations": 4_096,
        "salt": b"salt",
        "salted_password": b"hash",
    }
    return ScramCredentialUpsertion(**(given | changes))


async def altered(broker: HandlerBroker, *changes: Any) -> dict[str, ErrorCode]:
    upsertions = tuple(change for change in changes if isinstance(change, ScramCredentialUpsertion))
    deletions = tuple(change for change in changes if isinstance(change, ScramCredentialDeletion))
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    return {result.user: result.error_code for result in (await broker.ask(request)).results}


async def described(broker: HandlerBroker, *users: str) -> dict[str, Any]:
    request = DescribeUserScramCredentialsRequest(users=tuple(UserName(name=user) for user in users) or None)
    response = await broker.ask(request)
    return {result.user: result.error_code or result.credential_infos for result in response.results}


async def test_credentials_are_set_described_and_deleted() -> None:
    broker = HandlerBroker()
    assert await altered(broker, upsertion(), upsertion(name="bob")) == {"ann": ErrorCode.NONE, "bob": ErrorCode.NONE}
    assert await altered(broker, upsertion(mechanism=2, iterations=8_192)) == {"ann": ErrorCode.NONE}
    of_ann = (CredentialInfo(mechanism=1, iterations=4_096), CredentialInfo(mechanism=2, iterations=8_192))
    assert await described(broker) == {"ann": of_ann, "bob": of_ann[:1]}
    assert await altered(broker, ScramCredentialDeletion(name="ann", mechanism=1)) == {"ann": ErrorCode.NONE}
    assert await described(broker, "ann") == {"ann": of_ann[1:]}


async def test_bad_changes_are_refused_and_nothing_of_them_is_made() -> None:
    broker = HandlerBroker()
    refusals: dict[Any, ErrorCode] = {
        upsertion(name=""): ErrorCode.UNACCEPTABLE_CREDENTIAL,
        upsertion(iterations=4_095): ErrorCode.UNACCEPTABLE_CREDENTIAL,
        upsertion(iterations=16_385): ErrorCode.UNACCEPTABLE_CREDENTIAL,
        upsertion(mechanism=3): ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ScramCredentialDeletion(name="ann", mechanism=2): ErrorCode.RESOURCE_NOT_FOUND,
    }
    for change, code in refusals.items():
        assert await altered(broker, change) == {change.name: code}
    for mechanism in (1, 2):
        assert await altered(broker, upsertion(), upsertion(mechanism=mechanism)) == {
            "ann": ErrorCode.DUPLICATE_RESOURCE
        }
    assert await described(broker) == {}
    assert await described(broker, "ann") == {"ann": ErrorCode.RESOURCE_NOT_FOUND}
    assert await described(broker, "bob", "bob") == {"bob": ErrorCode.DUPLICATE_RESOURCE}
