"""Tokens for OAUTHBEARER, from the user's function or an identity provider, and refreshed before they expire."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kafka_groups.config.security.sasl import OidcSettings, TokenCallback, UnsecuredToken
from kafka_groups.errors import TokenError, TokenUnavailableError
from kafka_groups.net.clock import Clock
from kafka_groups.net.oidc import request_token
from kafka_groups.protocol.sasl.oauthbearer import check_extensions, check_token, unsecured_token

__all__ = ["Token", "TokenSource", "token_source"]

_LOG = logging.getLogger(__name__)

# Like the Java client (sasl.login.refresh.window.factor).
_REFRESH_AT = 0.8
_UNSECURED_LIFETIME_S = 3_600
_ATTEMPTS = 3
_FIRST_WAIT_S = 0.1
_NONE: Mapping[str, str] = MappingProxyType({})


@frozen
class Token:
    """A bearer token, its expiry (milliseconds since the epoch), and the SASL extensions to send with it."""

    text: str = field(repr=False)
    expires_ms: int
    extensions: Mapping[str, str] = _NONE


class TokenSource:
    """Provides a token, and fetches a new one after 80 % of its lifetime.

    Connections that need a token at the same time wait for the same one.

    Args:
        fetch: Fetches a new token. Called with the wall clock's time in milliseconds.
        clock: The clock.
    """

    def __init__(self, fetch: Callable[[int], Awaitable[Token]], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._token: Token | None = None
        self._refresh_ms = 0
        self._lock = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<TokenSource {'empty' if self._token is None else f'until {self._token.expires_ms}'}>"

    async def token(self) -> Token:
        """Return a token that is still valid.

        Raises:
            TokenError: No token can be obtained, and retrying does not help.
            TokenUnavailableError: No token can be obtained right now.
        """
        async with self._lock:
            now_ms = self._clock.wall_ms()
            if self._token is None or now_ms >= self._refresh_ms:
                self._token = await self._refreshed(now_ms)
            return self._token

    async def _refreshed(self, now_ms: int) -> Token:
        try:
            token = await self._fetch(now_ms)
        except TokenUnavailableError as error:
            if self._token is None or now_ms >= self._token.expires_ms:
                raise
            _LOG.warning("Could not refresh the OAUTHBEARER token; the old one is still valid: %s", error)
            return self._token
        if token.expires_ms <= now_ms:
            raise TokenError(f"The new OAUTHBEARER token expired {(now_ms - token.expires_ms) / 1000:g} s ago.")
        self._refresh_ms = now_ms + round((token.expires_ms - now_ms) * _REFRESH_AT)
        return token


def token_source(credentials: OidcSettings | TokenCallback | UnsecuredToken, clock: Clock) -> TokenSource:
    """Return the token source for the configured credentials."""
    if isinstance(credentials, OidcSettings):
        return TokenSource(lambda now_ms: _from_provider(credentials, now_ms), clock)
    if isinstance(credentials, TokenCallback):
        return TokenSource(lambda now_ms: _from_callback(credentials, now_ms), clock)
    return TokenSource(lambda now_ms: _self_made(credentials, now_ms), clock)


async def _self_made(credentials: UnsecuredToken, now_ms: int) -> Token:
    issued_s = now_ms / 1000
    claims = {"sub": credentials.subject, "iat": issued_s, "exp": issued_s + _UNSECURED_LIFETIME_S}
    expires_ms = now_ms + _UNSECURED_LIFETIME_S * 1000
    return _checked(unsecured_token(claims), expires_ms, dict(credentials.extensions), "sasl_jaas_config")


# ------------------------------------------------------------------------------------------ an identity provider


async def _from_provider(settings: OidcSettings, now_ms: int) -> Token:
    for attempt in range(_ATTEMPTS):
        try:
            granted = await asyncio.to_thread(request_token, settings)
        except TokenUnavailableError:
            if attempt == _ATTEMPTS - 1:
                raise
            await asyncio.sleep(_FIRST_WAIT_S * 2**attempt)
        else:
            expires_ms = now_ms + round(granted.lifetime_s * 1000)
            return _checked(granted.token, expires_ms, dict(settings.extensions), settings.token_endpoint_url)
    raise AssertionError("unreachable")


# --------------------------------------------------------------------------------------------- the user's function


async def _from_callback(credentials: TokenCallback, _now_ms: int) -> Token:
    try:
        # On a thread, because it may block. An `async` function only creates its coroutine there.
        returned = await asyncio.to_thread(credentials.function, credentials.argument)
        if inspect.isawaitable(returned):
            returned = await returned
    except OSError as error:  # a network error, which may not happen again
        raise TokenUnavailableError(f"oauth_cb could not get a token: {type(error).__name__}: {error}") from error
    except Exception as error:  # the user's function may raise anything
        raise TokenError(f"oauth_cb raised {type(error).__name__}: {error}") from error
    return _from_tuple(returned, dict(credentials.extensions))


def _from_tuple(returned: Any, extensions: dict[str, str]) -> Token:
    if not isinstance(returned, tuple | list) or not 2 <= len(returned) <= 4 or not isinstance(returned[0], str):
        raise TokenError(
            f"oauth_cb returned a {type(returned).__name__}. Return a tuple: the token and its expiry in seconds since"
            " the epoch, optionally followed by the principal and a dictionary of SASL extensions."
        )
    expiry_s = returned[1]
    if not isinstance(expiry_s, int | float) or isinstance(expiry_s, bool):
        raise TokenError(
            f"oauth_cb returned an expiry of type {type(expiry_s).__name__}. Return seconds since the epoch."
        )
    more = returned[3] if len(returned) > 3 else None
    return _checked(returned[0], round(expiry_s * 1000), {**extensions, **(more or {})}, "oauth_cb")


def _checked(token: str, expires_ms: int, extensions: Mapping[str, str], source: str) -> Token:
    try:
        check_token(token)
        check_extensions(extensions)
    except (ValueError, TypeError) as error:
        raise TokenError(f"The token from {source} is not valid: {error}") from error
    return Token(token, expires_ms, extensions)
