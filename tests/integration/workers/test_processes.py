"""A worker in several processes: they share the records, are replaced when they die, and stop together."""

import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.support.conditions import wait_until
from tests.support.standing_still import standing_still
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_programs import Start, free_port, is_alive
from tests.support.workers.worker_scenes import WorkerScene

TWO = ("shop:worker", "--processes", "2", "--probe-address", "127.0.0.1:{port}")
SHORT_SESSIONS = {"share.session.timeout.ms": "2000"}
"""The partitions of a killed process go to others soon."""
SHORT_LOCKS = {"share.record.lock.duration.ms": "15000"}
"""Kafka keeps the locks of a killed process on partitions that it lost before: until they expire."""
NEEDS_NO_KAFKA = pytest.mark.parametrize(
    "broker", ["embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.long])], indirect=True
)
"""For tests of processes and commands alone: they run on a real Kafka in the long tests."""

SCRIPT = """
import sys
from shop import worker

{guard}
    worker.run(processes=2)
"""

LONELY = """
import os
from contextlib import contextmanager
from kafka_groups import Worker

@contextmanager
def lifespan():
    os.write(1, b"entered\\n")  # in one piece, as several processes write here
    yield
    os.write(1, b"left\\n")

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"], lifespan=lifespan)

@worker.handler(os.environ["TOPIC"])
def handle(value): ...
"""

STUBBORN = """
import asyncio, os
from kafka_groups import Worker

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"])

@worker.handler(os.environ["TOPIC"], timeout=0.1)
async def handle(value):
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

worker.run()
"""

DEAF = """
import asyncio, os
from kafka_groups import Worker

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"], shutdown_timeout=0.5)

@worker.handler(os.environ["TOPIC"])
async def handle(value):
    print("begins", flush=True)
    while True:
        try:
            await asyncio.Event().wait()
        except:
            pass

if __name__ == "__main__":
    worker.run(processes=2)
"""


def wide(broker: WorkerBroker, partitions: int = 8, **configs: str) -> WorkerScene:
    """A scene whose topic has several partitions."""
    return WorkerScene(broker, {**SHORT_SESSIONS, **configs}, partitions=partitions)


def send_everywhere(scene: WorkerScene, word: str, count: int, partitions: int = 8) -> None:
    """Write records to all partitions."""
    for partition in range(partitions):
        scene.send(*(f"{word}-{partition}-{number}".encode() for number in range(count)), partition=partition)


def flat(text: str) -> str:
    """A text without line breaks and the lines of tables."""
    return " ".join(text.replace("│", " ").split())


# ------------------------------------------------------------------------------------------- sharing and stopping


@pytest.mark.slow
def test_four_processes_share_the_records_and_stop_together(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker)
    shutdown_s = 15
    arguments = ("--processes", "4", "--probe-address", "127.0.0.1:{port}")
    worker = start(scene, "shop:worker", *arguments, environment={"SHUTDOWN": str(shutdown_s)})
    worker.wait_until_ready()
    sent = 0

    def all_work() -> bool:
        nonlocal sent
        send_everywhere(scene, f"slow-{sent}", 4)
        sent += 32
        return len(worker.pids) == 4

    wait_until(all_work, 30)
    worker.wait_for_calls(sent)
    scene.wait_until_done()
    assert set(Counter(worker.values()).values()) == {1}
    assert worker.asked("/live") == (200, "live\n")
    found: list[tuple[str, str]] = []

    def are_counted() -> bool:
        text = worker.asked("/metrics")[1]
        found[:] = re.findall(r'worker_records_total\{.*outcome="accepted",process="(\d)"\} (\d+)', text)
        return sum(int(count) for _, count in found) == sent

    wait_until(are_counted, 10, lambda: found)
    assert {process for process, _ in found} == {"1", "2", "3", "4"}
    send_everywhere(scene, "slow-last", 4)
    assert worker.stopped(within_s=shutdown_s) == 0
    assert not any(map(is_alive, worker.pids))
    assert Counter(worker.values("begins")) == Counter(worker.values())
    assert "Traceback" not in worker.log


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
@pytest.mark.parametrize("processes", ["1", "2"])
@NEEDS_NO_KAFKA
def test_a_signal_during_the_start_ends_it_and_leaves_the_lifespans(
    broker: WorkerBroker, start: Start, tmp_path: Path, processes: str, number: signal.Signals
) -> None:
    (tmp_path / "lonely.py").write_text(LONELY, encoding="utf-8")
    nowhere = f"127.0.0.1:{free_port()}"
    worker = start(WorkerScene(broker), "lonely:worker", "--processes", processes, environment={"SERVERS": nowhere})
    wait_until(lambda: worker.log.count("Cannot reach a broker") >= int(processes), 30, lambda: worker.log)
    assert worker.stopped(number, within_s=20) == 0
    assert worker.out.split() == ["entered"] * int(processes) + ["left"] * int(processes)
    assert "Traceback" not in worker.log


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_second_signal_stops_at_once(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1)
    worker = start(scene, *TWO, environment={"TIMEOUT": ""})
    worker.wait_until_ready()
    scene.send(b"held")
    worker.wait_for_calls(1, "begins")
    worker.process.send_signal(signal.SIGINT)
    wait_until(lambda: "left the share group" in worker.log, 20)  # of the process that has nothing to run
    assert worker.stopped(signal.SIGINT) == 0
    assert f"the attempt for {scene.name}-0@0 still runs after shutdown_timeout" in worker.log
    assert "SIGKILL" not in worker.log


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_handler_may_stop_the_worker(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1)
    worker = start(scene, *TWO)
    scene.send(b"stop")
    assert worker.ended() == 0
    assert worker.values() == ["stop"]
    scene.wait_until_done()


# ------------------------------------------------------------------------------------------- processes that die


@pytest.mark.slow
def test_what_a_killed_process_was_running_runs_alone_in_another(broker: WorkerBroker, start: Start) -> None:
    """Also if the parent, which tells the others what was running, is slower than the brokers."""
    scene = wide(broker, 1)
    worker = start(scene, *TWO, environment={"TIMEOUT": ""})
    worker.wait_until_ready()
    names = ["held-1", "held-2", "held-3"]
    scene.send(b"good", *(name.encode() for name in names))
    worker.wait_for_calls(4, "begins")
    (pid,) = {call.pid for call in worker.calls if call.value == "held-1"}
    wait_until(lambda: scene.broker.lag(scene.group_id, scene.topic) == 3)
    with standing_still(worker.process.pid):
        os.kill(pid, signal.SIGKILL)
        worker.wait_for_calls(4)
    worker.wait_for_log("killed by signal 9 (SIGKILL) while running")
    scene.wait_until_done()
    killed = re.search(
        r"Process (\d) was killed by signal 9 \(SIGKILL\) while running (.*)\. It is started", worker.log
    )
    assert killed is not None
    assert set(killed[2].split(", ")) == {f"{scene.name}-0@{offset}" for offset in (1, 2, 3)}
    again = [(call.what, call.value) for call in worker.calls if call.pid != pid and call.value in names]
    assert [what for what, _ in again] == ["begins", "ends"] * 3
    assert [value for _, value in again[::2]] == [value for _, value in again[1::2]]
    worker.wait_until_ready()
    assert (
        f'process_restarts_total{{group="{scene.group_id}",process="{killed[1]}"}} 1.0' in worker.asked("/metrics")[1]
    )
    assert worker.stopped() == 0


@pytest.mark.slow
def test_a_record_that_kills_processes_becomes_a_dead_letter(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 2, **{"share.delivery.count.limit": "3", **SHORT_LOCKS})
    worker = start(scene, *TWO, has_letters=True)
    worker.wait_until_ready()
    scene.send(b"slow-1", b"slow-2", b"poison", b"slow-3", b"slow-4")
    scene.send(b"slow-5", b"slow-6", partition=1)
    scene.broker.wait_for_lag(scene.group_id, scene.topic, timeout_s=90)
    poisoned = [call.delivery_count for call in worker.calls if call.value == "poison"]
    assert poisoned == [1, 2, 3]
    letters = scene.letters()
    assert {letter.reason for letter in letters} == {"before processing"}
    assert [letter.delivery_count for letter in letters if letter.value == b"poison"] == [2, 3]
    assert all(letter.is_possible_duplicate for letter in letters)
    copied = {(letter.value or b"").decode() for letter in letters}
    assert {*worker.values(), *copied} == {"poison", *(f"slow-{number}" for number in range(1, 7))}
    wait_until(lambda: worker.log.count("killed by signal 9 (SIGKILL) while running") == 3, 20, lambda: worker.log)
    worker.wait_until_ready()
    assert worker.stopped() == 0


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_process_with_a_handler_that_hangs_is_replaced(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1)
    worker = start(scene, *TWO)
    worker.wait_until_ready()
    scene.send(b"hang", b"good")
    worker.wait_for_calls(2)
    scene.wait_until_done()
    assert worker.values() == ["good", "hang"]
    assert f"the attempt for {scene.name}-0@0 exceeds the timeout and cannot be stopped" in worker.log
    worker.wait_for_log(
        f"ended with status 70, because an attempt hangs and cannot be stopped, while running {scene.name}-0@0"
    )
    worker.wait_until_ready()
    assert worker.stopped() == 0


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_task_that_ignores_its_cancellation_ends_the_process(
    broker: WorkerBroker, start: Start, tmp_path: Path
) -> None:
    scene = wide(broker, 1)
    (tmp_path / "script.py").write_text(STUBBORN, encoding="utf-8")
    worker = start(scene, command=["script.py"])
    scene.send(b"any")
    assert worker.ended() == 70
    assert f"the attempt for {scene.name}-0@0 exceeds the timeout and cannot be stopped" in worker.log


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_process_whose_task_ignores_its_cancellation_ends_by_itself(
    broker: WorkerBroker, start: Start, tmp_path: Path
) -> None:
    scene = wide(broker, 1)
    (tmp_path / "script.py").write_text(DEAF, encoding="utf-8")
    worker = start(scene, command=["script.py"])
    scene.send(b"any")
    wait_until(lambda: "begins" in worker.out, 30, lambda: worker.log)
    assert worker.stopped() == 0
    assert f"Handler handle: the attempt for {scene.name}-0@0 still runs after shutdown_timeout" in worker.log
    assert "is killed" not in worker.log


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_handler_that_exits_is_a_death(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1, **{"share.delivery.count.limit": "2"})
    worker = start(scene, *TWO, has_letters=True)
    scene.send(b"exit")
    scene.wait_until_done()
    worker.wait_for_log(f"ended with status 0 while running {scene.name}-0@0")
    assert [letter.value for letter in scene.letters()] == [b"exit"]
    assert worker.stopped() == 0


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_process_that_is_terminated_alone_finishes_and_is_replaced(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1)
    worker = start(scene, *TWO)
    worker.wait_until_ready()
    pids = {int(pid) for pid in re.findall(r"has process id (\d+)", worker.log)}
    os.kill(min(pids), signal.SIGTERM)
    worker.wait_for_log("has ended. It is started again")
    worker.wait_until_ready()
    assert worker.stopped() == 0


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_processes_end_with_their_parent(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1)
    worker = start(scene, *TWO)
    worker.wait_until_ready()
    pids = {int(pid) for pid in re.findall(r"has process id (\d+)", worker.log)}
    worker.process.kill()
    wait_until(lambda: not any(map(is_alive, pids)), 30)


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_processes_that_are_starting_leave_their_lifespans_when_their_parent_ends(
    broker: WorkerBroker, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "lonely.py").write_text(LONELY, encoding="utf-8")
    nowhere = f"127.0.0.1:{free_port()}"
    worker = start(WorkerScene(broker), "lonely:worker", "--processes", "2", environment={"SERVERS": nowhere})
    worker.wait_for_log("process 1 kafka_groups.network: Cannot reach a broker")  # it has entered its lifespan then
    worker.wait_for_log("process 2 kafka_groups.network: Cannot reach a broker")
    worker.process.kill()
    wait_until(lambda: worker.out.split() == ["entered"] * 2 + ["left"] * 2, 30, lambda: (worker.out, worker.log))
    assert "Traceback" not in worker.log


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_an_error_that_stops_a_process_ends_all(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1)
    worker = start(scene, *TWO)
    scene.send(b"zero")
    assert worker.ended() == 1
    assert "Error: The worker was stopped by an error: ZeroDivisionError: division by zero" in worker.log
    assert "shop.py" in worker.log
    assert worker.log.count("has process id") == 2


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", pytest.param("2", marks=pytest.mark.slow)])
@NEEDS_NO_KAFKA
def test_a_handler_that_returns_undone_work_is_an_error_and_no_wrong_use_of_the_command(
    broker: WorkerBroker, start: Start, processes: str
) -> None:
    scene = wide(broker, 1)
    worker = start(scene, "shop:worker", "--processes", processes)
    scene.send(b"undone")
    assert worker.ended() == 1
    assert "Error: " in worker.log
    assert "which nobody iterates over" in worker.log
    assert "Usage" not in worker.log


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_configuration_that_does_not_fit_ends_all(broker: WorkerBroker, start: Start) -> None:
    worker = start(wide(broker, 1), "shop:unfit", "--processes", "2")
    assert worker.ended() == 2
    assert "dead_letters='orders.missing' does not exist" in worker.log
    assert worker.log.count("has process id") == 2


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_script_may_run_several_processes(broker: WorkerBroker, start: Start, tmp_path: Path) -> None:
    scene = wide(broker, 1)
    (tmp_path / "script.py").write_text(SCRIPT.format(guard='if __name__ == "__main__":'), encoding="utf-8")
    worker = start(scene, command=["script.py"])
    scene.send(b"good")
    worker.wait_for_calls(1)
    assert worker.stopped() == 0


@pytest.mark.slow
@NEEDS_NO_KAFKA
def test_a_script_that_runs_itself_again_is_told_why_not(broker: WorkerBroker, start: Start, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT.format(guard="if True:"), encoding="utf-8")
    worker = start(wide(broker, 1), command=["script.py"])
    assert worker.ended() == 1
    assert 'needs the line `if __name__ == "__main__":` before worker.run()' in worker.log


# ------------------------------------------------------------------------------------------- the command


@pytest.mark.slow
def test_a_check_reports_what_is_missing(broker: WorkerBroker, start: Start) -> None:
    scene = wide(broker, 1, **{"share.auto.offset.reset": "latest"})
    checked = start(scene, "shop:worker", "--check")
    assert checked.ended() == 0
    assert "share.auto.offset.reset=latest" in checked.out
    checked = start(scene, "shop:unfit", "--check")
    assert checked.ended() == 1
    assert "error: the topic dead_letters='orders.missing' does not exist. Create it" in flat(checked.out)
    checked = start(scene, "shop:worker", "--check", environment={"TOPIC": "missing"})
    assert checked.ended() == 1
    assert "The topic missing does not exist" in checked.out
    assert checked.calls == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["shop"], 2, "'shop' is not of the form MODULE:NAME"),
        (["shops:worker"], 1, "There is no module 'shops'"),
        (["shop:other"], 1, "Module 'shop' has no worker 'other'. Its workers are: unfit, worker."),
        (["shop:handle"], 1, "has 'handle', which is not a Worker"),
        (["shop:worker", "--probe-address", "8081"], 2, "probe_address='8081'"),
    ],
)
@NEEDS_NO_KAFKA
def test_what_the_command_cannot_run_is_refused(
    broker: WorkerBroker, start: Start, arguments: list[str], status: int, said: str
) -> None:
    worker = start(WorkerScene(broker), *arguments)
    assert worker.ended() == status
    assert said in flat(worker.log)
