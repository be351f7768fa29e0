"""A worker with a state directory: after its process was killed, its successor knows what it was running."""

import re
import signal
from pathlib import Path

import pytest

from kafka_groups import ShareRecord, Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.processes.kept_notes import NotesInDirectory
from kafka_groups.share.workers.processes.notes import RunningNotesLayout
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.types import TopicIdPartition
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker, wait_s
from tests.support.workers.worker_programs import Start, is_alive, read_calls
from tests.support.workers.worker_scenes import WorkerScene

PAIR = """
import os
import threading

from kafka_groups import Worker

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"], fetch_max_wait_ms=50)
pause = threading.Event().wait
are_busy = threading.Event()


def note(what, value, record):
    file = os.open("calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{os.getpid()} {what} {value.decode()} {record.delivery_count}\\n".encode())
    os.close(file)


@worker.handler(os.environ["TOPIC"])
def first(value, record):
    note("begins", value, record)
    are_busy.wait(2)  # if the other handler runs records in this life at all
    os._exit(9)


@worker.handler(os.environ["OTHER"], dead_letters=os.environ["DEAD"], concurrency=4)
def second(value, record):
    note("begins", value, record)
    are_busy.set()
    pause(0.1)
    note("ends", value, record)
"""
CONFIGS = {"share.session.timeout.ms": "2000", "share.record.lock.duration.ms": "15000"}
KILLED_BY_RECORD = 9


def note_running(directory: Path, scene: WorkerScene, worker: Worker, *offsets: int) -> None:
    """Leave notes in a directory as a worker does that is killed while it runs some records."""
    kept = NotesInDirectory(directory, scene.group_id, RunningNotesLayout.of(worker.handlers), 1)
    place = TopicIdPartition(scene.topic.topic_id, 0, scene.name)
    kept.name([RunningRange(place, offset, offset) for offset in offsets])
    kept.close()


def test_what_a_predecessor_was_running_runs_alone_even_if_a_broker_lost_count(
    scene: WorkerScene, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[tuple[str, int]] = []
    worker = scene.worker(state_dir=tmp_path)

    @worker.handler(scene.name, concurrency=6)
    def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        calls.append(("begins", record.offset))
        wait_s(0.05)
        calls.append(("ends", record.offset))

    note_running(tmp_path, scene, worker, 1, 3)
    scene.send(*(b"%d" % number for number in range(6)))
    with worker:
        scene.wait_until_done()
        with (
            pytest.raises(ConfigurationError, match=f"state_dir='{tmp_path}': another worker uses this directory"),
            scene_twin(scene, tmp_path),
        ):
            pass
    for offset in (1, 3):
        begins = calls.index(("begins", offset))
        assert calls[begins + 1] == ("ends", offset)
    assert f"while they were running {scene.name}-0@3, {scene.name}-0@1. These records run alone" in caplog.text
    caplog.clear()
    with worker:  # it ended in order, so there are no suspects any more
        pass
    assert "State directory" not in caplog.text


def scene_twin(scene: WorkerScene, directory: Path) -> Worker:
    """Return another worker with the same directory."""
    worker = scene.worker(state_dir=str(directory))
    worker.handler(scene.name)(lambda value: None)
    return worker


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_record_that_kills_a_process_costs_no_record_of_another_handler(
    broker: WorkerBroker, start: Start, tmp_path: Path
) -> None:
    """Without the directory, they are delivered again with each kill, and copied before their fourth delivery."""
    (tmp_path / "pair.py").write_text(PAIR, encoding="utf-8")
    scene, other = WorkerScene(broker, CONFIGS), broker.new_topic(1)
    others = [f"other-{number}" for number in range(16)]
    scene.send(b"poison")
    broker.produce(other, [value.encode() for value in others], 0)
    environment = {"OTHER": other.name, "DEAD": scene.dead}
    logs: list[str] = []

    def is_done() -> bool:
        return broker.lag(scene.group_id, other) == 0

    while not is_done():
        life = start(scene, "pair:worker", "--state-dir", "state/of/pair", environment=environment)
        wait_until(lambda life=life: life.has_ended or is_done(), 90, lambda life=life: life.log)  # type: ignore[misc]
        assert (life.ended() if life.has_ended else life.stopped()) in (0, KILLED_BY_RECORD), life.log
        logs.append(life.log)
    calls = read_calls(tmp_path)
    assert {call.value for call in calls if call.what == "ends"} == set(others)
    assert scene.letters() == []
    assert sum(call.value == "poison" for call in calls) >= 2
    knows = f"previous workers were killed.* while they were running .*{scene.name}-0@0"
    assert [re.search(knows, log) is not None for log in logs] == [False] + [True] * (len(logs) - 1)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_restart_of_all_processes_knows_what_they_were_running(
    broker: WorkerBroker, start: Start, tmp_path: Path
) -> None:
    scene = WorkerScene(broker, CONFIGS)
    arguments = ("shop:worker", "--processes", "2", "--state-dir", str(tmp_path / "state"))
    worker = start(scene, *arguments, environment={"TIMEOUT": ""})
    names = ["held-1", "held-2", "held-3"]
    scene.send(*(name.encode() for name in names))
    wait_until(lambda: len(worker.calls) == 3, 90, lambda: worker.log)
    pids = worker.pids
    refused = start(scene, *arguments, directory="refused")
    assert refused.ended(90) == 2
    assert "another worker uses this directory" in " ".join(refused.log.split())
    worker.process.send_signal(signal.SIGKILL)
    worker.ended()
    again = start(scene, *arguments, directory="again", environment={"TIMEOUT": ""})
    again.wait_for_log("previous workers were killed")
    wait_until(lambda: not any(map(is_alive, pids)), 60)
    wait_until(lambda: len(again.values()) == 3, 90, lambda: again.log)
    found = re.search(r"while they were running (.*)\. These records run alone", again.log)
    assert found is not None
    assert set(found[1].split(", ")) == {f"{scene.name}-0@{offset}" for offset in range(3)}
    scene.wait_until_done()
    calls = [(call.what, call.value) for call in again.calls]
    assert [what for what, _ in calls] == ["begins", "ends"] * 3
    assert again.stopped() == 0
    last = start(scene, *arguments, directory="last")
    last.wait_for_log("has process id")
    assert last.stopped() == 0
    assert "State directory" not in last.log
