"""An in-memory network: frames go from handler to handler through the event loop, without sockets.

A host is any name, and its ports are numbered from 1. A `FaultPlan` can delay frames, lose them, and break connections.
Frames never overtake each other in one direction.

As with sockets, a handler is called in the context (`contextvars`) of its own side: that of `connect` or `listen`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Protocol

from attrs import frozen

from kafka_groups.errors import NameResolutionError, NetworkError
from kafka_groups.errors.texts import sentences
from kafka_groups.net.network import AcceptConnection, FrameHandler, FrameTransport, Listener

__all__ = ["DELIVERED", "FaultPlan", "Link", "MemoryNetwork", "Passage"]


@frozen
class Link:
    """One direction of one connection.

    Attributes:
        connection: Number of the connection, counted from 1.
        address: Address that the client connected to, `host:port`.
        to_server: Whether this is the direction of the requests.
    """

    connection: int
    address: str
    to_server: bool


@frozen
class Passage:
    """The passage of one frame, or of one attempt to connect, through the network.

    Attributes:
        delay_ms: How long it takes to arrive.
        breaks: Whether the connection breaks instead. Both sides notice.
        vanishes: Whether this frame and all later ones in this direction are lost. Neither side notices (a half-dead
            connection).
    """

    delay_ms: float = 0.0
    breaks: bool = False
    vanishes: bool = False


DELIVERED = Passage()
"""Arrives on the loop's next turn."""


class FaultPlan(Protocol):
    """Decides what happens to connections and frames. It is asked in the order of events, so a seeded plan repeats."""

    def on_connect(self, address: str) -> Passage:
        """Decide what happens to an attempt to connect to this address."""
        ...

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        """Decide what happens to a frame."""
        ...


class MemoryNetwork:
    """Connections within one event loop.

    Args:
        plan: Faults, or None for a network without faults.
    """

    def __init__(self, plan: FaultPlan | None = None) -> None:
        self.plan = plan
        self._listeners: dict[tuple[str, int], tuple[AcceptConnection, Context]] = {}
        self._last_port: dict[str, int] = {}
        self._connections: dict[int, tuple[_MemoryConnection, _MemoryConnection]] = {}
        self._connection_count = 0

    def __repr__(self) -> str:
        return f"<MemoryNetwork: {len(self._listeners)} listeners, {len(self._connections)} connections>"

    @property
    def open_connections(self) -> int:
        """The number of connections with at least one open end."""
        return len(self._connections)

    def is_open(self, connection: int) -> bool:
        """Return whether the server's end of the connection with this number is open."""
        ends = self._connections.get(connection)
        return ends is not None and not ends[1].is_lost

    async def connect(self, host: str, port: int, handler: FrameHandler) -> FrameTransport:
        """Open a connection.

        Raises:
            NetworkError: Nothing listens on the address, or the fault plan breaks the attempt.
            NameResolutionError: Nothing has ever listened on the host.
        """
        address = f"{host}:{port}"
        passage = DELIVERED if self.plan is None else self.plan.on_connect(address)
        await asyncio.sleep(passage.delay_ms / 1000)
        if passage.vanishes:
            await asyncio.get_running_loop().create_future()
        listener = self._listeners.get((host, port))
        if passage.breaks or listener is None:
            raise self._refusal(host, address)
        return self._connected(address, handler, *listener)

    async def listen(self, host: str, port: int, accept: AcceptConnection) -> Listener:
        """Accept connections on an address. Port 0 picks the host's next free port.

        Raises:
            NetworkError: The address is in use.
        """
        port = port or self._last_port.get(host, 0) + 1
        if (host, port) in self._listeners:
            raise NetworkError(f"Could not listen on {host}:{port}: the address is in use.")
        self._last_port[host] = max(port, self._last_port.get(host, 0))
        self._listeners[host, port] = accept, copy_context()
        return Listener(host, port, lambda: self._listeners.pop((host, port), None))

    def sever(self, concerned: Callable[[Link], bool] = lambda _link: True) -> int:
        """Break the open connections for which the predicate holds, and return how many.

        Args:
            concerned: Called with the direction to the server.
        """
        ends = [client for client, _ in self._connections.values() if concerned(client.link)]
        for client in ends:
            client.break_both("severed")
        return len(ends)

    def _refusal(self, host: str, address: str) -> NetworkError:
        if host not in self._last_port:
            return NameResolutionError(f"Could not resolve the host name of {address}: no such host in this network.")
        return NetworkError(f"Could not connect to {address}: connection refused.")

    def _connected(
        self, address: str, handler: FrameHandler, accept: AcceptConnection, context: Context
    ) -> "_MemoryConnection":
        self._connection_count += 1
        number = self._connection_count
        client = _MemoryConnection(self, Link(number, address, to_server=True), address, copy_context())
        server = _MemoryConnection(self, Link(number, address, to_server=False), f"client:{number}", context.copy())
        client.other, server.other = server, client
        self._connections[number] = (client, server)
        client.handler = handler
        server.handler = server.context.run(accept, server)
        return client

    def forget_if_closed(self, number: int) -> None:
        """Forget a connection if both of its ends are closed."""
        ends = self._connections.get(number)
        if ends is not None and all(end.is_lost for end in ends):
            del self._connections[number]


class _End:
    """The last item in a direction: the peer closed the connection, or the connection broke."""

    __slots__ = ("error",)

    def __init__(self, error: Exception | None) -> None:
        self.error = error


class _MemoryConnection:
    """One end of a connection. Frames that it sends go to the inbox of the other end."""

    handler: FrameHandler
    other: "_MemoryConnection"

    def __init__(self, network: MemoryNetwork, link: Link, peer: str, context: Context) -> None:
        self._network = network
        self._loop = asyncio.get_running_loop()
        self.link = link
        self._peer = peer
        self.context = context
        self._closing = False
        self.is_lost = False
        self._vanished = False
        self._paused = False
        self._under_way: deque[bytes | _End] = deque()
        self._inbox: deque[bytes | _End] = deque()
        self._last_arrival = 0.0

    def __repr__(self) -> str:
        return f"<memory connection {self.link.connection} with {self._peer}>"

    # ------------------------------------------------------------------------------------ FrameTransport

    @property
    def peer(self) -> str:
        return self._peer

    @property
    def peer_certificate(self) -> bytes | None:
        return None

    @property
    def is_closing(self) -> bool:
        return self._closing

    def send(self, payload: bytes) -> None:
        if self._closing:
            return
        plan = self._network.plan
        passage = DELIVERED if plan is None else plan.on_frame(self.link, payload)
        if passage.breaks:
            self.break_both("broken by the fault plan")
            return
        self._vanished = self._vanished or passage.vanishes
        if not self._vanished:
            self.other.enqueue(payload, passage.delay_ms)

    async def drain(self) -> None:
        return

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._loop.call_soon(self._hand_over, context=self.context)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if not self._vanished:
                self.other.enqueue(_End(None), 0.0)
            self._loop.call_soon(self._lose, None, context=self.context)

    def abort(self) -> None:
        if not self._closing:
            self._closing = True
            if not self._vanished:
                self.other.break_off(NetworkError(f"The connection to {self.other.peer} broke: reset by the peer."))
            self._loop.call_soon(self._lose, None, context=self.context)

    # ---------------------------------------------------------------------------------------- the wire

    def break_both(self, reason: str) -> None:
        for end in (self, self.other):
            end.break_off(NetworkError(sentences(f"The connection to {end.peer} broke: {reason}")))

    def break_off(self, error: Exception) -> None:
        """Lose all frames on the way to this end, and notify it of the break on the next turn."""
        if not self.is_lost:
            self._closing = True
            self._under_way.clear()
            self._inbox.clear()
            self._loop.call_soon(self._lose, error, context=self.context)

    def enqueue(self, item: bytes | _End, delay_ms: float) -> None:
        """Deliver after the delay, and after everything that was sent earlier."""
        now = self._loop.time()
        arrival = max(now + delay_ms / 1000, self._last_arrival)
        self._under_way.append(item)
        # Each call hands over the oldest item, so calls that are due at the same time may run in any order.
        if arrival > now:
            self._last_arrival = arrival
            self._loop.call_at(arrival, self._arrived, context=self.context)
        else:
            self._loop.call_soon(self._arrived, context=self.context)

    def _arrived(self) -> None:
        if self._under_way:
            self._inbox.append(self._under_way.popleft())
            self._hand_over()

    def _hand_over(self) -> None:
        while self._inbox and not self._paused and not self.is_lost:
            item = self._inbox.popleft()
            if isinstance(item, _End):
                self._closing = True
                self._lose(item.error)
            elif not self._closing:
                self.handler.frame_received(memoryview(item))

    def _lose(self, error: Exception | None) -> None:
        if not self.is_lost:
            self.is_lost = True
            self._network.forget_if_closed(self.link.connection)
            self.handler.connection_lost(error)
