"""The parent of processes that do simple things."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.processes.address import WorkerAddress
from kafka_groups.share.workers.processes.child import ChildProgram
from kafka_groups.share.workers.processes.kept_notes import NotesInDirectory, NotesInMemory, NotesKeeper
from kafka_groups.share.workers.processes.process_slot import ChildMain
from kafka_groups.share.workers.processes.supervisor import ChildSupervisor
from kafka_groups.telemetry.workers import WorkerTelemetry
from tests.support.conditions import wait_until
from tests.unit.share.workers.processes.child_programs import (
    LAYOUT,
    dying_once,
    dying_twice,
    failing_at_start,
    obedient,
    stubborn,
)

Made = Callable[..., ChildSupervisor]


@pytest.fixture
def made() -> Iterator[Made]:
    supervisors: list[ChildSupervisor] = []

    def make(main: ChildMain, count: int = 2, kept: NotesKeeper | None = None, **options: Any) -> ChildSupervisor:
        program = ChildProgram(WorkerAddress("shop", "worker"), LAYOUT, logging.INFO)
        kept = kept or NotesInMemory(LAYOUT, count)
        supervisors.append(ChildSupervisor(main, program, kept, WorkerTelemetry("shop"), 1_000, **options))
        return supervisors[-1]

    yield make
    for supervisor in supervisors:
        supervisor.close()


@contextmanager
def running(supervisor: ChildSupervisor) -> Iterator[None]:
    """Run it in a thread during the block, after which it has to end."""
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    yield
    thread.join(30)
    assert not thread.is_alive()


def test_processes_run_until_they_are_told_to_stop(made: Made) -> None:
    supervisor = made(obedient)
    assert not supervisor.health.is_ready
    with running(supervisor):
        wait_until(lambda: supervisor.health.is_ready, 30, lambda: supervisor.health)
        supervisor.stop(1_000)
    assert supervisor.health.is_live
    assert supervisor.health.reasons == ("process 1: it is not running", "process 2: it is not running")


def test_processes_that_cannot_start_are_not_started_again(made: Made) -> None:
    supervisor = made(failing_at_start)
    with pytest.raises(ConfigurationError, match=r"process \d did not start \(exit status 3\).*__main__"):
        supervisor.run()


def test_a_process_that_does_not_end_is_killed(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    supervisor = made(stubborn, 1, close_ms=0)
    with running(supervisor):
        wait_until(lambda: "it is starting" in str(supervisor.health.reasons), 30)
        supervisor.stop(0)
    assert "Process 1 has not ended in time, and is killed" in caplog.text


def test_what_a_dead_process_was_running_is_told_to_all(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    supervisor = made(dying_once)
    with running(supervisor):
        wait_until(lambda: caplog.text.count("has process id") == 3, 30)
        supervisor.stop(5_000)
    assert "Process 1 ended with status 3 while running orders-3@7. It is started again in 100 ms" in caplog.text
    assert (tmp_path / "told-1").read_text(encoding="utf-8") == "orders-3@7"
    assert (tmp_path / "told-2").read_text(encoding="utf-8") == "orders-3@7"


@pytest.mark.parametrize(
    ("main", "left"),
    [
        pytest.param(dying_once, [], id="all that are left end in order"),
        pytest.param(dying_twice, ["orders-3@7"], id="one dies while the worker stops"),
    ],
)
def test_an_end_in_order_leaves_no_suspects_to_a_successor(
    made: Made,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    main: ChildMain,
    left: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = NotesInDirectory(tmp_path / "state", "shop", LAYOUT, 1)
    supervisor = made(main, kept=kept)
    with running(supervisor):
        wait_until(lambda: caplog.text.count("has process id") == 2, 30)
        assert list(map(str, kept.suspects)) == ["orders-3@7"]
        supervisor.stop(5_000)
    kept.close()
    successor = NotesInDirectory(tmp_path / "state", "shop", LAYOUT, 1)
    assert list(map(str, successor.suspects)) == left
    successor.close()


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.worker")
