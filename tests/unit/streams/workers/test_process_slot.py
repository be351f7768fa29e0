"""The slot of a worker whose process does not begin to work."""

from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from kafka_groups.streams import StreamsState
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.workers.process_slot import WorkerProcessSlot
from kafka_groups.streams.workers.worker_messages import FilesOpened, WorkerChanged
from kafka_groups.types import TaskId
from tests.support.conditions import wait_until


def silent(_program: bytes, _number: int, pipe: Connection, _is_paused: bool) -> None:
    """Says that it works when it is asked, as a process does whose modules wait for something first."""
    pipe.recv_bytes()
    pipe.send(WorkerChanged(StreamsState.REBALANCING))
    pipe.recv_bytes()


@pytest.fixture
def slot() -> Iterator[WorkerProcessSlot]:
    made = WorkerProcessSlot(2, "streams-app-2", exit_ms=0)
    made.spawn(silent, b"", 1_000, is_paused=False)
    yield made
    made.kill()
    wait_until(lambda: made.hear(0) is not None, 60)


def test_a_process_that_does_not_begin_to_work_is_a_warning_once(
    slot: WorkerProcessSlot, caplog: pytest.LogCaptureFixture
) -> None:
    slot.warn_if_silent(10_999)
    assert not caplog.records
    for now_ms in (11_000, 60_000):
        slot.warn_if_silent(now_ms)
    assert [each.getMessage().partition(":")[0] for each in caplog.records] == ["Worker 2 has not started for 10 s"]


def test_a_process_that_works_is_none(slot: WorkerProcessSlot, caplog: pytest.LogCaptureFixture) -> None:
    assert slot.process is not None
    slot.process.send(b"")

    def has_said() -> bool:
        slot.hear(0)
        return slot.said is not None

    wait_until(has_said, 60)
    slot.warn_if_silent(1_000_000)
    assert not caplog.records


def files(task: int, generation: int) -> OpenFiles:
    folder = Path(f"/state/tasks/0_{task}/{generation}/lmdb")
    return OpenFiles(TaskId("0", task), folder, generation, frozenset({"counts"}), 2, (generation, task))


def test_the_files_of_a_process_are_left_when_it_dies() -> None:
    slot = WorkerProcessSlot(2, "streams-app-2", exit_ms=0)
    slot._take(FilesOpened((files(0, 1), files(1, 1))), 0)
    slot.leave_files(are_readable=True)
    assert (slot.files, slot.left_files) == ((), (files(0, 1), files(1, 1)))
    slot._take(FilesOpened((files(0, 2),)), 0)
    slot.leave_files(are_readable=True)
    assert set(slot.left_files) == {files(0, 2), files(1, 1)}, "the last ones of each task"


def test_files_that_may_be_damaged_are_not_left() -> None:
    slot = WorkerProcessSlot(2, "streams-app-2", exit_ms=0)
    slot._take(FilesOpened((files(0, 1),)), 0)
    slot.leave_files(are_readable=False)
    assert (slot.files, slot.left_files) == ((), ())
