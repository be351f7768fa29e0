"""The demo's embedded broker, which runs in its own process and is reached over TCP."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from kafka_groups.cli.output import BOOTSTRAP_PREFIX
from kafka_groups.errors import KafkaGroupsError

__all__ = ["BrokerProcess", "BrokerProcessError"]

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


class BrokerProcessError(KafkaGroupsError):
    """The embedded broker's process did not start."""


class BrokerProcess:
    """Runs `kafka-groups broker` as a child process. Use it as an asynchronous context manager.

    The child exits when this process ends, because its standard input closes.
    """

    def __init__(self, brokers: int, log: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self._brokers = brokers
        self._settings = settings
        self._log = log
        self._process: asyncio.subprocess.Process
        self.bootstrap_servers = ""

    def __repr__(self) -> str:
        return f"<BrokerProcess at {self.bootstrap_servers or 'no address yet'}>"

    async def __aenter__(self) -> Self:
        """Start the broker and wait for its address."""
        command = [sys.executable, "-m", "kafka_groups.cli", "broker", "--brokers", str(self._brokers)]
        command += [word for name, value in self._settings.items() for word in ("--set", f"{name}={value}")]
        with self._log.open("wb") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                "--until-stdin-closes",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        try:
            self.bootstrap_servers = await asyncio.wait_for(self._address(), _START_SECONDS)
        except BaseException:  # also Ctrl-C and the timeout: the process must not run on
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the broker."""
        await self._stop()

    async def _address(self) -> str:
        output = self._process.stdout
        while output is not None and (line := (await output.readline()).decode()):
            if line.startswith(BOOTSTRAP_PREFIX):
                return line.removeprefix(BOOTSTRAP_PREFIX).strip()
        said = self._log.read_text(errors="replace").strip()
        raise BrokerProcessError(f"The embedded broker did not start: {said or 'it wrote no output'}")

    async def _stop(self) -> None:
        if self._process.returncode is None:
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
