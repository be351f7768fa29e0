"""A TCP proxy between clients and a Kafka cluster that cuts connections, loses and delays responses on request.

The proxy understands frames and headers, so that a fault can be aimed at an API ("cut every third ShareFetch"),
and rewrites the broker addresses in responses, so that clients stay behind it whatever leader they go to.
"""

import asyncio
import enum
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from attrs import frozen

from kafka_groups.client.reachability import Address
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.tcp import stop_listening
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import RequestHeader, correlation_id_of, decode_request_header
from kafka_groups.protocol.framing import FrameDecoder, frame
from kafka_groups.testing.endpoints import addresses_in, readdressed

__all__ = ["Exchange", "Fault", "FaultAction", "FaultProxy"]

_CHUNK_BYTES = 65_536
_THREAD_TIMEOUT_S = 30.0


class FaultAction(enum.Enum):
    """The effect of a fault on a request."""

    CUT_REQUEST = "the connection is cut before the broker sees the request"
    CUT_RESPONSE = "the broker handles the request, then the connection is cut and the response lost"
    DROP_RESPONSE = "the broker handles the request, its response is lost, the connection stays"
    DELAY_RESPONSE = "the response comes later, and what follows on its connection behind it"


@frozen
class Fault:
    """One kind of fault, counted over all connections.

    Attributes:
        action: The effect.
        api: The API whose requests are met; `None` means all.
        every: The first request that is met is number `every`, then every `every`-th.
        times: The most times that it happens; `None` means no limit.
        delay_ms: The time for which `DELAY_RESPONSE` holds a response back.
    """

    action: FaultAction
    api: ApiKey | None = None
    every: int = 1
    times: int | None = None
    delay_ms: int = 0


@frozen
class Exchange:
    """A request that passed, and the response that came for it, both as the broker saw and sent them.

    Attributes:
        broker: Address of the broker.
        header: Header of the request.
        request: Payload of the request's frame.
        response: Payload of the response's frame.
    """

    broker: Address
    header: RequestHeader
    request: bytes
    response: bytes


class FaultProxy:
    """A proxy for a whole cluster, on loopback, with an event loop on a thread of its own.

    It can be used from blocking and from asyncio tests alike; its methods can be called from any thread and
    take effect for whatever passes from then on. With no fault injected it only relays.

    ```python
    with FaultProxy("127.0.0.1:9092") as proxy:
        proxy.inject(Fault(FaultAction.CUT_RESPONSE, ApiKey.SHARE_FETCH, every=3))
        consumer = KafkaShareConsumer(bootstrap_servers=proxy.bootstrap_servers, group_id="g")
    ```

    Args:
        upstream: `host:port` of a broker of the cluster, or several with commas between them. Name all brokers if some
            of them will be stopped.
        on_exchange: Called on the proxy's thread with every request and its response, before addresses are
            rewritten; it sees no requests without a response (Produce with acks=0).
    """

    def __init__(self, upstream: str, on_exchange: Callable[[Exchange], None] | None = None) -> None:
        self._upstream = [_address(server) for server in upstream.split(",")]
        self._relays = _Relays(on_exchange)
        self._thread: LoopThread | None = None
        self._addresses: list[Address] = []

    def __repr__(self) -> str:
        state = f"at {self.bootstrap_servers}" if self._addresses else "stopped"
        return f"<FaultProxy {state} before {_servers(self._upstream)}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` for clients, one for each address in `upstream`."""
        if not self._addresses:
            raise KafkaGroupsError("the fault proxy is not started")
        return _servers(self._addresses)

    @property
    def injected(self) -> Mapping[Fault, int]:
        """The number of times that each fault has occurred."""
        return dict(self._relays.faults.happened)

    @property
    def requests(self) -> Mapping[int, int]:
        """The number of requests for each API key, including those that a fault affected."""
        return dict(self._relays.faults.requests)

    def start(self) -> None:
        """Listen on free ports on loopback."""
        self._thread = LoopThread("fault-proxy")
        self._thread.start()
        self._addresses = [
            self._thread.run(self._relays.local_address(broker), _THREAD_TIMEOUT_S) for broker in self._upstream
        ]

    def inject(self, fault: Fault) -> None:
        """Switch a fault on. Counting for its `every` starts now."""
        self._on_loop(self._relays.faults.add, fault)

    def clear(self) -> None:
        """Switch all faults off."""
        self._on_loop(self._relays.faults.clear)

    def cut_all(self) -> None:
        """Break all open connections."""
        self._on_loop(self._relays.cut_all)

    def refuse(self) -> None:
        """Break all connections, and every new one immediately, until you call `accept`."""
        self._on_loop(self._relays.refuse)

    def accept(self) -> None:
        """Accept new connections again after `refuse`."""
        self._on_loop(self._relays.accept)

    def close(self) -> None:
        """Break all connections and stop. Raises any error that occurred inside the proxy."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._addresses = []
        try:
            thread.run(self._relays.close(), _THREAD_TIMEOUT_S)
        finally:
            thread.stop()
        if self._relays.failures:
            raise ExceptionGroup("the fault proxy failed", self._relays.failures)

    def _on_loop(self, action: Callable[..., None], *arguments: object) -> None:
        async def act() -> None:
            action(*arguments)

        if self._thread is None:
            raise KafkaGroupsError("the fault proxy is not started")
        self._thread.run(act(), _THREAD_TIMEOUT_S)


def _address(server: str) -> Address:
    host, _, port = server.rpartition(":")
    return host, int(port)


def _servers(addresses: Iterable[Address]) -> str:
    return ",".join(f"{host}:{port}" for host, port in addresses)


class _Faults:
    """The active faults, and what they have done."""

    def __init__(self) -> None:
        self.happened: Counter[Fault] = Counter()
        self.requests: Counter[int] = Counter()
        self._met: Counter[Fault] = Counter()
        self._active: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self._met[fault] = 0
        self._active.append(fault)

    def clear(self) -> None:
        self._active.clear()

    def for_request(self, api_key: int) -> list[Fault]:
        """Return the faults that affect this request."""
        self.requests[api_key] += 1
        hit = [fault for fault in self._active if self._hits(fault, api_key)]
        self.happened.update(hit)
        return hit

    def _hits(self, fault: Fault, api_key: int) -> bool:
        if fault.api is not None and fault.api != api_key:
            return False
        self._met[fault] += 1
        spent = fault.times is not None and self.happened[fault] >= fault.times
        return self._met[fault] % fault.every == 0 and not spent


class _Relays:
    """The listeners, one for each broker, and the connections; lives on the loop."""

    def __init__(self, on_exchange: Callable[[Exchange], None] | None) -> None:
        self.faults = _Faults()
        self.on_exchange = on_exchange
        self.failures: list[Exception] = []
        self._listeners: list[asyncio.Server] = []
        self._addresses: dict[Address, Address] = {}
        self._relays: dict[_Relay, asyncio.Task[None]] = {}
        self._refusing = False
        self._lock = asyncio.Lock()

    async def local_address(self, broker: Address) -> Address:
        """Return the address on which the proxy listens for a broker, and start to listen if the broker is new."""
        async with self._lock:
            if broker not in self._addresses:
                listener = await asyncio.start_server(
                    lambda reader, writer: self._accept(broker, reader, writer), "127.0.0.1", 0
                )
                self._listeners.append(listener)
                self._addresses[broker] = listener.sockets[0].getsockname()[:2]
        return self._addresses[broker]

    async def rewritten(self, header: RequestHeader, response: bytes) -> bytes:
        """Return the response with the proxy's addresses instead of the brokers'."""
        local = {broker: await self.local_address(broker) for broker in addresses_in(header, response)}
        return readdressed(header, response, local) if local else response

    def cut_all(self) -> None:
        for relay in list(self._relays):
            relay.cut()

    def refuse(self) -> None:
        self._refusing = True
        self.cut_all()

    def accept(self) -> None:
        self._refusing = False

    async def close(self) -> None:
        for listener in self._listeners:
            stop_listening(listener)
        self.refuse()  # also what is on its way
        if self._relays:
            await asyncio.wait(self._relays.values())

    def _accept(self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Not a coroutine: asyncio would give it a task of its own, and a proxy that closes before the task has begun
        # would leave the connection open.
        if self._refusing:
            writer.transport.abort()
            return
        relay = _Relay(self, broker, reader, writer)
        task = self._relays[relay] = asyncio.get_running_loop().create_task(relay.run())
        task.add_done_callback(lambda _task: self._ended(relay))

    def _ended(self, relay: "_Relay") -> None:
        task = self._relays.pop(relay)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.failures.append(error)


class _Relay:
    """A client's connection, and the connection to the broker behind it."""

    def __init__(
        self, relays: _Relays, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._relays = relays
        self._broker = broker
        self._from_client, self._to_client = reader, writer
        self._pending: dict[int, tuple[RequestHeader, bytes, list[Fault]]] = {}
        self._cut = asyncio.Event()

    def cut(self) -> None:
        self._cut.set()

    async def run(self) -> None:
        try:
            await self._run()
        except OSError:
            pass  # the broker is down: the client sees a connection that ends at once
        finally:
            self._to_client.transport.abort()

    async def _run(self) -> None:
        from_broker, to_broker = await asyncio.open_connection(*self._broker)
        parts: list[Coroutine[Any, Any, object]] = [
            self._relay_requests(to_broker), self._relay_responses(from_broker), self._cut.wait()
        ]  # fmt: skip
        tasks = [asyncio.ensure_future(part) for part in parts]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            to_broker.transport.abort()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        self._relays.failures += [o for o in outcomes if isinstance(o, Exception) and not isinstance(o, OSError)]

    async def _relay_requests(self, to_broker: asyncio.StreamWriter) -> None:
        frames = FrameDecoder()
        while chunk := await self._from_client.read(_CHUNK_BYTES):
            for payload in frames.feed(chunk):
                header = decode_request_header(payload)
                faults = self._relays.faults.for_request(header.api_key)
                if any(fault.action is FaultAction.CUT_REQUEST for fault in faults):
                    return
                self._pending[header.correlation_id] = (header, bytes(payload), faults)
                to_broker.write(frame(bytes(payload)))
            await to_broker.drain()

    async def _relay_responses(self, from_broker: asyncio.StreamReader) -> None:
        frames = FrameDecoder()
        while chunk := await from_broker.read(_CHUNK_BYTES):
            for payload in frames.feed(chunk):
                header, request, faults = self._pending.pop(correlation_id_of(payload))
                if self._relays.on_exchange is not None:
                    self._relays.on_exchange(Exchange(self._broker, header, request, bytes(payload)))
                actions = {fault.action for fault in faults}
                if FaultAction.CUT_RESPONSE in actions:
                    return
                await asyncio.sleep(sum(fault.delay_ms for fault in faults) / 1000)
                if FaultAction.DROP_RESPONSE not in actions:
                    self._to_client.write(frame(await self._relays.rewritten(header, bytes(payload))))
            await self._to_client.drain()
