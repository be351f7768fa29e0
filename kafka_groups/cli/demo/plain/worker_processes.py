"""The demo's worker processes: the demo starts them, reads their reports, kills one and stops the others."""

import asyncio
import json
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Self, cast

from kafka_groups.errors import KafkaGroupsError

__all__ = ["WorkerFailedError", "WorkerProcess"]

_LAST_BYTES = 4_000


class WorkerFailedError(KafkaGroupsError):
    """A worker process ended unexpectedly."""


class WorkerProcess:
    """A worker process.

    Attributes:
        number: The worker's number.
        pid: Its process id.
    """

    def __init__(self, number: int, process: Process, log: Path) -> None:
        self.number = number
        self.pid = process.pid
        self._process = process
        self._log = log
        self._is_told_to_end = False

    def __repr__(self) -> str:
        return f"<WorkerProcess {self.number}: pid={self.pid} status={self._process.returncode}>"

    @classmethod
    async def start(cls, number: int, command: Sequence[str], log: Path) -> Self:
        """Start a worker.

        Args:
            number: The worker's number.
            command: The command to run. It writes reports to its standard output.
            log: File for its standard error.
        """
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=PIPE, stderr=errors, start_new_session=True
            )
        return cls(number, process, log)

    async def reports(self) -> AsyncIterator[dict[str, int]]:
        """Return the worker's reports until it ends.

        Raises:
            WorkerFailedError: It ended by itself.
        """
        async for line in cast("asyncio.StreamReader", self._process.stdout):
            yield json.loads(line)
        status = await self._process.wait()
        if not self._is_told_to_end:
            said = self._log.read_bytes()[-_LAST_BYTES:].decode(errors="replace").strip()
            raise WorkerFailedError(f"Worker {self.number} ended with status {status}: {said or 'it wrote no output'}")

    def terminate(self) -> None:
        """Ask the process to end (SIGTERM)."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process (SIGKILL)."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # asyncio's own methods look whether the process has ended, and take its status from the one who waits for it.
        self._is_told_to_end = True
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
