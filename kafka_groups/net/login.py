"""Logins of clients: a login begins a SASL exchange on each new connection."""

import random
import secrets
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from kafka_groups.config.security.sasl import Password, SaslSettings
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.sasl.exchange import ClientExchange
from kafka_groups.protocol.sasl.oauthbearer import OAuthClient
from kafka_groups.protocol.sasl.plain import PLAIN, PlainClient
from kafka_groups.protocol.sasl.scram import ScramClient

if TYPE_CHECKING:
    from kafka_groups.net.tokens import Token, TokenSource

__all__ = ["Login", "LoginAttempt", "login_with", "reauthentication_delay_ms"]

_NONCE_BYTES = 24

LEAST_MS_BETWEEN = 2_000
"""The shortest time between two authentications of a connection. Brokers refuse a second one within a second."""


@frozen(eq=False)
class LoginAttempt:
    """One use of the credentials.

    Attributes:
        exchange: The client's side of the SASL exchange.
        token: The token that the exchange sends; None for a password.
        remaining_ms: How long the token is valid; None for a password.
        is_overdue: True if the token should have been replaced by now, but no newer one could be obtained.
    """

    exchange: ClientExchange
    token: "Token | None" = None
    remaining_ms: int | None = None
    is_overdue: bool = False

    def prolongs(self, before: "LoginAttempt", lifetime_ms: int) -> bool:
        """Return whether authenticating again moves the end of the session.

        Args:
            before: The attempt that began the session.
            lifetime_ms: How long the broker let the session last.
        """
        if self.token is None or before.remaining_ms is None or self.token != before.token:
            return True
        # With the same token only a session that was shorter than the token's life: `connections.max.reauth.ms`.
        return before.remaining_ms > lifetime_ms + LEAST_MS_BETWEEN


class Login(Protocol):
    """A client's SASL mechanism and credentials."""

    @property
    def mechanism(self) -> str:
        """Name of the SASL mechanism."""
        ...

    async def begin(self) -> LoginAttempt:
        """Begin an exchange. May wait for a token.

        Raises:
            TokenError: No token can be obtained, and retrying does not help.
            TokenUnavailableError: No token can be obtained right now.
        """
        ...


class _PasswordLogin:
    def __init__(self, mechanism: str, credentials: Password) -> None:
        self.mechanism = mechanism
        self._credentials = credentials

    def __repr__(self) -> str:
        return f"<Login as {self._credentials.username} with {self.mechanism}>"

    def __str__(self) -> str:
        return f"login as {self._credentials.username} with {self.mechanism}"

    async def begin(self) -> LoginAttempt:
        username, password = self._credentials.username, self._credentials.password
        if self.mechanism == PLAIN:
            return LoginAttempt(PlainClient(username, password))
        return LoginAttempt(ScramClient(self.mechanism, username, password, secrets.token_urlsafe(_NONCE_BYTES)))


class _TokenLogin:
    def __init__(self, mechanism: str, source: "TokenSource", clock: Clock) -> None:
        self.mechanism = mechanism
        self._source = source
        self._clock = clock

    def __repr__(self) -> str:
        return f"<Login with {self.mechanism}>"

    def __str__(self) -> str:
        return f"login with {self.mechanism}"

    async def begin(self) -> LoginAttempt:
        token = await self._source.token()
        exchange = OAuthClient(token.text, token.extensions)
        return LoginAttempt(exchange, token, token.expires_ms - self._clock.wall_ms(), self._source.is_overdue)


def login_with(settings: SaslSettings | None, clock: Clock) -> Login | None:
    """Return the login for the configured credentials; None without SASL."""
    if settings is None:
        return None
    if isinstance(settings.credentials, Password):
        return _PasswordLogin(settings.mechanism, settings.credentials)
    from kafka_groups.net.tokens import token_source  # noqa: PLC0415 - an HTTP client, which few need

    return _TokenLogin(settings.mechanism, token_source(settings.credentials, clock), clock)


def reauthentication_delay_ms(lifetime_ms: int, rng: random.Random) -> int:
    """Return when to authenticate again: after 85 to 95 % of the session, like the Java client (KIP-368).

    But not so early that the broker would refuse it, even if the session ends before: the broker closes the connection
    then.
    """
    return max(LEAST_MS_BETWEEN, round(lifetime_ms * rng.uniform(0.85, 0.95)))
