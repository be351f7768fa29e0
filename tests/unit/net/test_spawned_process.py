"""Processes that are spawned with a pipe: messages both ways, and every end."""

import os
import signal
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.process import BaseProcess

import pytest

from kafka_groups.net import spawned_process
from kafka_groups.net.spawned_process import BLOCKED_SIGNALS, SpawnedProcess

WAIT_S = 30


def echo(pipe: Connection, count: int) -> None:
    """Send back so many messages, in upper case, and the signals that are blocked."""
    for _ in range(count):
        pipe.send(pipe.recv().upper())
    pipe.send(signal.pthread_sigmask(signal.SIG_BLOCK, ()))


def close_and_stay(pipe: Connection) -> None:
    pipe.close()
    signal.pause()


def spawned_echo(count: int) -> SpawnedProcess:
    return SpawnedProcess(echo, lambda pipe: (pipe, count), "echo", daemon=True)


def wait_for_exit(process: SpawnedProcess) -> int | None:
    while process.exit_status is None:
        assert wait(process.watched, WAIT_S)
    return process.exit_status


def test_messages_pass_both_ways_and_what_was_said_before_the_exit_is_heard() -> None:
    process = spawned_echo(2)
    assert process.send("one")
    assert process.send("two")
    process._process.join(WAIT_S)
    heard = list(process.received())
    assert heard == ["ONE", "TWO", {*BLOCKED_SIGNALS}]
    assert process.exit_status == 0
    assert list(process.received()) == []
    assert not process.is_connected
    assert not process.send("three")
    process.close()


def test_a_killed_process_tells_its_status() -> None:
    process = spawned_echo(1)
    process.kill(wait=True)
    assert process.exit_status == -signal.SIGKILL
    process.close()


def test_a_process_may_close_its_pipe_and_run_on() -> None:
    process = SpawnedProcess(close_and_stay, lambda pipe: (pipe,), "silent", daemon=True)
    while process.is_connected:
        assert wait(process.watched, WAIT_S)
        assert list(process.received()) == []
    assert process.exit_status is None
    os.kill(process.pid or 0, signal.SIGTERM)
    assert wait_for_exit(process) == -signal.SIGTERM
    process.close()


def test_signals_are_as_before_and_the_pipe_is_closed_if_a_process_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(_process: BaseProcess) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    ends: list[Connection] = []

    def pipe() -> tuple[Connection, Connection]:
        ends.extend(Pipe())
        return ends[0], ends[1]

    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    monkeypatch.setattr(spawned_process.SPAWN, "Pipe", pipe)
    monkeypatch.setattr(spawned_process.SPAWN.Process, "start", refused)
    with pytest.raises(BlockingIOError):
        spawned_echo(0)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert [end.closed for end in ends] == [True, True]
