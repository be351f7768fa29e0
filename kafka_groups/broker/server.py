"""One broker's connections: reads frames, passes requests to handlers one at a time, and writes responses."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from kafka_groups.broker.api.api_versions import unsupported_version
from kafka_groups.broker.api.handlers import Handler
from kafka_groups.broker.faults import Action, Delay, Drop, Respond
from kafka_groups.broker.profile import Profile
from kafka_groups.broker.requests.context import ConnectionInfo, RequestContext, UnansweredError
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, CooperativeYield
from kafka_groups.broker.security import ANONYMOUS, Authentication
from kafka_groups.config.cluster.principal_rules import UnmappedNameError
from kafka_groups.errors import MalformedFrameError, UnknownApiError
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.net.certificate_subject import certificate_subject
from kafka_groups.net.network import FrameTransport, Listener, Network
from kafka_groups.protocol.apis import ApiKey, VersionRange
from kafka_groups.protocol.codec import (
    decode_request,
    decode_request_header,
    decoding_request,
    encode_response,
    encoding_response,
)

__all__ = ["BrokerServer"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

# If a client has this many requests waiting, the broker reads no more from it until they are handled.
_MOST_QUEUED = 32

_DECODED_AT_ONCE_BYTES = 16 * 1024


class _NotAuthenticatedError(Exception):
    """A request came before the client authenticated, or after its session ended."""


# What ends a connection without an answer.
_CLOSES = (MalformedFrameError, UnansweredError, UnknownApiError, _NotAuthenticatedError)


class BrokerServer:
    """Serves the connections of one broker.

    Args:
        services: The services for the handlers.
        handlers: The handlers by API. An API without a handler is not served.
        is_for_peers: Whether its clients are the other brokers.
    """

    def __init__(
        self,
        services: BrokerServices,
        handlers: Mapping[ApiKey, Handler],
        *,
        is_for_peers: bool = False,
    ) -> None:
        self.services = services
        self._is_for_peers = is_for_peers
        self.handlers: Mapping[int, Handler] = dict(handlers.items())
        self.served: Mapping[int, VersionRange] = _served(handlers, services.cluster.profile)
        self.faults = services.cluster.faults
        self._security = services.cluster.peer_security if is_for_peers else services.cluster.security
        self.on_request_done: Callable[[], None] = lambda: None
        self.on_connection_closed: Callable[[ConnectionInfo], None] = lambda _info: None
        self.on_failure: Callable[[BaseException], None] = lambda _error: None
        self._connections: dict[_Connection, None] = {}  # in order of arrival, so that runs can be reproduced
        self._connection_count = 0
        self._has_stopped = False
        self._listener: Listener | None = None

    def __repr__(self) -> str:
        where = f"on {self._listener.host}:{self._listener.port}" if self._listener else "stopped"
        return f"<BrokerServer {self.services.node_id} {where}: {len(self._connections)} connections>"

    @property
    def open_connections(self) -> int:
        """Number of open connections."""
        return len(self._connections)

    async def start(self, network: Network, host: str, port: int) -> Listener:
        """Listen for connections. Port 0 picks a free port.

        Raises:
            NetworkError: The port is not available.
        """
        self._listener = await network.listen(host, port, self._accept)
        return self._listener

    async def stop(self) -> None:
        """Stop listening, break all connections and wait until their handlers have ended."""
        self._has_stopped = True
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        tasks = [connection.abort() for connection in self._connections]
        if tasks:
            await asyncio.wait(tasks)

    def ended(self, connection: "_Connection", error: BaseException | None) -> None:
        """Remove a connection whose task has ended. The error, if any, is unexpected."""
        self._connections.pop(connection, None)
        if error is not None:
            _log.error("broker %d: connection %s", self.services.node_id, connection.info, exc_info=error)
            self.on_failure(error)
        self.on_connection_closed(connection.info)
        self.on_request_done()

    def _accept(self, transport: FrameTransport) -> "_Connection":
        self._connection_count += 1
        host = transport.peer.rpartition(":")[0]
        principal = self._certificate_principal(transport.peer_certificate)
        named = principal or ANONYMOUS
        info = ConnectionInfo(self._connection_count, f"/{host}", self._authentication(), self._is_for_peers, named)
        connection = _Connection(self, transport, info)
        self._connections[connection] = None
        # Either it was on its way when the broker stopped to listen, or nobody knows who the client is.
        if self._has_stopped or principal is None:
            connection.abort()
        return connection

    def _certificate_principal(self, certificate: bytes | None) -> str | None:
        """Return the principal of a client by its certificate, or None if no rule makes a name of its subject."""
        # Clients that log in with SASL are their users, whatever certificates they have.
        if certificate is None or self._security.mechanisms:
            return ANONYMOUS
        rules = self.services.cluster.settings.ssl_principal_mapping_rules
        try:
            return f"User:{rules.name_of(certificate_subject(certificate))}"
        except UnmappedNameError as error:
            _log.debug("broker %d refuses a client: %s", self.services.node_id, error)
            return None

    def _authentication(self) -> Authentication | None:
        if not self._security.mechanisms:
            return None
        cluster, rng = self.services.cluster, self.services.rng
        max_session_ms = cluster.settings.connections_max_reauth_ms
        return Authentication(self._security, cluster.scram, max_session_ms, lambda: rng.randbytes(16).hex())


def _served(handlers: Iterable[ApiKey], profile: Profile) -> dict[int, VersionRange]:
    versions = {key: profile.served(key) for key in handlers}
    return {key: served for key, served in versions.items() if served is not None}


class _Connection:
    """One connection: a queue of frames and the task that handles them."""

    def __init__(self, server: BrokerServer, transport: FrameTransport, info: ConnectionInfo) -> None:
        self._server = server
        self._transport = transport
        self.info = info
        self._frames: deque[bytes] = deque()
        self._arrival: asyncio.Future[None] | None = None
        self._reading_paused = False
        self._muted = False
        self._lost_in_good_order = False
        self._turns = CooperativeYield()
        self._is_over = False
        self._idle_ms = server.services.cluster.settings.connections_max_idle_ms
        self._used_ms = server.services.cluster.clock.now_ms()
        self._idle_check: asyncio.TimerHandle | None = None
        self._check_idle_in(self._idle_ms)
        name = f"broker {server.services.node_id}, connection {info.id}"
        self._task = asyncio.get_running_loop().create_task(self._serve(), name=name)
        self._task.add_done_callback(self._ended)

    # --------------------------------------------------------------------------------------- FrameHandler

    def frame_received(self, frame: memoryview) -> None:
        self._frames.append(bytes(frame))
        self._used_ms = self._server.services.cluster.clock.now_ms()
        if self._arrival is not None:
            arrival, self._arrival = self._arrival, None
            arrival.set_result(None)
        elif len(self._frames) >= _MOST_QUEUED and not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if isinstance(error, MalformedFrameError):
            _log.debug("broker %d closed %s: %s", self._server.services.node_id, self.info, error)
        self._lost_in_good_order = error is None
        self._arrival = None
        if self._turns.is_paused:
            self._is_over = True  # as in Kafka, a request that does not wait for anything is handled to its end
        else:
            self._task.cancel()

    def abort(self) -> "asyncio.Task[None]":
        self._drop()
        self._task.cancel()
        return self._task

    def _drop(self) -> None:
        self._frames.clear()
        self._arrival = None
        self._transport.abort()

    # A timer per request would cost more than the request, so one timer checks again when the time may be up.
    def _check_idle_in(self, wait_ms: int) -> None:
        if self._idle_ms >= 0:
            self._idle_check = asyncio.get_running_loop().call_later(wait_ms / 1000, self._check_idle)

    def _check_idle(self) -> None:
        idle_ms = self._server.services.cluster.clock.now_ms() - self._used_ms
        if self._arrival is None:  # handling a request
            self._check_idle_in(self._idle_ms)
            return
        if idle_ms < self._idle_ms:
            self._check_idle_in(self._idle_ms - idle_ms)
            return
        _log.debug("broker %d closes %s: idle for %d ms", self._server.services.node_id, self.info, idle_ms)
        self.abort()

    # ------------------------------------------------------------------------------------------- serving

    async def _serve(self) -> None:
        while not self._is_over:
            if not self._frames:
                self._arrival = asyncio.get_running_loop().create_future()
                await self._arrival
            try:
                await self._serve_one(self._frames.popleft())
            except _CLOSES as error:
                # As in Kafka: no response is certain to be understood by this client, or none is expected.
                _log.debug("broker %d closes %s: %s", self._server.services.node_id, self.info, error)
                self._drop()
                return

    async def _serve_one(self, frame: bytes) -> None:
        response = await self._response_to(frame)
        self._turns.rest()
        if self.info.authentication is not None and self.info.authentication.has_failed:
            await self._refuse(response)
            return
        if response is not None and not self._muted:
            self._transport.send(response)
            await self._transport.drain()
        self._server.on_request_done()
        if self._reading_paused and len(self._frames) < _MOST_QUEUED // 2:
            self._reading_paused = False
            self._transport.resume_reading()

    async def _refuse(self, response: bytes | None) -> None:
        """Answer late, so that guessing passwords takes time, and close."""
        _log.debug("broker %d closes %s: it failed to authenticate", self._server.services.node_id, self.info)
        await asyncio.sleep(self._server.services.cluster.settings.connection_failed_authentication_delay_ms / 1000)
        if response is not None and not self._muted:
            self._transport.send(response)
        self._frames.clear()
        self._transport.close()

    async def _response_to(self, frame: bytes) -> bytes | None:
        self._turns = CooperativeYield()
        if len(frame) > _DECODED_AT_ONCE_BYTES:
            self._turns.expect_many()
        header = decode_request_header(frame)
        context = RequestContext(header, self.info, self._server.services, self._turns)
        is_served = header.version in self._server.served.get(header.api_key, ())
        # A client that is newer than the broker has to learn which versions there are. Version 0 of the response is one
        # that every client understands (KIP-511).
        if header.api_key == ApiKey.API_VERSIONS and not is_served:
            return encode_response(unsupported_version(context), 0, header.correlation_id)
        authentication = self.info.authentication
        if authentication is not None and not authentication.permits(header.api_key, context.now_ms):
            raise _NotAuthenticatedError(f"API key {header.api_key} from a client that is not authenticated")
        if not is_served:
            raise UnknownApiError(f"API key {header.api_key} is not supported in version {header.version}")
        handler = self._server.handlers[header.api_key]
        response = await self._handled(handler, frame, context)
        if response is None:
            return None
        return await context.turns.through(encoding_response(response, header.version, header.correlation_id), CHEAP)

    async def _handled(self, handler: Handler, frame: bytes, context: RequestContext) -> Any:
        # The request is gone before the response is encoded: freeing both at once takes twice as long.
        if self._server.faults.active:
            return await self._faulty_response(handler, await _decoded(frame, context), context)
        return await handler(await _decoded(frame, context), context)

    async def _faulty_response(self, handler: Handler, request: Any, context: RequestContext) -> Any:
        action = self._server.faults.action_for(context.services.node_id, context.header.api_key, request)
        if isinstance(action, Respond):
            return action.response_to(request)
        if isinstance(action, Delay):
            await asyncio.sleep(action.ms / 1000)
        if action is Drop.REPEAT:
            await handler(request, context)
        response = None if action is Drop.CONNECTION else await handler(request, context)
        return self._unless_dropped(action, response)

    def _unless_dropped(self, action: Action | None, response: Any) -> Any:
        if action in (Drop.CONNECTION, Drop.LOSE_RESPONSE):
            self._drop()
            return None
        if action is Drop.RESPONSE:
            self._muted = True
        return response

    # ------------------------------------------------------------------------------------------ the end

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._turns.rest()
        error = None if task.cancelled() else task.exception()
        if self._idle_check is not None:
            self._idle_check.cancel()
        if error is not None:
            self._transport.abort()
        elif self._lost_in_good_order:
            error = self._finish_queue()
        self._frames.clear()
        self._server.ended(self, error)

    def _finish_queue(self) -> BaseException | None:
        # A client may send and then close, as with acks=0: earlier requests are still handled if they need not wait.
        while self._frames:
            error = _run_without_waiting(self._response_to(self._frames.popleft()))
            self._turns.rest()
            if error is not None:
                return None if isinstance(error, _CLOSES) else error
        return None


async def _decoded(frame: bytes, context: RequestContext) -> Any:
    if len(frame) <= _DECODED_AT_ONCE_BYTES:
        return decode_request(frame, context.header)
    return await context.turns.through(decoding_request(frame, context.header), CHEAP)


def _run_without_waiting(coroutine: Coroutine[Any, Any, object]) -> BaseException | None:
    try:
        while coroutine.send(None) is None:  # it only lets others have their turn
            pass
    except StopIteration:
        return None
    except Exception as error:
        return error  # for the done callback, which could not raise it
    coroutine.close()
    return None
