"""The end of a process that has lost its parent."""

import os
import signal
import threading

import pytest

from kafka_groups.processes.parent import exit_when_orphaned


def test_the_watchdog_sees_that_its_parent_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    this = (os.getpid(), signal.SIGTERM)
    monkeypatch.setattr(os, "kill", lambda pid, number: ended.set() if (pid, number) == this else None)
    exit_when_orphaned(os.getppid() + 1)
    assert ended.wait(20)
