"""Worker processes that do not behave, and their supervisor."""

from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from kafka_groups.config.clients.streams import streams_config
from kafka_groups.streams import GroupMembershipOperation, StreamsState
from kafka_groups.streams.runtime.application_state import ApplicationLife
from kafka_groups.streams.runtime.pickled import checked_program
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.runtime.supervisor import WorkerSupervisor
from tests.unit.streams.runtime.counting import counting
from tests.unit.streams.runtime.worker_programs import hanging_at_its_end, measured, obedient, slow_to_handle_signals

WAIT_S = 60
Work = Callable[[bytes, int, Connection, bool], None]


def supervisor(work: Work, life: ApplicationLife, tmp_path: Path) -> WorkerSupervisor:
    given = {"application.id": "app", "bootstrap.servers": "localhost:1", "num.workers": 1, "state.dir": str(tmp_path)}
    return WorkerSupervisor(
        checked_program(counting, given, {}, RestoreListeners()), streams_config(given), life, work, exit_s=0.2
    )


def test_a_process_that_does_not_exit_is_killed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    life = ApplicationLife(None)
    made = supervisor(hanging_at_its_end, life, tmp_path)
    made.start()
    assert life.wait_for(lambda state: state is StreamsState.RUNNING, WAIT_S)
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)
    assert (life.state, life.error) == (StreamsState.NOT_RUNNING, None)
    assert "Worker 1 has ended, but its process runs on, and is killed" in caplog.text


def test_signals_wait_until_a_worker_can_handle_them(tmp_path: Path) -> None:
    life = ApplicationLife(None)
    supervisor(slow_to_handle_signals, life, tmp_path).start()
    assert life.wait_for(lambda _: life.has_ended, WAIT_S)
    assert str(life.error) == "Worker 1 ended: pending: ['SIGINT']"


def test_workers_are_added_and_removed(tmp_path: Path) -> None:
    states: list[StreamsState] = []
    life = ApplicationLife(lambda state, _before: states.append(state))
    made = supervisor(obedient, life, tmp_path)
    assert (made.add().result(WAIT_S), made.remove().result(WAIT_S)) == (None, None)
    life.enter(StreamsState.REBALANCING)
    made.start()
    assert life.wait_for(lambda state: state is StreamsState.RUNNING, WAIT_S)
    assert made.add().result(WAIT_S) == "streams-app-2"
    assert life.wait_for(lambda state: state is StreamsState.RUNNING, WAIT_S)
    assert states == [StreamsState.REBALANCING, StreamsState.RUNNING] * 2
    assert [made.remove().result(WAIT_S) for _ in range(3)] == ["streams-app-2", "streams-app-1", None]
    assert life.state is StreamsState.RUNNING  # as in Java, although nothing works
    assert made.add().result(WAIT_S) == "streams-app-1"
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)
    assert (made.add().result(WAIT_S), made.remove().result(WAIT_S)) == (None, None)
    assert (life.state, life.error) == (StreamsState.NOT_RUNNING, None)


def test_metrics_are_those_of_workers_that_are_there(tmp_path: Path) -> None:
    life = ApplicationLife(None)
    made = supervisor(measured, life, tmp_path)
    made.start()
    assert life.wait_for(lambda state: state is StreamsState.RUNNING, WAIT_S)
    assert [metric.value for metric in made.metrics()] == [7.0]
    assert made.counts == (1, 2)
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)
    assert made.metrics() == ()
    assert made.counts == (0, 2)


def test_a_worker_that_does_not_leave_in_time_leaves_later(tmp_path: Path) -> None:
    life = ApplicationLife(None)
    made = supervisor(hanging_at_its_end, life, tmp_path)
    made.start()
    assert life.wait_for(lambda state: state is StreamsState.RUNNING, WAIT_S)
    leaving = made.remove()
    with pytest.raises(TimeoutError):
        leaving.result(0.01)
    assert leaving.result(WAIT_S) == "streams-app-1"
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)
