"""The demo's end of the connections: it counts messages, and permits workers to continue or kills one instead."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_groups.cli.demo.pipeline.messages import GO_ON, Message, MessageKind, read_message
from kafka_groups.cli.demo.pipeline.tally import PipelineTally, Verdict
from kafka_groups.errors import ConfigurationError

__all__ = ["Supervisor"]

_LONGEST_PATH = 100
"""The length in bytes that every system allows for the path of a socket."""


class Supervisor:
    """Listens to the driver and the workers. Use it as an asynchronous context manager.

    It kills only processes that are connected. They are still running, so their process ids cannot belong to others.

    Args:
        path: Path of the socket to create.
        tally: Counts the messages.
        on_kill: Called with the verdict and the message that triggers a kill. If the verdict is to kill a worker, the
            worker has already been killed.
    """

    def __init__(self, path: Path, tally: PipelineTally, on_kill: Callable[[Verdict, Message], None]) -> None:
        self._path = path
        self._tally = tally
        self._on_kill = on_kill
        self._pids: dict[asyncio.StreamWriter, int] = {}
        self._said: dict[MessageKind, Message] = {}
        self._changed = asyncio.Condition()
        self._serving: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Supervisor of {len(self._pids)} processes>"

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            ConfigurationError: The path is too long for a socket.
        """
        if len(os.fsencode(self._path)) > _LONGEST_PATH:
            raise ConfigurationError(
                f"The path {self._path} is too long for a socket. Set TMPDIR to a directory with a shorter path."
            )
        self._server = await asyncio.start_unix_server(self._serve, self._path)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Kill all connected processes, and stop listening."""
        self._server.close()
        self.kill_workers()
        for writer in self._pids:
            writer.close()
        await asyncio.gather(*self._serving)

    @property
    def connected(self) -> int:
        """The number of connected processes."""
        return len(self._pids)

    def said(self, kind: MessageKind) -> Message | None:
        """Return the last message of this kind."""
        return self._said.get(kind)

    def forget(self) -> None:
        """Forget all messages, before the next driver starts."""
        self._said.clear()

    def kill_workers(self) -> None:
        """Kill all connected processes (SIGKILL)."""
        for pid in set(self._pids.values()):
            _kill(pid)

    async def all_gone(self) -> None:
        """Wait until no process is connected."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._pids)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        try:
            while line := await reader.readline():
                message = read_message(line)
                self._pids[writer] = message.pid
                self._answer(message, writer)
        except ConnectionResetError:
            return  # the process was killed
        finally:
            writer.close()
            self._pids.pop(writer, None)
            async with self._changed:
                self._changed.notify_all()

    def _answer(self, message: Message, writer: asyncio.StreamWriter) -> None:
        self._said[message.kind] = message
        verdict = self._tally.add(message)
        if verdict is Verdict.GO_ON:
            if message.kind is MessageKind.STORED:
                writer.write(GO_ON)
            return
        if verdict is Verdict.KILL_WORKER:
            _kill(message.pid)
        self._on_kill(verdict, message)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has already ended, and its connection is about to close
