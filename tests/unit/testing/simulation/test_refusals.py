"""What does not exist in virtual time is refused, with what to do instead; other threads are not affected."""

import asyncio
import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable

import pytest

from kafka_groups import KafkaShareConsumer
from kafka_groups.testing.simulation import Simulation, SimulationUnsupportedError, run_simulated


def blocking_consumer() -> None:
    KafkaShareConsumer(bootstrap_servers="127.0.0.1:1", group_id="g").subscribe(["t"])


def connected_socket() -> None:
    with socket.socket() as connection:
        connection.connect(("127.0.0.1", 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: time.sleep(1), "time.sleep was called: .* Use `await asyncio.sleep`"),  # noqa: TID251
        (lambda: threading.Thread(target=print).start(), "Thread.start was called: a simulation has no threads"),
        (blocking_consumer, "Use AsyncKafkaShareConsumer, not KafkaShareConsumer"),
        (connected_socket, "socket.connect was called: a simulation has no sockets.*environment=world"),
        (lambda: subprocess.run(["true"], check=True), "subprocess.Popen was called: a simulation has no real process"),
    ],
)
def test_what_blocks_is_refused(call: Callable[[], object], message: str) -> None:
    async def program(_simulation: Simulation) -> None:
        call()

    with pytest.raises(SimulationUnsupportedError, match=message):
        run_simulated(program, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: asyncio.to_thread(print), "run_in_executor was called: a simulation has no threads.* async one"),
        (lambda: asyncio.open_connection("127.0.0.1", 1), "create_connection was called: a simulation has no sockets"),
        (lambda: asyncio.start_server(print, "127.0.0.1", 0), "create_server was called: a simulation has no sockets"),
        (lambda: asyncio.create_subprocess_exec("true"), "subprocess_exec was called: a simulation has no real proc"),
        (lambda: asyncio.get_running_loop().getaddrinfo("localhost", 1), "run_in_executor was called"),
    ],
)
def test_what_the_loop_cannot_do_is_refused(call: Callable[[], object], message: str) -> None:
    async def program(_simulation: Simulation) -> None:
        await call()  # type: ignore[misc]

    with pytest.raises(SimulationUnsupportedError, match=message):
        run_simulated(program, 1)


def test_other_threads_may_do_what_they_want_and_afterwards_everybody() -> None:
    asked, slept = threading.Event(), threading.Event()

    def sleep_when_asked() -> None:
        asked.wait(10)
        time.sleep(0)  # noqa: TID251
        slept.set()

    async def program(_simulation: Simulation) -> bool:
        asked.set()
        return slept.wait(10)

    thread = threading.Thread(target=sleep_when_asked)
    thread.start()
    assert run_simulated(program, 1)
    thread.join()
    time.sleep(0)  # noqa: TID251
    assert "connect" not in vars(socket.socket)


def test_a_refusal_that_the_application_caught_does_not_go_unnoticed() -> None:
    async def program(_simulation: Simulation) -> None:
        with contextlib.suppress(Exception):
            await asyncio.to_thread(print)

    with pytest.raises(SimulationUnsupportedError, match="run_in_executor"):
        run_simulated(program, 1)
