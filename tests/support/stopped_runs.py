"""What a run of the tests that is stopped tells: which tests failed so far, and where each process is.

CI stops a run that takes too long. By itself pytest shows failures at the end only, and of a test that hangs nothing.
"""

import faulthandler
import os
import signal
import threading
from pathlib import Path
from types import FrameType

import pytest

__all__ = ["StoppedRun", "announce"]

_TIME_TO_WRITE_S = 1.0
_LINES = 60


def announce(processes: Path) -> None:
    """Let this process of `pytest -n` be asked where its threads are; it writes that into a file of its own."""
    faulthandler.register(signal.SIGUSR1, file=(processes / str(os.getpid())).open("w"), all_threads=True)


class StoppedRun:
    """Plugin of the process that runs no tests itself: shows failures at once, and what runs when SIGTERM comes.

    Args:
        config: Of this process.
        processes: A directory with a file for each process that called `announce`, named by its id.
    """

    def __init__(self, config: pytest.Config, processes: Path) -> None:
        self._config = config
        self._processes = processes
        self._running: set[str] = set()
        signal.signal(signal.SIGTERM, self._stop)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running.add(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._running.discard(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            text = "\n".join(report.longreprtext.splitlines()[-_LINES:])
            self._show(f"{report.nodeid} failed in its {report.when}:\n{text}")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._show("\n".join(f"still running: {nodeid}" for nodeid in self._running))
        for file in self._processes.iterdir():
            self._show(f"threads of process {file.name}:\n{_threads(file)}")
        raise KeyboardInterrupt("stopped by SIGTERM")

    def _show(self, text: str) -> None:
        terminal: pytest.TerminalReporter = self._config.pluginmanager.getplugin("terminalreporter")
        terminal.write_line(f"\n{text}\n", flush=True)


def _threads(file: Path) -> str:
    try:
        os.kill(int(file.name), signal.SIGUSR1)
    except ProcessLookupError:
        return "it has ended"
    threading.Event().wait(_TIME_TO_WRITE_S)
    return file.read_text(encoding="utf-8")
