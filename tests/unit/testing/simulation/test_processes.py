"""Simulated processes: a killed one does nothing more, a stopped one ends in good order."""

import asyncio
import gc
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import pytest

from kafka_groups.errors import IllegalStateError
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import FrameTransport
from kafka_groups.testing.simulation.lifetimes import end_lifetimes
from kafka_groups.testing.simulation.processes import ProcessNetwork, SimulatedProcess
from kafka_groups.testing.simulation.virtual_time import Simulation, run_simulated


class Handler:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.ends: list[Exception | None] = []

    def frame_received(self, frame: memoryview) -> None:
        self.frames.append(bytes(frame))

    def connection_lost(self, error: Exception | None) -> None:
        self.ends.append(error)


def ignore(_process: SimulatedProcess, _error: Exception) -> None:
    """No error is expected."""


def simulated(program: Callable[[list[object]], object]) -> list[object]:
    """What a program noted."""
    noted: list[object] = []

    async def run(_simulation: Simulation) -> None:
        await program(noted)  # type: ignore[misc]

    run_simulated(run, 1)
    return noted


async def work(noted: list[object]) -> None:
    """Note each second, in a task, a timer and the end."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(1)
            noted.append("beat")

    asyncio.get_running_loop().call_later(3.5, noted.append, "timer")
    beating = asyncio.create_task(beat())
    try:
        await asyncio.sleep(100)
    finally:
        noted.append("finally")
        beating.cancel()
        await asyncio.sleep(1)
        noted.append("after finally")


def test_nothing_of_a_killed_process_goes_on() -> None:
    async def program(noted: list[object]) -> None:
        process = SimulatedProcess("p", lambda: work(noted), ignore)
        process.start()
        await asyncio.sleep(1.5)
        process.kill()
        assert not process.is_running
        await asyncio.sleep(200)

    noted = simulated(program)
    assert noted == ["beat"]
    gc.collect()
    assert noted == ["beat"]
    end_lifetimes()
    assert noted == ["beat", "finally"]  # only now, when nobody looks any more


def noted_by_a_killed_process(work: Callable[[list[object]], Coroutine[Any, Any, None]]) -> list[object]:
    """What a process notes that is killed after a second and then let go."""

    async def program(noted: list[object]) -> None:
        process = SimulatedProcess("p", lambda: work(noted), ignore)
        process.start()
        await asyncio.sleep(1)
        process.kill()

    noted = simulated(program)
    end_lifetimes()
    return noted


def test_nobody_hears_what_a_killed_process_says_while_it_is_let_go(caplog: pytest.LogCaptureFixture) -> None:
    async def complain(noted: list[object]) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            logging.getLogger("kafka_groups").critical("cannot go on")
            warnings.warn("not closed", ResourceWarning, stacklevel=1)
            noted.append("complained")

    noted = noted_by_a_killed_process(complain)
    assert (noted, caplog.records) == (["complained"], [])
    logging.getLogger("kafka_groups").critical("heard again")
    assert caplog.messages == ["heard again"]


@pytest.fixture
def made_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[asyncio.AbstractEventLoop]]:
    """Return the event loops that a main thread makes in which nothing has used asyncio before."""
    made: list[asyncio.AbstractEventLoop] = []
    policy = asyncio.get_event_loop_policy()
    fresh = asyncio.DefaultEventLoopPolicy()
    make = fresh.new_event_loop

    def new_event_loop() -> asyncio.AbstractEventLoop:
        made.append(make())
        return made[-1]

    monkeypatch.setattr(fresh, "new_event_loop", new_event_loop)
    asyncio.set_event_loop_policy(fresh)
    yield made
    asyncio.set_event_loop_policy(policy)
    for loop in made:
        loop.close()


def test_a_killed_process_makes_no_event_loop_while_it_is_let_go(made_loops: list[asyncio.AbstractEventLoop]) -> None:
    async def clean_up(noted: list[object]) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            noted.append("finally")
            await asyncio.gather(asyncio.sleep(1))

    noted = noted_by_a_killed_process(clean_up)
    assert (noted, made_loops) == (["finally"], [])


async def tick(noted: list[object]) -> None:
    """Note the time each second, and if a timer fires that is cancelled just before it is due."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while True:
        timer = loop.call_later(0.9, noted.append, "cancelled timer")
        loop.call_later(0.8, timer.cancel)
        await asyncio.sleep(1)
        noted.append(loop.time() - begun)


def test_a_stalled_process_stands_still_and_goes_on_where_it_was() -> None:
    async def program(noted: list[object]) -> None:
        process = SimulatedProcess("p", lambda: tick(noted), ignore)
        process.start()
        await asyncio.sleep(2.5)
        await process.stall(10)
        await asyncio.sleep(2)
        process.kill()
        await process.stall(10)

    assert simulated(program) == [1, 2, 12.5, 13.5]


def test_a_process_that_is_killed_while_it_stands_still_does_nothing_more() -> None:
    async def program(noted: list[object]) -> None:
        process = SimulatedProcess("p", lambda: tick(noted), ignore)
        process.start()
        await asyncio.sleep(1.5)
        stalled = asyncio.create_task(process.stall(10))
        await asyncio.sleep(5)
        process.kill()
        await stalled
        await asyncio.sleep(5)

    assert simulated(program) == [1]


def test_frames_wait_while_their_receiver_stands_still() -> None:
    async def program(noted: list[object]) -> None:
        memory, handler = MemoryNetwork(), Handler()
        accepted: list[FrameTransport] = []

        def accept(transport: FrameTransport) -> Handler:
            accepted.append(transport)
            return Handler()

        async def connects() -> None:
            await ProcessNetwork(memory).connect("broker", listener.port, handler)
            await asyncio.sleep(100)

        listener = await memory.listen("broker", 0, accept)
        process = SimulatedProcess("p", connects, ignore)
        process.start()
        await asyncio.sleep(1)
        stalled = asyncio.create_task(process.stall(10))
        await asyncio.sleep(1)
        for frame in (b"one", b"two"):
            accepted[0].send(frame)
        await asyncio.sleep(5)
        noted.append(list(handler.frames))
        await stalled
        await asyncio.sleep(0.1)
        noted.append(list(handler.frames))

    assert simulated(program) == [[], [b"one", b"two"]]


def test_a_process_that_ended_is_not_waited_for() -> None:
    async def program(noted: list[object]) -> None:
        async def waits_for_ever() -> None:
            await asyncio.get_running_loop().create_future()

        process = SimulatedProcess("p", waits_for_ever, ignore)
        process.start()
        await asyncio.sleep(1)
        process.kill()
        noted.append(len(asyncio.all_tasks()))

    assert simulated(program) == [1]


def test_a_stopped_process_ends_in_good_order_and_may_start_again() -> None:
    async def program(noted: list[object]) -> None:
        process = SimulatedProcess("p", lambda: work(noted), ignore)
        process.start()
        await asyncio.sleep(1.5)
        await process.stop()
        noted.append(process.is_running)
        process.start()
        with pytest.raises(IllegalStateError, match="is running"):
            process.start()
        await asyncio.sleep(1.5)
        process.kill()
        await process.stop()

    assert simulated(program) == ["beat", "finally", "after finally", False, "beat"]


def test_a_process_that_does_not_stop_is_killed() -> None:
    async def program(noted: list[object]) -> None:
        async def stubborn() -> None:
            while True:
                try:
                    await asyncio.sleep(10)
                except asyncio.CancelledError:
                    noted.append("no")

        process = SimulatedProcess("p", stubborn, ignore)
        process.start()
        await asyncio.sleep(1)
        begun = asyncio.get_running_loop().time()
        await process.stop(grace_s=25)
        noted.append((process.is_running, round(asyncio.get_running_loop().time() - begun)))

    assert simulated(program) == ["no", (False, 25)]


def test_what_a_process_leaves_behind_ends_with_it() -> None:
    async def program(noted: list[object]) -> None:
        async def leaves_a_task() -> None:
            noted.append(asyncio.create_task(work(noted)).get_name() != "")

        process = SimulatedProcess("p", leaves_a_task, ignore)
        process.start()
        await asyncio.sleep(10)
        noted.append(process.is_running)

    assert simulated(program) == [True, False]


def test_an_error_that_ends_a_process_is_told() -> None:
    async def program(noted: list[object]) -> None:
        async def fails() -> None:
            raise ValueError("wrong")

        process = SimulatedProcess("p", fails, lambda process, error: noted.append((process.name, str(error))))
        process.start()
        await asyncio.sleep(1)

    assert simulated(program) == [("p", "wrong")]


def test_connections_break_when_their_process_is_killed() -> None:
    async def program(noted: list[object]) -> None:
        network, server, client = MemoryNetwork(), Handler(), Handler()

        def accept(_transport: FrameTransport) -> Handler:
            return server

        await network.listen("broker", 1, accept)

        async def connects() -> None:
            transport = await ProcessNetwork(network).connect("broker", 1, client)
            transport.send(b"hello")
            await asyncio.sleep(100)
            noted.append("never")

        process = SimulatedProcess("p", connects, ignore)
        process.start()
        await asyncio.sleep(1)
        process.kill()
        await asyncio.sleep(1)
        noted.extend((server.frames, [str(error) for error in server.ends], client.ends))

    assert simulated(program) == [
        [b"hello"],
        ["The connection to client:1 broke: reset by the peer."],
        [],
    ]


def test_generators_of_a_killed_process_are_not_closed() -> None:
    async def program(noted: list[object]) -> None:
        async def numbers() -> AsyncIterator[int]:
            try:
                for number in range(100):
                    yield number
            finally:
                noted.append("closed")

        async def counts() -> None:
            async for number in numbers():
                noted.append(number)
                await asyncio.sleep(1)

        process = SimulatedProcess("p", counts, ignore)
        process.start()
        await asyncio.sleep(1.5)
        process.kill()

    assert simulated(program) == [0, 1]
