"""The in-memory network: order, ends, faults."""

import asyncio
from contextvars import ContextVar

import pytest

from kafka_groups.errors import NameResolutionError, NetworkError
from kafka_groups.net.memory import DELIVERED, Link, MemoryNetwork, Passage
from kafka_groups.net.network import FrameTransport
from kafka_groups.testing.simulation import Simulation, run_simulated


class Recorder:
    """A handler that keeps what it hears."""

    def __init__(self, transport: FrameTransport | None = None) -> None:
        self.transport = transport
        self.frames: list[bytes] = []
        self.ends: list[Exception | None] = []

    def frame_received(self, frame: memoryview) -> None:
        self.frames.append(bytes(frame))

    def connection_lost(self, error: Exception | None) -> None:
        self.ends.append(error)


class Plan:
    """A fault plan from two lists of passages."""

    def __init__(self, connects: list[Passage] | None = None, frames: list[Passage] | None = None) -> None:
        self.connects = connects or []
        self.frames = frames or []
        self.seen: list[tuple[Link, bytes]] = []

    def on_connect(self, address: str) -> Passage:
        return self.connects.pop(0) if self.connects else DELIVERED

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        self.seen.append((link, payload))
        return self.frames.pop(0) if self.frames else DELIVERED


async def connected(network: MemoryNetwork) -> tuple[FrameTransport, Recorder, Recorder]:
    servers: list[Recorder] = []

    def accept(transport: FrameTransport) -> Recorder:
        servers.append(Recorder(transport))
        return servers[-1]

    listener = await network.listen("broker", 0, accept)
    client = Recorder()
    transport = await network.connect("broker", listener.port, client)
    return transport, client, servers[0]


def test_frames_go_both_ways_in_order() -> None:
    async def program(sim: Simulation) -> None:
        transport, client, server = await connected(MemoryNetwork())
        assert server.transport is not None
        for number in range(3):
            transport.send(b"request %d" % number)
            server.transport.send(b"response %d" % number)
        assert server.frames == []  # never within send
        await asyncio.sleep(0)
        assert server.frames == [b"request 0", b"request 1", b"request 2"]
        assert client.frames == [b"response 0", b"response 1", b"response 2"]

    run_simulated(program, 1)


def test_ports_count_up_from_one() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork()
        first = await network.listen("a", 0, Recorder)
        second = await network.listen("a", 0, Recorder)
        other = await network.listen("b", 0, Recorder)
        assert (first.port, second.port, other.port) == (1, 2, 1)
        with pytest.raises(NetworkError, match="in use"):
            await network.listen("a", 2, Recorder)
        second.close()
        assert (await network.listen("a", 2, Recorder)).port == 2

    run_simulated(program, 1)


def test_unknown_hosts_and_closed_ports_are_told_apart() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork()
        with pytest.raises(NameResolutionError, match="nowhere:1"):
            await network.connect("nowhere", 1, Recorder())
        listener = await network.listen("broker", 0, Recorder)
        listener.close()
        with pytest.raises(NetworkError, match="refused") as caught:
            await network.connect("broker", listener.port, Recorder())
        assert not isinstance(caught.value, NameResolutionError)

    run_simulated(program, 1)


def test_delays_keep_the_order_of_a_direction() -> None:
    async def program(sim: Simulation) -> list[tuple[bytes, int]]:
        network = MemoryNetwork(Plan(frames=[Passage(delay_ms=50), Passage(delay_ms=5), DELIVERED]))
        transport, _, server = await connected(network)
        start_ms, seen = sim.clock.now_ms(), []
        server.frame_received = lambda frame: seen.append((bytes(frame), sim.clock.now_ms() - start_ms))  # type: ignore[method-assign]
        for payload in (b"a", b"b", b"c"):
            transport.send(payload)
        transport.close()
        await asyncio.sleep(1)
        assert server.ends == [None]
        return seen

    assert run_simulated(program, 1) == [(b"a", 50), (b"b", 50), (b"c", 50)]


def test_close_delivers_what_was_sent_and_ends_both_sides_once() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork()
        transport, client, server = await connected(network)
        transport.send(b"last")
        transport.close()
        transport.send(b"too late")
        transport.close()
        assert transport.is_closing
        await asyncio.sleep(0.01)
        assert server.frames == [b"last"]
        assert (client.ends, server.ends) == ([None], [None])
        assert network.open_connections == 0

    run_simulated(program, 1)


def test_abort_drops_what_is_under_way_and_the_peer_sees_a_reset() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork()
        transport, client, server = await connected(network)
        transport.send(b"lost")
        transport.abort()
        await asyncio.sleep(0.01)
        assert server.frames == []
        assert client.ends == [None]
        assert [type(error) for error in server.ends] == [NetworkError]
        assert network.open_connections == 0

    run_simulated(program, 1)


def test_broken_connection_is_told_to_both_sides() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork(Plan(frames=[DELIVERED, Passage(breaks=True)]))
        transport, client, server = await connected(network)
        transport.send(b"a")
        await asyncio.sleep(0)
        transport.send(b"b")
        await asyncio.sleep(0)
        assert server.frames == [b"a"]
        assert [type(error) for error in client.ends + server.ends] == [NetworkError, NetworkError]

    run_simulated(program, 1)


def test_half_dead_connection_swallows_one_direction_in_silence() -> None:
    async def program(sim: Simulation) -> None:
        plan = Plan(frames=[Passage(vanishes=True)])
        transport, client, server = await connected(MemoryNetwork(plan))
        transport.send(b"a")
        transport.send(b"b")
        assert server.transport is not None
        server.transport.send(b"still heard")
        await asyncio.sleep(10)
        assert (server.frames, server.ends, client.ends) == ([], [], [])
        assert client.frames == [b"still heard"]
        assert [link.to_server for link, _ in plan.seen] == [True, True, False]

    run_simulated(program, 1)


def test_connecting_can_be_delayed_refused_or_hang() -> None:
    async def program(sim: Simulation) -> None:
        plan = Plan(connects=[Passage(delay_ms=30), Passage(breaks=True), Passage(vanishes=True)])
        network = MemoryNetwork(plan)
        listener = await network.listen("broker", 0, Recorder)
        start_ms = sim.clock.now_ms()
        await network.connect("broker", listener.port, Recorder())
        assert sim.clock.now_ms() - start_ms == 30
        with pytest.raises(NetworkError):
            await network.connect("broker", listener.port, Recorder())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(network.connect("broker", listener.port, Recorder()), 5)

    run_simulated(program, 1)


def test_sever_breaks_the_connections_that_it_is_asked_to() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork()
        _, first, _ = await connected(network)
        _, second, server = await connected(network)
        assert network.sever(lambda link: link.connection == 2) == 1
        await asyncio.sleep(0)
        assert (len(first.ends), len(second.ends), len(server.ends)) == (0, 1, 1)
        assert network.open_connections == 1

    run_simulated(program, 1)


def test_paused_reader_gets_its_frames_when_it_resumes() -> None:
    async def program(sim: Simulation) -> None:
        transport, _, server = await connected(MemoryNetwork())
        assert server.transport is not None
        server.transport.pause_reading()
        transport.send(b"a")
        transport.send(b"b")
        transport.close()
        await asyncio.sleep(1)
        assert (server.frames, server.ends) == ([], [])
        server.transport.resume_reading()
        await asyncio.sleep(0)
        assert (server.frames, server.ends) == ([b"a", b"b"], [None])

    run_simulated(program, 1)


def test_each_side_is_called_in_its_own_context() -> None:
    side = ContextVar("side", default="none")

    class Side(Recorder):
        def frame_received(self, frame: memoryview) -> None:
            self.frames.append(side.get().encode())
            if self.transport is not None:
                self.transport.send(b"answer")

        def connection_lost(self, error: Exception | None) -> None:
            self.frames.append(f"lost in {side.get()}".encode())

    async def program(sim: Simulation) -> None:
        network, servers, client = MemoryNetwork(), list[Side](), Side()

        def accept(transport: FrameTransport) -> Side:
            servers.append(Side(transport))
            servers[-1].frames.append(f"accepted in {side.get()}".encode())
            return servers[-1]

        side.set("server")
        listener = await network.listen("broker", 1, accept)
        side.set("client")
        transport = await network.connect("broker", listener.port, client)
        side.set("somebody else")
        transport.send(b"request")
        await asyncio.sleep(1)
        network.sever()
        await asyncio.sleep(1)
        assert servers[0].frames == [b"accepted in server", b"server", b"lost in server"]
        assert client.frames == [b"client", b"lost in client"]

    run_simulated(program, 1)
