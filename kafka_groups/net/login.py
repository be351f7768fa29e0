"""Logins of clients: a login begins a SASL exchange on each new connection."""

import random
import secrets
from typing import TYPE_CHECKING, Protocol

from kafka_groups.config.security.sasl import Password, SaslSettings
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.sasl.exchange import ClientExchange
from kafka_groups.protocol.sasl.oauthbearer import OAuthClient
from kafka_groups.protocol.sasl.plain import PLAIN, PlainClient
from kafka_groups.protocol.sasl.scram import ScramClient

if TYPE_CHECKING:
    from kafka_groups.net.tokens import TokenSource

__all__ = ["Login", "login_with"]

_NONCE_BYTES = 24


class Login(Protocol):
    """A client's SASL mechanism and credentials."""

    @property
    def mechanism(self) -> str:
        """Name of the SASL mechanism."""
        ...

    async def exchange(self) -> ClientExchange:
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

    async def exchange(self) -> ClientExchange:
        username, password = self._credentials.username, self._credentials.password
        if self.mechanism == PLAIN:
            return PlainClient(username, password)
        return ScramClient(self.mechanism, username, password, secrets.token_urlsafe(_NONCE_BYTES))


class _TokenLogin:
    def __init__(self, mechanism: str, source: "TokenSource") -> None:
        self.mechanism = mechanism
        self._source = source

    def __repr__(self) -> str:
        return f"<Login with {self.mechanism}>"

    def __str__(self) -> str:
        return f"login with {self.mechanism}"

    async def exchange(self) -> ClientExchange:
        token = await self._source.token()
        return OAuthClient(token.text, token.extensions)


def login_with(settings: SaslSettings | None, clock: Clock) -> Login | None:
    """Return the login for the configured credentials; None without SASL."""
    if settings is None:
        return None
    if isinstance(settings.credentials, Password):
        return _PasswordLogin(settings.mechanism, settings.credentials)
    from kafka_groups.net.tokens import token_source  # noqa: PLC0415 - an HTTP client, which few need

    return _TokenLogin(settings.mechanism, token_source(settings.credentials, clock))


def reauthentication_delay_ms(lifetime_ms: int, rng: random.Random) -> int:
    """Return when to authenticate again: after 85 to 95 % of the session, like the Java client (KIP-368)."""
    return round(lifetime_ms * rng.uniform(0.85, 0.95))
