"""Opens connections that are ready for requests: connect, negotiate versions, authenticate, stay authenticated."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.errors import (
    AuthenticationError,
    DisconnectedError,
    IllegalSaslStateError,
    KafkaGroupsError,
    NetworkError,
    SaslAuthenticationFailedError,
    TokenUnavailableError,
    UnsupportedSaslMechanismError,
    error_for,
)
from kafka_groups.errors.causes import causes_of
from kafka_groups.errors.texts import sentences
from kafka_groups.net.connection import ClientConnection, OnLost
from kafka_groups.net.handshake import BrokerVersions, negotiate
from kafka_groups.net.login import Login, LoginAttempt, reauthentication_delay_ms
from kafka_groups.net.loop_clock import LoopClock, timeout_on
from kafka_groups.net.network import Network
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_groups.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_groups.protocol.sasl.exchange import RejectedError

__all__ = ["Access", "Session", "Watch", "open_session"]

_LOG = logging.getLogger("kafka_groups.network")

# How often a connection looks for a newer token. The source of tokens decides how often the provider is asked.
_TOKEN_WAIT_MS = 1_000


@frozen
class Access:
    """The client's identity.

    Attributes:
        client_id: Name that the requests carry.
        login: How the client authenticates; None without SASL.
    """

    client_id: str | None
    login: Login | None = None


@frozen(eq=False)
class Session:
    """A connection that is ready for requests, and the versions to use on it."""

    connection: ClientConnection
    versions: BrokerVersions


@frozen(eq=False)
class Watch:
    """Callbacks that follow a session.

    Attributes:
        on_open: Called when the server has accepted the connection, before the first request.
        on_lost: Called once when the connection has ended, as in `ClientConnection`; also if opening it fails.
        explain: Returns the error to raise if the first request, for the broker's versions, failed.
    """

    on_open: Callable[[], None] = lambda: None
    on_lost: OnLost | None = None
    explain: Callable[[KafkaGroupsError], KafkaGroupsError] = lambda error: error


_NOBODY = Watch()


async def open_session(
    network: Network,
    address: tuple[str, int],
    access: Access,
    *,
    timeout_ms: int,
    watch: Watch = _NOBODY,
    loop_clock: LoopClock | None = None,
) -> Session:
    """Connect and authenticate. The session reauthenticates by itself before the broker would end it.

    Args:
        network: Connects to the address.
        address: Host and port.
        access: The client's identity.
        timeout_ms: How long connecting and the handshakes may take. Waiting for a token does not count.
        watch: Callbacks that follow the session.
        loop_clock: The clock of the timeouts, if other code may block the event loop.

    Raises:
        AuthenticationError: TLS or SASL failed, or no token can be obtained; the class says which.
        NetworkError: The broker cannot be reached or closed the connection.
        TimeoutError: Connecting took too long.
        KafkaGroupsError: The broker sent a malformed response.
    """
    attempt = None if access.login is None else await access.login.begin()
    async with timeout_on(loop_clock, timeout_ms):
        connection = await ClientConnection.open(
            network, *address, access.client_id, on_lost=watch.on_lost, loop_clock=loop_clock
        )
        watch.on_open()
        try:
            # Slightly shorter than the timeout around it, to distinguish a server that accepts the connection but does
            # not respond from one that does not accept it.
            deadline_ms = connection.now_ms + timeout_ms * 9 // 10
            versions = await _versions(connection, deadline_ms, watch.explain)
            if access.login is not None and attempt is not None:
                keeper = _Authenticator(connection, versions, access.login, timeout_ms)
                await keeper.authenticate(attempt, deadline_ms)
        except BaseException:  # also the timeout and a cancellation: nobody else has the connection
            connection.abort()
            raise
        return Session(connection, versions)


async def _versions(
    connection: ClientConnection, deadline_ms: float, explain: Callable[[KafkaGroupsError], KafkaGroupsError]
) -> BrokerVersions:
    try:
        return await negotiate(connection, deadline_ms)
    except KafkaGroupsError as error:
        failure = error
    explained = explain(failure)
    if explained not in causes_of(failure):  # avoid a cycle of causes
        explained.__cause__ = failure
    raise explained


@frozen(eq=False)
class _Authenticated:
    """The session that the broker granted last."""

    attempt: LoginAttempt
    lifetime_ms: int


class _Authenticator:
    """Authenticates one connection, and reauthenticates before each session ends (KIP-152, KIP-368)."""

    def __init__(self, connection: ClientConnection, versions: BrokerVersions, login: Login, timeout_ms: int) -> None:
        self._connection = connection
        self._versions = versions
        self._login = login
        self._timeout_ms = timeout_ms
        self._rng = random.Random()
        self._latest: _Authenticated | None = None
        self._task: asyncio.Task[None] | None = None

    async def authenticate(self, attempt: LoginAttempt, deadline_ms: float) -> None:
        await self._choose_mechanism(deadline_ms)
        lifetime_ms = await self._run(attempt, deadline_ms)
        self._latest = _Authenticated(attempt, lifetime_ms)
        if lifetime_ms > 0:
            self._begin_later(reauthentication_delay_ms(lifetime_ms, self._rng))

    async def _choose_mechanism(self, deadline_ms: float) -> None:
        mechanism, peer = self._login.mechanism, self._connection.peer
        response = await self._ask(SaslHandshakeRequest(mechanism=mechanism), deadline_ms)
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offered = ", ".join(sorted(response.mechanisms)) or "none"
            raise UnsupportedSaslMechanismError(
                f"{peer} does not support the SASL mechanism {mechanism}. Set sasl_mechanism to one of: {offered}."
            )
        if response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise self._no_sasl() if self._latest is None else self._not_again()
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code, f"{peer} refused the SASL handshake.")

    async def _run(self, attempt: LoginAttempt, deadline_ms: float) -> int:
        exchange = attempt.exchange
        message: bytes | None = exchange.first()
        lifetime_ms = 0
        while message is not None:
            response = await self._ask(SaslAuthenticateRequest(auth_bytes=message), deadline_ms)
            if response.error_code != ErrorCode.NONE:
                raise self._refused(attempt, response.error_code, response.error_message)
            lifetime_ms = response.session_lifetime_ms
            try:
                message = exchange.respond(response.auth_bytes)
            except RejectedError as error:
                raise self._refused(attempt, ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)) from error
        return lifetime_ms

    def _refused(self, attempt: LoginAttempt, code: int, message: str | None) -> KafkaGroupsError:
        text = f"{self._connection.peer} refused the {self._login}: {message or 'no reason given'}"
        if code == ErrorCode.ILLEGAL_SASL_STATE and self._latest is not None:
            return self._not_again()
        if code != ErrorCode.SASL_AUTHENTICATION_FAILED:
            return error_for(code, text)
        if attempt.is_overdue:  # for the broker's clock it has expired, and the provider is down: no wrong credentials
            return TokenUnavailableError(sentences(text, "Its token is about to expire, and there is no newer one"))
        return SaslAuthenticationFailedError(sentences(text, "Check the credentials"))

    def _no_sasl(self) -> IllegalSaslStateError:
        return IllegalSaslStateError(
            f"{self._connection.peer} does not use SASL on this port. Set security_protocol to 'SSL' or 'PLAINTEXT', or"
            " connect to a SASL listener."
        )

    def _not_again(self) -> NetworkError:
        # The connection is authenticated, so the port uses SASL: its state is in doubt, and not the configuration.
        return NetworkError(f"{self._connection.peer} did not let the client authenticate again on this connection.")

    async def _ask(self, request: object, deadline_ms: float) -> Any:
        version = self._versions.version_for(type(request))
        return await self._connection.request(request, version, deadline_ms, while_held=True)

    # ------------------------------------------------------------------------------------------------- again

    def _begin_later(self, delay_ms: int) -> None:
        asyncio.get_running_loop().call_later(delay_ms / 1000, self._begin_again)

    def _begin_again(self) -> None:
        if self._connection.is_open:
            self._task = asyncio.get_running_loop().create_task(self._authenticate_again())

    async def _authenticate_again(self) -> None:
        connection = self._connection
        try:
            attempt = await self._prolonging()
            if attempt is None:
                self._begin_later(_TOKEN_WAIT_MS)
                return
            await self._hold_and_authenticate(attempt)
        except KafkaGroupsError as error:
            if not isinstance(error, DisconnectedError):
                _LOG.warning("Could not reauthenticate with %s: %s", connection.peer, error)
            connection.abort(error)
        else:
            _LOG.debug("Reauthenticated with %s", connection.peer)

    async def _prolonging(self) -> LoginAttempt | None:
        """Return an attempt that moves the end of the session; None while there is no newer token.

        If none comes in time, the broker closes the connection when the session has ended.
        """
        try:
            attempt = await self._login.begin()
        except TokenUnavailableError:  # the source of tokens has logged why
            return None
        before = self._latest
        return attempt if before is None or attempt.prolongs(before.attempt, before.lifetime_ms) else None

    async def _hold_and_authenticate(self, attempt: LoginAttempt) -> None:
        """Hold other requests back, because the broker accepts only SASL requests until the exchange is over."""
        self._connection.hold()
        # Brokers answer in order, and a JoinGroup that came before may wait there for minutes.
        deadline_ms = self._connection.answered_by_ms + self._timeout_ms
        await self.authenticate(attempt, deadline_ms)
        self._connection.release()


def refusal_in(error: BaseException | None) -> AuthenticationError | None:
    """Return the authentication error that this error is, or that caused it; None if there is none."""
    return next((each for each in causes_of(error) if isinstance(each, AuthenticationError)), None)
