"""Routes requests to brokers, and opens connections as needed.

Each broker has up to one connection for each lane, opened by the lane's first request. A broker may delay the response
to a fetch while it waits for records, so heartbeats, lookups and Produce use connections of their own. A lane has more
than one connection if its requests name channels.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.features import if_too_old
from kafka_groups.client.loggers import NETWORK_LOG, REQUESTS_LOG
from kafka_groups.client.metadata import Node
from kafka_groups.client.reachability import Address, Reachability
from kafka_groups.client.requests import ClientResponse, Lane, OutgoingRequest
from kafka_groups.errors import (
    AuthenticationError,
    DisconnectedError,
    KafkaGroupsError,
    NetworkError,
    OperationTimeoutError,
    TokenUnavailableError,
)
from kafka_groups.errors.texts import sentences
from kafka_groups.net.clock import Clock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.diagnosis import closed_after_handshake, during_handshake, silence
from kafka_groups.net.handshake import BrokerVersions
from kafka_groups.net.login import Login
from kafka_groups.net.loop_clock import LoopClock
from kafka_groups.net.network import Network
from kafka_groups.net.rate_limited_log import RateLimitedLog
from kafka_groups.net.session import Access, Watch, open_session, refusal_in
from kafka_groups.protocol.apis import APIS

__all__ = ["ConnectionSettings", "Router"]

OnAnswer = Callable[[ClientResponse], None]
OnRequestFailure = Callable[[Exception], None]

_FLUSH_TIMEOUT_S = 1.0
_ADVERTISED = " The cluster advertises this address (advertised.listeners), so it must be reachable from here."


@frozen
class ConnectionSettings:
    """Settings for connections.

    Attributes:
        bootstrap: Addresses to try while no broker is known.
        client_id: Name that the requests carry.
        setup_timeout_ms: How long connecting and the handshake may take.
        reconnect_backoff_ms: Wait after the first failure of an address.
        reconnect_backoff_max_ms: Longest wait.
        reach_timeout_ms: If no broker has ever answered, the application gets an error after this time.
        uses_tls: Whether the connections are encrypted.
        login: How connections authenticate; None without SASL.
    """

    bootstrap: tuple[tuple[str, int], ...]
    client_id: str | None
    setup_timeout_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    reach_timeout_ms: int = 60_000
    uses_tls: bool = False
    login: Login | None = None


@frozen(eq=False)
class _Waiting:
    request: OutgoingRequest
    on_answer: OnAnswer
    on_failure: OnRequestFailure


@define(eq=False)
class _Link:
    host: str
    port: int
    lane: Lane
    channel: int
    backoff: BackoffTimer
    has_answered: bool = False
    connection: ClientConnection | None = None
    versions: BrokerVersions | None = None
    features: Mapping[str, int] = field(factory=dict)
    connecting: "asyncio.Task[None] | None" = None
    error: KafkaGroupsError | None = None
    queue: deque[_Waiting] = field(factory=deque)

    @property
    def address(self) -> Address:
        """Host and port."""
        return self.host, self.port

    @property
    def works(self) -> bool:
        """True if the broker has answered a request on the open connection."""
        return self.connection is not None and self.has_answered

    @property
    def load(self) -> int:
        """The number of requests that a new one has to wait for."""
        return len(self.queue) + (self.connection.in_flight if self.connection is not None else 0)


class Router:
    """Sends requests to brokers. Use it on one event loop.

    Args:
        network: Connects to addresses.
        settings: Settings for connections.
        nodes: Addresses of the known brokers. The router only reads them.
        clock: The clock. With a `LoopClock`, the time in which the event loop stands still counts nowhere.
        rng: Picks brokers, and adds jitter to the back-off.
        on_data_lost: Called with host and port when a connection of the data lane has ended, after its requests have
            failed. A share session ends with it. In other lanes, the failed requests say all there is to say.
    """

    def __init__(
        self,
        network: Network,
        settings: ConnectionSettings,
        nodes: Mapping[int, Node],
        clock: Clock,
        rng: random.Random,
        on_data_lost: Callable[[str, int], None] | None = None,
    ) -> None:
        self._network = network
        self._settings = settings
        self._nodes = nodes
        self._clock = clock
        self._loop_clock = clock if isinstance(clock, LoopClock) else None
        self._rng = rng
        self._on_data_lost = on_data_lost
        self._links: dict[tuple[str, int, Lane, int], _Link] = {}
        self.rate_limited_log = RateLimitedLog(clock)
        self._closed = False
        self.reachability = Reachability(settings.reach_timeout_ms)
        self.refusal: AuthenticationError | None = None

    def __repr__(self) -> str:
        connected = [f"{link.host}:{link.port}" for link in self._links.values() if link.connection is not None]
        return f"<Router connected to {', '.join(connected) or 'nothing'}>"

    def send(self, request: OutgoingRequest, on_answer: OnAnswer, on_failure: OnRequestFailure) -> None:
        """Send a request, and connect first if necessary. Exactly one of the callbacks is called later."""
        link = self._link_for(request)
        # Through the loop, because a manager that is being asked must not be told of a failure at the same time.
        if self._closed or link is None:
            reason = "The client is closed." if self._closed else f"Broker {request.node_id} is unknown."
            asyncio.get_running_loop().call_soon(on_failure, DisconnectedError(reason))
            return
        if request.on_new_connection:
            link = self._anew(link)
        waiting = _Waiting(request, on_answer, on_failure)
        if link.connection is not None and link.versions is not None:
            self._transmit(link, link.connection, link.versions, waiting)
            return
        link.queue.append(waiting)
        if link.connecting is None:
            and_tls = " and agree on TLS" if self._settings.uses_tls else ""
            self._trying(link, f"Could not connect to {link.host}:{link.port}{and_tls} yet.")
            link.connecting = asyncio.get_running_loop().create_task(self._connect(link))

    def features_of(self, node_id: int) -> Mapping[str, int]:
        """Return the levels of finalized features that a broker told when its control connection was last opened.

        They are empty before the first connection.
        """
        node = self._nodes.get(node_id)
        return {} if node is None else self._link(node.host, node.port, Lane.CONTROL).features

    def take_error(self, now_ms: int) -> KafkaGroupsError | None:
        """Return the error about unreachable brokers to report to the application now, if any."""
        return self.reachability.take_error(self._addresses(), now_ms)

    async def close(self) -> None:
        """Close all connections. Requests in flight fail."""
        self._closed = True
        tasks = [link.connecting for link in self._links.values() if link.connecting is not None]
        for task in tasks:
            task.cancel()
        connections = [link.connection for link in self._links.values() if link.connection is not None]
        for connection in connections:
            connection.close()
        for link in self._links.values():
            self._fail_queue(link, DisconnectedError("The client was closed."))
        await asyncio.gather(*tasks, return_exceptions=True)
        await _ended(connections)

    # -------------------------------------------------------------------------------------- choosing

    def _link_for(self, request: OutgoingRequest) -> _Link | None:
        if request.node_id is None:
            return self._any_link(request.lane)
        node = self._nodes.get(request.node_id)
        return None if node is None else self._link(node.host, node.port, request.lane, request.channel)

    def _any_link(self, lane: Lane) -> _Link:
        """Return the connection that should answer first: the least loaded, else the shortest back-off."""
        now_ms = self._clock.now_ms()
        links = [self._link(host, port, lane) for host, port in self._addresses()]
        # With equal loads, chance decides, so that clients do not all ask the first broker.
        self._rng.shuffle(links)
        # Like NetworkClient.leastLoadedNode in Java: an open connection first, and of those the one with the fewest
        # requests under way.
        return min(links, key=lambda link: (link.connection is None, link.backoff.remaining_ms(now_ms), link.load))

    def _addresses(self) -> Iterable[Address]:
        # The bootstrap servers stay among them. If all known brokers have been replaced, one of these may still answer.
        known = {(node.host, node.port) for node in self._nodes.values()}
        return sorted(known | set(self._settings.bootstrap))

    def _link(self, host: str, port: int, lane: Lane, channel: int = 0) -> _Link:
        link = self._links.get((host, port, lane, channel))
        if link is None:
            settings = self._settings
            backoff = BackoffTimer(settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms, self._rng)
            link = self._links[host, port, lane, channel] = _Link(host, port, lane, channel, backoff)
        return link

    def _anew(self, link: _Link) -> _Link:
        """Give up what waits for a connection or its responses, and return the link for the next connection."""
        error = DisconnectedError(f"The client no longer waits for {link.host}:{link.port}.")
        for waiting in _drain(link.queue):
            asyncio.get_running_loop().call_soon(waiting.on_failure, error)
        if link.connection is None:
            return link
        # Another object, as that of the old connection hears of its end later.
        del self._links[link.host, link.port, link.lane, link.channel]
        connection, link.connection = link.connection, None
        connection.abort(error)
        return self._link(link.host, link.port, link.lane, link.channel)

    # ------------------------------------------------------------------------------------ connecting

    async def _connect(self, link: _Link) -> None:
        try:
            # reconnect.backoff.ms after the last failure of this address.
            await asyncio.sleep(link.backoff.remaining_ms(self._clock.now_ms()) / 1000)
            await self._open(link)
        except TimeoutError:
            waited = f"{self._settings.setup_timeout_ms} ms"
            error = OperationTimeoutError(f"Could not connect to {link.host}:{link.port} within {waited}.")
            self._connect_failed(link, error)
        except KafkaGroupsError as error:
            self._connect_failed(link, error)
        finally:
            link.connecting = None
        self._flush(link)

    async def _open(self, link: _Link) -> None:
        settings = self._settings
        session = await open_session(
            self._network,
            (link.host, link.port),
            Access(settings.client_id, settings.login),
            timeout_ms=settings.setup_timeout_ms,
            watch=Watch(
                on_open=lambda: self._trying(link, silence(f"{link.host}:{link.port}", uses_tls=settings.uses_tls)),
                on_lost=lambda error: self._lost(link, error),
                explain=lambda error: self._explained(error, link),
            ),
            loop_clock=self._loop_clock,
        )
        link.versions = session.versions
        link.features = session.versions.features
        link.connection = session.connection
        link.has_answered = False
        NETWORK_LOG.debug("Connected to %s:%d (%s)", link.host, link.port, link.lane.value)

    def _trying(self, link: _Link, so_far: str) -> None:
        self.reachability.trying(link.address, so_far, self._clock.now_ms())

    def _explained(self, error: KafkaGroupsError, link: _Link) -> KafkaGroupsError:
        if self.reachability.is_proven(link.address):
            return error
        return during_handshake(error, f"{link.host}:{link.port}", uses_tls=self._settings.uses_tls)

    def _flush(self, link: _Link) -> None:
        for waiting in _drain(link.queue):
            if link.connection is None or link.versions is None:
                waiting.on_failure(self._queue_error(link))
            else:
                self._transmit(link, link.connection, link.versions, waiting)

    def _connect_failed(self, link: _Link, error: KafkaGroupsError) -> None:
        now_ms = self._clock.now_ms()
        link.backoff.failed(now_ms)
        link.error = error
        self.refusal = self.refusal or refusal_in(error)
        self.reachability.failed(link.address, error, now_ms, another_works=self._works)
        self._warn(link, error)

    @property
    def _works(self) -> bool:
        return any(link.works for link in self._links.values())

    def _warn(self, link: _Link, error: KafkaGroupsError) -> None:
        has_no_token = isinstance(error, TokenUnavailableError)
        what = f"Cannot log in to {link.host}:{link.port}" if has_no_token else "Cannot reach a broker"
        hint = "" if has_no_token or link.address in self._settings.bootstrap else _ADVERTISED
        since_ms, now_ms = self.reachability.unreachable_since_ms, self._clock.now_ms()
        alone_s = 0 if since_ms is None else (now_ms - since_ms) // 1000
        alone = f"No broker has answered for {alone_s} s" if alone_s else ""
        text = sentences(f"{what}: {error}", hint, alone, "Retrying")
        self.rate_limited_log.warn(NETWORK_LOG, f"{link.host}:{link.port}", "%s", text)

    def _answered(self, link: _Link) -> None:
        now_ms = self._clock.now_ms()
        if not link.has_answered:
            link.has_answered = True
            link.backoff.succeeded()
            if self.rate_limited_log.settled(f"{link.host}:{link.port}"):
                NETWORK_LOG.info("Reached %s:%d", link.host, link.port)
        self.reachability.answered(link.address, now_ms)

    def _queue_error(self, link: _Link) -> KafkaGroupsError:
        return NetworkError(f"Could not reach {link.host}:{link.port}: {link.error}")

    def _fail_queue(self, link: _Link, error: KafkaGroupsError) -> None:
        for waiting in _drain(link.queue):
            waiting.on_failure(error)

    def _lost(self, link: _Link, error: KafkaGroupsError | None) -> None:
        if link.connection is None:
            return
        link.connection = None
        link.versions = None
        NETWORK_LOG.debug("Lost the connection to %s:%d (%s): %s", link.host, link.port, link.lane.value, error)
        if self._closed:
            return
        self.refusal = self.refusal or refusal_in(error)
        # There are three cases. No broker at this address has ever answered: the configuration is probably wrong, and
        # the error says what speaks for that.
        if not self.reachability.is_proven(link.address):
            uses_sasl = self._settings.login is not None
            self._connect_failed(link, closed_after_handshake(f"{link.host}:{link.port}", error, uses_sasl=uses_sasl))
        # The broker has gone without an answer on this connection, or is silent.
        elif error is not None and (not link.has_answered or isinstance(error, OperationTimeoutError)):
            self._connect_failed(link, error)
        # An ordinary end, such as a restart or an idle connection that the broker closed. Only the back-off holds.
        else:
            link.backoff.failed(self._clock.now_ms())
        if link.lane is Lane.DATA and self._on_data_lost is not None:
            self._on_data_lost(link.host, link.port)

    # ---------------------------------------------------------------------------------- transmitting

    def _transmit(self, link: _Link, connection: ClientConnection, versions: BrokerVersions, waiting: _Waiting) -> None:
        request, sent_ms = waiting.request, self._clock.now_ms()

        def answered(message: object) -> None:
            self._answered(link)
            latency_ms = self._clock.now_ms() - sent_ms
            REQUESTS_LOG.debug("%s v%d: %s:%d answered in %d ms", name, version, link.host, link.port, latency_ms)
            waiting.on_answer(ClientResponse(message, version, latency_ms))

        name = request.api.name
        try:
            version = versions.version_for(APIS[request.api].request_class)
            version = version if request.newest_version is None else min(version, request.newest_version)
            message = request.build(version)
            REQUESTS_LOG.debug("%s v%d to %s:%d", name, version, link.host, link.port)
            connection.send(message, version, answered, waiting.on_failure, sent_ms + request.timeout_ms)
        except KafkaGroupsError as error:
            # Through the loop, as in `send`. The broker has no version of the API, or the request cannot be built for
            # one.
            asyncio.get_running_loop().call_soon(waiting.on_failure, if_too_old(request.api, error))
        except Exception as error:  # on the engine's next turn, which ends the client: a bug
            asyncio.get_running_loop().call_soon(waiting.on_failure, error)


async def _ended(connections: Sequence[ClientConnection]) -> None:
    """Wait until closed connections have ended, so that no socket outlives the event loop."""
    try:
        async with asyncio.timeout(_FLUSH_TIMEOUT_S):
            for connection in connections:
                await connection.wait_closed()
    except TimeoutError:  # the broker does not read the last data
        for connection in connections:
            connection.abort()


def _drain(queue: "deque[_Waiting]") -> Iterator[_Waiting]:
    while queue:
        yield queue.popleft()
