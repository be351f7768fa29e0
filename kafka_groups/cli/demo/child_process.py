"""A child process of a demo: its id, its exit status and its log."""

import asyncio
import subprocess
from pathlib import Path

__all__ = ["ChildProcess"]

_LAST_BYTES = 4_000


class ChildProcess:
    """A started process and its log file."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process = process
        self._log = log

    def __repr__(self) -> str:
        return f"<{type(self).__name__} pid={self.pid} running={self.running}>"

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """True until the process has ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process (SIGKILL) and wait until it has ended."""
        self._process.kill()
        self._process.wait()

    def terminate(self) -> None:
        """Ask the process to exit (SIGTERM)."""
        if self.running:
            self._process.terminate()

    async def ended(self) -> int:
        """Wait until the process has ended, and return its exit status."""
        return await asyncio.to_thread(self._process.wait)

    def last_words(self) -> str:
        """Return the exit status and the end of the log, for error messages."""
        said = self._log.read_bytes()[-_LAST_BYTES:].decode(errors="replace").strip()
        return f"ended with status {self._process.poll()}: {said or 'it wrote no output'}"
