"""TCP frames on loopback."""

import asyncio
import contextlib
import socket
import struct

import pytest

from kafka_groups.errors import FrameLengthError, NameResolutionError, NetworkError
from kafka_groups.net.network import FrameTransport
from kafka_groups.net.tcp import TcpNetwork


class Recorder:
    """A handler that keeps what it hears and lets tests wait for it."""

    def __init__(self, transport: FrameTransport | None = None) -> None:
        self.transport = transport
        self.frames: list[bytes] = []
        self.ends: list[Exception | None] = []
        self.changed = asyncio.Event()

    def frame_received(self, frame: memoryview) -> None:
        assert frame.readonly
        self.frames.append(bytes(frame))
        self.changed.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.ends.append(error)
        self.changed.set()

    async def until(self, *, frames: int = 0, ends: int = 0) -> None:
        async with asyncio.timeout(10):
            while len(self.frames) < frames or len(self.ends) < ends:
                self.changed.clear()
                await self.changed.wait()


class Server:
    """A listener whose handlers are recorders."""

    def __init__(self, network: TcpNetwork) -> None:
        self.network = network
        self.accepted: asyncio.Queue[Recorder] = asyncio.Queue()

    async def __aenter__(self) -> "Server":
        self.listener = await self.network.listen("127.0.0.1", 0, self.accept)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.listener.close()

    def accept(self, transport: FrameTransport) -> Recorder:
        handler = Recorder(transport)
        self.accepted.put_nowait(handler)
        return handler

    async def connect(self) -> tuple[FrameTransport, Recorder, Recorder]:
        client = Recorder()
        transport = await self.network.connect("127.0.0.1", self.listener.port, client)
        return transport, client, await self.accepted.get()


@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_that_arrives_while_the_listener_closes_is_accepted_or_refused(turns: int) -> None:
    async with Server(TcpNetwork()) as server:
        with socket.create_connection(("127.0.0.1", server.listener.port)) as client:
            client.setblocking(False)
            for _ in range(turns):
                await asyncio.sleep(0)
            server.listener.close()
            reading = asyncio.create_task(_read_to_the_end(client))
            accepting = asyncio.create_task(server.accepted.get())
            async with asyncio.timeout(10):
                await asyncio.wait([reading, accepting], return_when=asyncio.FIRST_COMPLETED)
                if accepting.done() and (transport := accepting.result().transport) is not None:
                    transport.abort()
                await reading
            accepting.cancel()


async def _read_to_the_end(client: socket.socket) -> None:
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.get_running_loop().sock_recv(client, 1) == b""


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 3_000_000])
async def test_frames_of_all_sizes_go_both_ways(size: int) -> None:
    async with Server(TcpNetwork()) as server:
        transport, client, peer = await server.connect()
        assert peer.transport is not None
        transport.send(b"x" * size)
        transport.send(b"next")
        await peer.until(frames=2)
        assert peer.frames == [b"x" * size, b"next"]
        peer.transport.send(b"y" * size)
        await client.until(frames=1)
        assert client.frames == [b"y" * size]
        transport.close()
        await peer.until(ends=1)
        await client.until(ends=1)
        assert (client.ends, peer.ends) == ([None], [None])
        transport.send(b"dropped")
        assert transport.is_closing


async def test_peer_names_the_address() -> None:
    async with Server(TcpNetwork()) as server:
        transport, client, peer = await server.connect()
        assert transport.peer == f"127.0.0.1:{server.listener.port}"
        assert peer.transport is not None
        assert peer.transport.peer.startswith("127.0.0.1:")
        transport.abort()
        await client.until(ends=1)
        await peer.until(ends=1)


async def test_connections_send_small_frames_at_once() -> None:
    async with Server(TcpNetwork()) as server:
        transport, client, peer = await server.connect()
        for end in (transport, peer.transport):
            sock = end._transport.get_extra_info("socket")  # type: ignore[union-attr]
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        transport.abort()
        await client.until(ends=1)
        await peer.until(ends=1)


async def test_refused_connection_and_taken_address_are_network_errors() -> None:
    async with Server(TcpNetwork()) as server:
        with pytest.raises(NetworkError, match="Could not listen"):
            await server.network.listen("127.0.0.1", server.listener.port, server.accept)
    with pytest.raises(NetworkError, match=f"127.0.0.1:{server.listener.port}") as caught:
        await server.network.connect("127.0.0.1", server.listener.port, Recorder())
    assert not isinstance(caught.value, NameResolutionError)


async def test_unknown_host_is_a_name_resolution_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_args: object, **_keywords: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    with pytest.raises(NameResolutionError, match=r"no-such-host:9092.*not known"):
        await TcpNetwork().connect("no-such-host", 9092, Recorder())


@pytest.mark.parametrize("length", [-1, -(2**31), 1001, 2**31 - 1])
async def test_bad_length_ends_the_connection_with_its_reason(length: int) -> None:
    async with Server(TcpNetwork(max_frame_bytes=1000)) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
        peer = await server.accepted.get()
        writer.write(struct.pack(">i", length) + b"rest")
        await peer.until(ends=1)
        assert [type(error) for error in peer.ends] == [FrameLengthError]
        writer.close()


async def test_reset_by_the_peer_is_a_network_error() -> None:
    async with Server(TcpNetwork()) as server:
        transport, client, peer = await server.connect()
        assert peer.transport is not None
        sock = transport._transport.get_extra_info("socket")  # type: ignore[attr-defined]
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        await peer.until(ends=1)
        await client.until(ends=1)
        assert isinstance(peer.ends[0], NetworkError)
        assert "reset" in str(peer.ends[0]).lower()
        assert client.ends == [None]


async def test_drain_waits_for_a_slow_reader() -> None:
    async with Server(TcpNetwork()) as server:
        transport, client, peer = await server.connect()
        assert peer.transport is not None
        peer.transport.pause_reading()
        peer.transport.pause_reading()
        payload, sent = b"x" * 1_000_000, 0
        drained = asyncio.create_task(transport.drain())
        await drained
        while drained.done():
            transport.send(payload)
            sent += 1
            drained = asyncio.create_task(transport.drain())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        peer.transport.resume_reading()
        await asyncio.wait_for(drained, 10)
        await peer.until(frames=sent)
        transport.close()
        await client.until(ends=1)
        await peer.until(ends=1)


async def test_drain_ends_when_the_connection_does() -> None:
    async with Server(TcpNetwork()) as server:
        transport, client, peer = await server.connect()
        assert peer.transport is not None
        peer.transport.pause_reading()
        for _ in range(20):
            transport.send(b"x" * 1_000_000)
        drained = asyncio.create_task(transport.drain())
        await asyncio.sleep(0)
        assert not drained.done()
        transport.abort()
        await asyncio.wait_for(drained, 10)
        peer.transport.abort()
        await client.until(ends=1)
        await peer.until(ends=1)


@pytest.mark.parametrize(("kept_bytes", "stays_large"), [(1024 * 1024, False), (8 * 1024 * 1024, True)])
async def test_a_connection_keeps_a_receive_buffer_up_to_a_size(kept_bytes: int, stays_large: bool) -> None:
    async with Server(TcpNetwork(kept_bytes=kept_bytes)) as server:
        transport, client, accepted = await server.connect()
        assert accepted.transport is not None
        accepted.transport.send(bytes(4 * 1024 * 1024))
        await client.until(frames=1)
        assert isinstance(transport, asyncio.BufferedProtocol)
        assert (memoryview(transport.get_buffer(-1)).nbytes > 4 * 1024 * 1024) == stays_large
        transport.close()
        await accepted.until(ends=1)
        await client.until(ends=1)
