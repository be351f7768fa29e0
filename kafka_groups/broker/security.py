"""Authentication on the embedded brokers: who may connect, and how, as on Kafka's brokers.

What a client may do is decided in `broker/authorization/`, if the cluster has an authorizer.
"""

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import define, field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.net.tls import ServerTls
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafka_groups.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafka_groups.protocol.sasl.exchange import Identity, RejectedError, ServerExchange
from kafka_groups.protocol.sasl.oauthbearer import OAUTHBEARER, OAuthServer, claims_of
from kafka_groups.protocol.sasl.plain import PLAIN, PlainServer
from kafka_groups.protocol.sasl.scram import (
    MIN_ITERATIONS,
    SCRAM_MECHANISMS,
    ScramCredential,
    ScramServer,
    salted_password,
    scram_credential,
)

__all__ = ["ANONYMOUS", "Authentication", "BrokerSecurity", "ScramCredentials"]

ANONYMOUS = "User:ANONYMOUS"
"""The principal of clients that need not authenticate, or have not yet. See `RequestContext.principal`."""

_WITH_PASSWORDS = (PLAIN, *SCRAM_MECHANISMS)
_MECHANISMS = (*_WITH_PASSWORDS, OAUTHBEARER)
_NO_USERS: Mapping[str, str] = MappingProxyType({})
_LEAST_MS_BETWEEN = 1_000
"""A client may authenticate again only so long after the last time."""


def _known(_instance: object, _attribute: Any, mechanisms: tuple[str, ...]) -> None:
    for name in mechanisms:
        if name not in _MECHANISMS:
            raise ConfigurationError(f"Unknown SASL mechanism {name!r}; supported are {', '.join(_MECHANISMS)}")


@frozen(kw_only=True)
class BrokerSecurity:
    """TLS and SASL of an embedded cluster; without mechanisms and TLS, anyone may connect.

    Attributes:
        mechanisms: SASL mechanisms that clients may use: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. If there
            are any, every client must authenticate.
        users: Passwords by user name, for PLAIN and SCRAM. Clients can change SCRAM credentials while the cluster
            runs (AlterUserScramCredentials).
        tls: The brokers' certificates; None for plain text.
        token_subject: Returns the user that a token of OAUTHBEARER stands for, or raises ValueError if the token is
            not valid. By default, unsigned JSON web tokens are valid until they expire, as in Kafka's own default.

    Raises:
        ConfigurationError: A mechanism is unknown, or there are users, and no mechanism that has passwords.
    """

    mechanisms: tuple[str, ...] = field(default=(), validator=_known)
    users: Mapping[str, str] = field(default=_NO_USERS, repr=lambda users: repr(sorted(users)))
    tls: ServerTls | None = None
    token_subject: Callable[[str], str] | None = None

    def __attrs_post_init__(self) -> None:
        if self.users and not set(self.mechanisms) & set(_WITH_PASSWORDS):
            raise ConfigurationError(
                f"There are users, and no SASL mechanism that asks for their passwords. Add one of "
                f"{', '.join(_WITH_PASSWORDS)}, or leave the users out; without a mechanism, anyone may connect."
            )


class ScramCredentials:
    """The SCRAM credentials of a cluster, by user and mechanism."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], ScramCredential] = {}

    def __repr__(self) -> str:
        return f"<ScramCredentials of {len(self.users)} users>"

    @property
    def users(self) -> tuple[str, ...]:
        """Names of all users that have some, sorted."""
        return tuple(sorted({user for user, _ in self._stored}))

    def of(self, user: str) -> dict[str, ScramCredential]:
        """Return the credentials of a user by mechanism."""
        return {mechanism: stored for (name, mechanism), stored in sorted(self._stored.items()) if name == user}

    def get(self, user: str, mechanism: str) -> ScramCredential | None:
        """Return one credential, or None."""
        return self._stored.get((user, mechanism))

    def put(self, user: str, mechanism: str, credential: ScramCredential) -> None:
        """Set a credential."""
        self._stored[user, mechanism] = credential

    def remove(self, user: str, mechanism: str) -> None:
        """Delete a credential, if there is one."""
        self._stored.pop((user, mechanism), None)

    def add_users(self, security: BrokerSecurity, salt: Callable[[], bytes]) -> None:
        """Make the credentials of the users for the SCRAM mechanisms that are enabled."""
        for mechanism in security.mechanisms:
            for user, password in security.users.items() if mechanism in SCRAM_MECHANISMS else ():
                fresh = salt()
                salted = salted_password(mechanism, password, fresh, MIN_ITERATIONS)
                self.put(user, mechanism, scram_credential(mechanism, salted, fresh, MIN_ITERATIONS))


class _State(enum.Enum):
    HANDSHAKE = "waits for the mechanism"
    EXCHANGE = "exchanges messages"
    AUTHENTICATED = "authenticated"
    FAILED = "failed"


_ALLOWED: Mapping[_State, frozenset[ApiKey]] = MappingProxyType({
    _State.HANDSHAKE: frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE}),
    _State.EXCHANGE: frozenset({ApiKey.SASL_AUTHENTICATE}),
    _State.FAILED: frozenset(),
})  # fmt: skip
"""The requests that a client may send before it is authenticated; any other closes the connection."""


@define(eq=False)
class Authentication:
    """The state of one connection's authentication (KIP-152, KIP-368). No I/O.

    Attributes:
        security: The authentication that the brokers require.
        credentials: The SCRAM credentials.
        max_session_ms: Time after which a client must authenticate again; 0 for never (`connections.max.reauth.ms`).
        nonce: Makes the broker's part of a SCRAM nonce.
    """

    security: BrokerSecurity
    credentials: ScramCredentials = field(repr=False)
    max_session_ms: int
    nonce: Callable[[], str] = field(repr=False)
    _identity: Identity | None = None
    _state: _State = _State.HANDSHAKE
    _mechanism: str | None = None
    _exchange: ServerExchange | None = field(default=None, repr=False)
    _authenticated_ms: int = 0
    _ends_ms: int | None = None

    @property
    def principal(self) -> str:
        """The authenticated user as Kafka names it (`User:ann`), or `ANONYMOUS`. It stays the same once it is known."""
        return ANONYMOUS if self._identity is None else f"User:{self._identity.name}"

    @property
    def has_failed(self) -> bool:
        """True if the connection must be closed once the last response is sent."""
        return self._state is _State.FAILED

    def permits(self, api_key: int, now_ms: int) -> bool:
        """Return whether a request may be handled. If not, the connection must be closed."""
        # Before authentication, ApiVersions comes first and then the handshake (KIP-152;
        # SaslServerAuthenticator.handleKafkaRequest in Kafka). Afterwards, an expired session only takes a handshake,
        # with which it is renewed (KIP-368).
        if self._state is not _State.AUTHENTICATED:
            return api_key in _ALLOWED[self._state]
        return self._ends_ms is None or now_ms < self._ends_ms or api_key == ApiKey.SASL_HANDSHAKE

    def handshake(self, mechanism: str, now_ms: int) -> SaslHandshakeResponse:
        """Take the mechanism that the client chose."""
        offered = self.security.mechanisms
        # A client may not authenticate again within a second (KafkaChannel.maybeBeginServerReauthentication in Kafka).
        if self._state is _State.AUTHENTICATED and now_ms - self._authenticated_ms < _LEAST_MS_BETWEEN:
            return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=offered)
        # A client that authenticates again has to use the same mechanism (SaslServerAuthenticator.createSaslServer and
        # authenticate in Kafka).
        if mechanism not in offered or (self._identity is not None and mechanism != self._mechanism):
            self._state = _State.FAILED
            return SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered)
        self._mechanism = mechanism
        self._state = _State.EXCHANGE
        return SaslHandshakeResponse(mechanisms=offered)

    def authenticate(self, message: bytes, now_ms: int, wall_ms: int) -> SaslAuthenticateResponse:
        """Take one message of the exchange."""
        if self._state is not _State.EXCHANGE:
            return SaslAuthenticateResponse(
                error_code=ErrorCode.ILLEGAL_SASL_STATE,
                error_message="SaslAuthenticate request received after successful authentication",
            )
        self._exchange = self._exchange or self._begun(wall_ms)
        try:
            answer = self._exchange.evaluate(message)
            # The mechanism needs another message.
            if self._exchange.identity is None:
                return SaslAuthenticateResponse(auth_bytes=answer)
            lifetime_ms = self._succeeded(self._exchange.identity, now_ms)
        except RejectedError as error:
            # The response tells the client why, before the connection is closed (KIP-152).
            self._state = _State.FAILED
            return SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(error))
        return SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=lifetime_ms)

    def _begun(self, wall_ms: int) -> ServerExchange:
        mechanism = self._mechanism
        if mechanism == PLAIN:
            return PlainServer(self.security.users.get)
        if mechanism == OAUTHBEARER:
            return OAuthServer(lambda token: _identity_of(token, self.security.token_subject, wall_ms))
        assert mechanism is not None  # noqa: S101 - the handshake came before
        return ScramServer(mechanism, lambda user: self.credentials.get(user, mechanism), self.nonce())

    def _succeeded(self, identity: Identity, now_ms: int) -> int:
        # A connection belongs to one principal: what it does was authorized for that one (KIP-368).
        if self._identity is not None and identity.name != self._identity.name:
            raise RejectedError("Cannot change principals during re-authentication")
        self._identity, self._exchange = identity, None
        self._state, self._authenticated_ms = _State.AUTHENTICATED, now_ms
        # The session ends with the token, or after `connections.max.reauth.ms`, whichever is sooner. Without either it
        # does not end (KIP-368).
        limits = [limit for limit in (identity.lifetime_ms, self.max_session_ms or None) if limit is not None]
        self._ends_ms = now_ms + min(limits) if limits else None
        return min(limits, default=0)


def _identity_of(token: str, token_subject: Callable[[str], str] | None, wall_ms: int) -> Identity:
    try:
        if token_subject is not None:
            return Identity(token_subject(token), _lifetime_ms(token, wall_ms))
        claims = claims_of(token)
        expires_ms, subject = float(claims["exp"]) * 1000, str(claims["sub"])
    except (ValueError, KeyError, TypeError):
        # The token comes from a client and may be anything. Why it is not valid is told to nobody.
        raise RejectedError("invalid_token") from None
    if expires_ms <= wall_ms:
        raise RejectedError("invalid_token")
    return Identity(subject, round(expires_ms - wall_ms))


def _lifetime_ms(token: str, wall_ms: int) -> int | None:
    try:
        return max(0, round(float(claims_of(token)["exp"]) * 1000 - wall_ms))
    except (ValueError, KeyError, TypeError):
        return None  # an opaque token, of which only the function knows until when it is valid
