"""Processes of a worker that are started again when they end, as an orchestrator does."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from attrs import define

from tests.support.conditions import wait_until

__all__ = ["KILLED", "WorkerFleet"]

KILLED = -9
"""The exit status of a process that SIGKILL has ended."""
_FAILED = 1
_NOT_REACHED = "BootstrapError: No broker has answered for 30000 ms"

ROOT = Path(__file__).parents[3]
_LOOK_EVERY_S = 0.05
_PATIENCE_S = 60.0


@define
class _Member:
    process: "subprocess.Popen[bytes]"


class WorkerFleet:
    """Processes that run the same command.

    Args:
        command: The command.
        size: How many there are.
        log: The file into which all of them log.
        variables: Environment variables of the processes.
        is_supervised: Whether the command starts and watches several processes itself, which are struck instead.

    Attributes:
        statuses: How often processes ended with each exit status, before the end.
    """

    def __init__(
        self,
        command: Sequence[str],
        size: int,
        log: Path,
        variables: Mapping[str, str] = MappingProxyType({}),
        *,
        is_supervised: bool = False,
    ) -> None:
        self._command = command
        self._size = size
        self._log = log
        self._environment = {**os.environ, **variables}
        self._is_supervised = is_supervised
        self._members: list[_Member] = []
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._watch = threading.Thread(target=self._replace_until_over, name="worker-fleet")
        self.statuses: Counter[int] = Counter()

    def __enter__(self) -> Self:
        self._members = [_Member(self._started()) for _ in range(self._size)]
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_watching()
        for member in self._members:
            member.process.kill()
            member.process.wait()
        if error is not None:
            error.add_note(f"the end of the log:\n{self.log_tail()}")

    def _started(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *self._command], cwd=ROOT, stdout=log, stderr=log, env=self._environment
            )

    def _replace_until_over(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_S):
            with self._lock:
                for member in self._members:
                    if member.process.poll() is not None:
                        self.statuses[member.process.returncode] += 1
                        member.process = self._started()

    def _stop_watching(self) -> None:
        self._is_over.set()
        self._watch.join()

    def kill_one(self, choose: random.Random) -> None:
        """Kill one of the processes that run handlers."""
        with self._lock:
            os.kill(self._one(choose), signal.SIGKILL)

    def kill(self, process: int) -> None:
        """Kill one of the processes that run handlers, if it still runs."""
        with self._lock, suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    @property
    def running(self) -> Sequence[int]:
        """The processes that run handlers now."""
        with self._lock:
            mine = [member.process.pid for member in self._members if member.process.poll() is None]
            return [child for each in mine for child in _handling(each)] if self._is_supervised else mine

    def kill_all(self) -> None:
        """Kill all processes. Those that a killed one has started end by themselves; waits for that."""
        with self._lock:
            children = [child for member in self._members for child in _children(member.process.pid)]
            for member in self._members:
                member.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children), _PATIENCE_S)

    @contextmanager
    def one_standing_still(self, choose: random.Random) -> Iterator[None]:
        """Let one of the processes that run handlers stand still."""
        with self._lock:
            process = self._one(choose)
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)

    def _one(self, choose: random.Random) -> int:
        process = choose.choice(self._members).process.pid
        if not self._is_supervised:
            return process
        wait_until(lambda: _handling(process), _PATIENCE_S)
        return choose.choice(_handling(process))

    def end(self) -> list[int]:
        """Replace processes that have ended, stop all in good order, and return their exit statuses."""
        wait_until(lambda: all(_handles_sigterm(member.process) for member in self._members), _PATIENCE_S)
        self._stop_watching()
        for member in self._members:
            member.process.send_signal(signal.SIGTERM)
        wait_until(lambda: all(member.process.poll() is not None for member in self._members), _PATIENCE_S)
        return [member.process.returncode for member in self._members]

    def check_ends(self, expected: Set[int], *, had_outages: bool) -> None:
        """Check the exit statuses before the end: those expected, and 1 for each start during an outage that failed."""
        others = Counter(self.statuses)
        failed = others.pop(_FAILED, 0)
        assert failed == self._logged(_NOT_REACHED), "a start may fail if no broker answers for 30 s, and nothing else"
        assert not failed or had_outages
        assert others.keys() <= expected, self.log_tail()

    def _logged(self, text: str) -> int:
        """Return how often a text is in the log."""
        return self._log.read_text(encoding="utf-8", errors="replace").count(text)

    def log_tail(self, lines: int = 60) -> str:
        """Return the last lines of the log."""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def _handles_sigterm(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether a process runs, and has begun to handle SIGTERM. One that has just been started has not."""
    if process.poll() is not None:
        return False
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def _children(process: int) -> list[int]:
    """The processes that any of its threads has started. A thread may end meanwhile."""
    return [child for thread in Path(f"/proc/{process}/task").iterdir() for child in _started_by(thread)]


def _started_by(thread: Path) -> list[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(each) for each in (thread / "children").read_text().split()]
    return []


def _handling(process: int) -> list[int]:
    """The processes of its handlers, without the one in which multiprocessing tracks resources."""
    return [each for each in _children(process) if b"spawn_main" in _command_of(each)]


def _command_of(process: int) -> bytes:
    """The command of a process; empty if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""
