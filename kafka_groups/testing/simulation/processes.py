"""Simulated processes of the application under test, which can be killed and started again."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any

from kafka_groups.errors import IllegalStateError
from kafka_groups.net.network import AcceptConnection, FrameHandler, FrameTransport, Listener, Network
from kafka_groups.testing.simulation.lifetimes import LIFETIME, Lifetime

__all__ = ["ProcessNetwork", "SimulatedProcess"]

DEFAULT_GRACE_S = 30.0

Main = Callable[[], Coroutine[Any, Any, object]]


class SimulatedProcess:
    """A process of the application. `SimulatedWorld.start` creates it.

    Args:
        name: Its name.
        main: Called for each start. The process ends when what it returns is done.
        on_error: Called with the process and the exception if an exception ends it.

    Attributes:
        name: Its name.
    """

    def __init__(self, name: str, main: Main, on_error: Callable[["SimulatedProcess", Exception], object]) -> None:
        self.name = name
        self._main = main
        self._on_error = on_error
        self._context = copy_context()
        self._context.run(LIFETIME.set, None)
        self._life = Lifetime()
        self._life.end()
        self._task: asyncio.Task[object] | None = None

    def __repr__(self) -> str:
        return f"<SimulatedProcess {self.name}: {'running' if self.is_running else 'ended'}>"

    @property
    def is_running(self) -> bool:
        """True if the process is running."""
        return not self._life.is_over

    def start(self) -> None:
        """Start the process, after it has ended.

        Raises:
            IllegalStateError: It is running.
        """
        if self.is_running:
            raise IllegalStateError(f"{self!r} is running. Kill or stop it before you start it again.")
        lifetime = self._life = Lifetime()
        context = self._context.copy()
        context.run(LIFETIME.set, lifetime)
        task = self._task = context.run(self._create_task, context)
        task.add_done_callback(lambda done: self._ended(lifetime, done), context=self._context.copy())

    def kill(self) -> None:
        """Kill the process, as `kill -9` does.

        Its connections break. None of its code runs any more: no `finally` block, no callback, no other task that it
        created. Does nothing if the process has ended.
        """
        self._life.end()

    async def stall(self, seconds: float) -> None:
        """Let the process stand still, as SIGSTOP, a long pause of its machine or a swapped page does.

        Its connections stay, and what arrives on them waits. When the process resumes, it finds that time has passed.
        Does nothing if the process has ended.

        Args:
            seconds: For how many virtual seconds.
        """
        lifetime = self._life
        if lifetime.is_over or lifetime.is_stalled:
            return
        lifetime.stall()
        await asyncio.sleep(seconds)
        lifetime.go_on()

    async def stop(self, *, grace_s: float = DEFAULT_GRACE_S) -> None:
        """Stop the process, as a supervisor does: cancel its task, and kill the process if it takes too long.

        Args:
            grace_s: The longest wait in virtual seconds.
        """
        lifetime, task = self._life, self._task
        if task is None or lifetime.is_over:
            return
        task.cancel()
        await asyncio.wait([task], timeout=grace_s)
        lifetime.end()

    def _create_task(self, context: Any) -> "asyncio.Task[object]":
        return asyncio.get_running_loop().create_task(self._main(), name=self.name, context=context)

    def _ended(self, lifetime: Lifetime, task: "asyncio.Task[object]") -> None:
        if lifetime.is_over:
            return
        lifetime.end()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._on_error(self, error)


class ProcessNetwork:
    """A network whose connections break when the simulated process that opened them ends.

    Args:
        network: The network of all processes.
    """

    def __init__(self, network: Network) -> None:
        self._network = network

    async def connect(self, host: str, port: int, handler: FrameHandler) -> FrameTransport:
        """Open a connection.

        Raises:
            NetworkError: It could not be opened.
        """
        transport = await self._network.connect(host, port, handler)
        lifetime = LIFETIME.get()
        if lifetime is not None:
            lifetime.at_end(transport.abort)
        return transport

    async def listen(self, host: str, port: int, accept: AcceptConnection) -> Listener:
        """Accept connections on an address.

        Raises:
            NetworkError: The address is in use.
        """
        return await self._network.listen(host, port, accept)
