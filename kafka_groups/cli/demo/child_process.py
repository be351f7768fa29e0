"""What every child process of the demo has: a number, an end, and last words."""

import asyncio
import subprocess
from pathlib import Path

__all__ = ["ChildProcess"]

_LAST_BYTES = 4_000


class ChildProcess:
    """A process that was started, and the file that it complains in."""

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
        """Whether the process has not ended."""
        return self._process.poll() is None

    async def ended(self) -> int:
        """Wait until the process has ended; its exit status."""
        return await asyncio.to_thread(self._process.wait)

    def last_words(self) -> str:
        """How it ended, and the end of what it wrote."""
        said = self._log.read_bytes()[-_LAST_BYTES:].decode(errors="replace").strip()
        return f"ended with status {self._process.poll()}: {said or 'no word'}"
