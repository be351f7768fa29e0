"""Worker processes that do not behave, and their supervisor."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType

import pytest

from kafka_groups import serdes
from kafka_groups.config.clients.streams import streams_config
from kafka_groups.errors import IllegalStateError
from kafka_groups.net import spawned_process
from kafka_groups.processes.slot import RestartRule
from kafka_groups.streams import GroupMembershipOperation, StreamsState, stores
from kafka_groups.streams.engines.generations import GenerationsFolder
from kafka_groups.streams.engines.marks import Mark
from kafka_groups.streams.engines.questions import OfTask, StoreQuestion, TaskAnswer
from kafka_groups.streams.engines.state_readers import StateReaders
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.streams.workers.application_state import ApplicationLife
from kafka_groups.streams.workers.pickled import checked_program
from kafka_groups.streams.workers.state_directory import StateDirectory
from kafka_groups.streams.workers.supervisor import WorkerSupervisor
from kafka_groups.streams.workers.worker_messages import AskWorkers
from tests.unit.streams.runtime.counting import counting
from tests.unit.streams.workers.worker_programs import (
    dying_of_damage,
    failing_beside_one_that_hangs,
    hanging_at_its_end,
    measured,
    obedient,
    slow_to_handle_signals,
)

WAIT_S = 60
Work = Callable[[bytes, int, Connection, bool], None]


def supervisor(
    work: Work,
    life: ApplicationLife,
    tmp_path: Path,
    workers: int = 1,
    stores: Mapping[str, TopologyStore] = MappingProxyType({}),
) -> WorkerSupervisor:
    given = {
        "application.id": "app", "bootstrap.servers": "localhost:1", "num.workers": workers,
        "state.dir": str(tmp_path), "task.timeout.ms": 100,
    }  # fmt: skip
    return WorkerSupervisor(
        checked_program(counting, given, {}, RestoreListeners()),
        streams_config(given),
        partial(StateDirectory, str(tmp_path), "app"),
        life,
        work,
        stores=stores,
        exit_s=0.2,
    )


def test_a_process_that_does_not_exit_is_killed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    life = ApplicationLife(None)
    made = supervisor(hanging_at_its_end, life, tmp_path)
    made.start()
    assert life.wait_for(lambda state: state is StreamsState.RUNNING, WAIT_S)
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)
    assert (life.state, life.error) == (StreamsState.NOT_RUNNING, None)
    assert "The process of worker 1 has not ended in time, and is killed" in caplog.text


def test_files_that_a_worker_had_open_which_a_signal_of_damage_has_ended_are_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    life = ApplicationLife(None)
    folders = [
        GenerationsFolder(tmp_path / "app-app" / "tasks" / task, tmp_path / "trash") for task in ("0_0", "0_1", "0_2")
    ]
    for folder, is_clean in zip(folders, (False, True, False), strict=True):
        left = folder.prepare()
        left.write(Mark(boot_id="now", stores={}, is_clean=is_clean))
        assert folder.publish(left)
        left.disown()
    alive = folders[2].newest()
    assert alive is not None
    assert alive.own(), "as another worker that goes on"
    made = supervisor(dying_of_damage, life, tmp_path)
    made.start()
    assert life.wait_for(lambda state: state is StreamsState.RUNNING, WAIT_S)
    found = [folder.newest() for folder in folders]
    assert [each and each.mark and each.mark.is_damaged for each in found] == [True, False, False]
    alive.disown()
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)


@pytest.mark.parametrize("topic", [None, "names"], ids=["of tasks", "global"])
@pytest.mark.parametrize("persistent", [False, True])
def test_stores_on_disk_are_read_and_no_worker_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, persistent: bool, topic: str | None
) -> None:
    definition = stores.key_value("names", serdes.string, serdes.string, persistent=persistent)
    place = TopologyStore(definition=definition, source_topic=topic, is_global=topic is not None)
    made = supervisor(obedient, ApplicationLife(None), tmp_path, stores={"names": place})
    asked: list[str] = []

    def answers(*_: object) -> list[TaskAnswer]:
        asked.append("files")
        return []

    def send(message: AskWorkers) -> None:
        asked.append("workers")
        message.answer.set_result([])

    monkeypatch.setattr(StateReaders, "answers", answers)
    monkeypatch.setattr(made, "_send", send)
    assert made.ask(StoreQuestion("names", OfTask.EXISTENCE)) == []
    assert asked == ["files" if persistent else "workers"]


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


def test_a_listener_adds_a_worker_and_is_not_allowed_to_wait_for_one_to_leave(tmp_path: Path) -> None:
    added: list[str | None] = []
    refused: list[str] = []

    def listen(state: StreamsState, _before: StreamsState) -> None:
        if state is StreamsState.RUNNING and not added:
            added.append(made.add().result(WAIT_S))
            with pytest.raises(IllegalStateError) as raised:
                made.remove()
            refused.append(str(raised.value))

    life = ApplicationLife(listen)
    made = supervisor(obedient, life, tmp_path)
    made.start()
    assert life.wait_for(lambda state: state is StreamsState.RUNNING and bool(added), WAIT_S)
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)
    assert added == ["streams-app-2"]
    assert refused == ["remove_worker was called by on_state, which must not wait. Use another thread."]


@pytest.mark.parametrize(("failures", "ends_in"), [(1, StreamsState.RUNNING), (100, StreamsState.ERROR)])
def test_a_process_that_cannot_be_started_is_started_later_or_ends_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, ends_in: StreamsState
) -> None:
    start, tries, deaths = spawned_process._start, count(1), count()

    def failing(process: BaseProcess) -> None:
        if next(tries) <= failures:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        start(process)

    monkeypatch.setattr(spawned_process, "_start", failing)
    monkeypatch.setattr(RestartRule, "died", lambda self, now_ms: now_ms if next(deaths) < 3 else None)
    life = ApplicationLife(None)
    made = supervisor(obedient, life, tmp_path)
    made.start()
    assert life.wait_for(lambda state: state is ends_in, WAIT_S)
    assert made.stop(WAIT_S, GroupMembershipOperation.DEFAULT)
    says = "Worker 1 cannot be started: [Errno 11] Resource temporarily unavailable"
    assert str(life.error) == (says if ends_in is StreamsState.ERROR else "None")


def test_an_error_is_seen_though_another_worker_never_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    life = ApplicationLife(None)
    made = supervisor(failing_beside_one_that_hangs, life, tmp_path, workers=2)
    made.start()
    assert life.wait_for(lambda _: life.has_ended, WAIT_S)
    assert str(life.error) == "Worker 2 ended: a bug"
    assert "The process of worker 1 has not ended in time, and is killed" in caplog.text
    assert "Worker 1 died with exit status -9 while it stopped" in caplog.text


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
