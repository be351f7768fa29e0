"""Tokens for OAUTHBEARER, from the user's function or an identity provider, and refreshed before they expire."""

import asyncio
import inspect
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kafka_groups.config.security.sasl import OidcSettings, TokenCallback, UnsecuredToken
from kafka_groups.errors import TokenError, TokenUnavailableError
from kafka_groups.errors.texts import counted, named
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
# Pauses between failed attempts to obtain a token. Short enough for a provider that comes back, and long enough for one
# that is overloaded.
_FIRST_PAUSE_MS = 500
_LONGEST_PAUSE_MS = 5_000
_NONE: Mapping[str, str] = MappingProxyType({})


@frozen
class Token:
    """A bearer token, its expiry (milliseconds since the epoch), and the SASL extensions to send with it."""

    text: str = field(repr=False)
    expires_ms: int
    extensions: Mapping[str, str] = _NONE


class TokenSource:
    """Provides a token, and fetches a new one after 80 % of its lifetime.

    Connections that need a token at the same time wait for the same one. If none can be fetched, the old one serves
    until it expires, and the next attempts are made at growing intervals, however often connections ask.

    Args:
        fetch: Fetches a new token. Called with the wall clock's time in milliseconds.
        clock: The clock.
    """

    def __init__(self, fetch: Callable[[int], Awaitable[Token]], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._rng = random.Random()
        self._token: Token | None = None
        self._refresh_ms = 0
        self._failure: TokenError | TokenUnavailableError | None = None
        self._failures = 0
        self._retry_ms = 0
        self._lock = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<TokenSource {'empty' if self._token is None else f'until {self._token.expires_ms}'}>"

    @property
    def is_overdue(self) -> bool:
        """True if the token should have been replaced by now, but no newer one could be obtained."""
        return self._failure is not None

    async def token(self) -> Token:
        """Return a token that is still valid.

        Raises:
            TokenError: No token can be obtained, and retrying does not help.
            TokenUnavailableError: No token can be obtained right now.
        """
        async with self._lock:
            if self._clock.wall_ms() >= self._refresh_ms and self._clock.now_ms() >= self._retry_ms:
                await self._refresh(self._clock.wall_ms())
            if self._token is None or self._clock.wall_ms() >= self._token.expires_ms:
                raise self._unavailable()
            return self._token

    async def _refresh(self, now_ms: int) -> None:
        try:
            token = self._newer(await self._fetch(now_ms), now_ms)
        except (TokenError, TokenUnavailableError) as error:
            if self._token is None and isinstance(error, TokenError):
                raise  # it has never worked: the configuration is wrong
            self._failed(error, now_ms)
            return
        if self._failures:
            _LOG.info("Obtained a new OAUTHBEARER token, after %s that failed", counted(self._failures, "attempt"))
        self._token, self._failure, self._failures, self._retry_ms = token, None, 0, 0
        self._refresh_ms = now_ms + round((token.expires_ms - now_ms) * _REFRESH_AT)

    def _newer(self, token: Token, now_ms: int) -> Token:
        has_expired = token.expires_ms <= now_ms
        if self._token is not None and (has_expired or token == self._token):
            raise TokenUnavailableError(
                "The source of OAUTHBEARER tokens still returns the old one. It must return a new token before that one"
                " expires."
            )
        if has_expired:
            raise TokenError(f"The new OAUTHBEARER token expired {(now_ms - token.expires_ms) / 1000:g} s ago.")
        return token

    def _failed(self, error: TokenError | TokenUnavailableError, now_ms: int) -> None:
        wait_ms = min(_FIRST_PAUSE_MS * 2 ** min(self._failures, 10), _LONGEST_PAUSE_MS)
        self._retry_ms = self._clock.now_ms() + round(wait_ms * self._rng.uniform(0.8, 1.2))
        self._failure, self._failures = error, self._failures + 1
        if self._token is not None and not self._failures & (self._failures - 1):  # the first, then ever fewer
            left_s = (self._token.expires_ms - now_ms) / 1000
            old = f"is valid for another {left_s:.0f} s" if left_s > 0 else f"expired {-left_s:.0f} s ago"
            _LOG.warning("Could not obtain a new OAUTHBEARER token; the old one %s. Retrying. %s", old, error)

    def _unavailable(self) -> TokenError | TokenUnavailableError:
        """Return the reason of the last failure, as a new error, because each connection raises one of its own."""
        failure = self._failure or TokenUnavailableError("The OAUTHBEARER token expired.")
        again = type(failure)(str(failure))
        again.__cause__ = failure
        return again


def token_source(credentials: OidcSettings | TokenCallback | UnsecuredToken, clock: Clock) -> TokenSource:
    """Return the token source for the configured credentials."""
    if isinstance(credentials, OidcSettings):
        return TokenSource(lambda now_ms: _from_provider(credentials, now_ms), clock)
    if isinstance(credentials, TokenCallback):
        return TokenSource(_CallbackTokens(credentials).fetch, clock)
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


class _CallbackTokens:
    """Fetches tokens from the user's function."""

    def __init__(self, credentials: TokenCallback) -> None:
        self._credentials = credentials
        self._has_worked = False

    async def fetch(self, _now_ms: int) -> Token:
        function, argument = self._credentials.function, self._credentials.argument
        try:
            # On a thread, because it may block. An `async` function only creates its coroutine there.
            returned = await asyncio.to_thread(function, argument)
            if inspect.isawaitable(returned):
                returned = await returned
        except Exception as error:  # the user's function may raise anything
            raise self._as_token_error(error) from error
        token = _from_tuple(returned, dict(self._credentials.extensions))
        self._has_worked = True
        return token

    def _as_token_error(self, error: Exception) -> TokenError | TokenUnavailableError:
        # A network error may not happen again. Nor may any other error of a function that has returned a token before:
        # clients of HTTP have error classes of their own for a provider that is down.
        if isinstance(error, OSError) or self._has_worked:
            return TokenUnavailableError(f"oauth_cb could not get a token: {named(error)}")
        return TokenError(f"oauth_cb raised {named(error)}")


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
