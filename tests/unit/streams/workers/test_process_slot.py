"""The slot of a worker whose process does not begin to work."""

from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from kafka_groups.streams import StreamsState
from kafka_groups.streams.workers.process_slot import WorkerProcessSlot
from kafka_groups.streams.workers.worker_messages import WorkerChanged
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
