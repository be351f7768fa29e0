"""A worker starts, embeds itself in programs, and stops: in each state of its records, and by signals."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kafka_groups import Backoff, OnError, Retry, Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import SystemClock
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_scenes import SOON, Calls, WorkerScene

ROOT = Path(__file__).parents[3]
FAR_S = 60
FAR = Backoff(first=FAR_S, most=FAR_S, times=1)
PATIENCE_S = 30

PROGRAM = """
import sys, threading
from kafka_groups import Worker

servers, group, topic, mode = sys.argv[1:]
worker = Worker(group, bootstrap_servers=servers, fetch_max_wait_ms=50)
go_on = threading.Event()

@worker.handler(topic, concurrency=1)
def handle(value):
    print("begins", value.decode(), flush=True)
    if mode == "slow":
        go_on.wait(1.0)
    elif mode == "stuck":
        go_on.wait(60)
    print("ends", value.decode(), flush=True)

worker.run()
print("has ended", flush=True)
"""

STUBBORN = """
import asyncio, os, signal, sys, threading
from kafka_groups import Worker

servers, group, topic, mode = sys.argv[1:]
worker = Worker(group, bootstrap_servers=servers, fetch_max_wait_ms=50, shutdown_timeout=0)
begun = threading.Event()

@worker.handler(topic)
async def handle(value):
    begun.set()
    while True:
        try:
            await asyncio.sleep(3600)
        except:
            pass

async def embedded():
    async with worker:
        await asyncio.to_thread(begun.wait)

if mode == "with":
    with worker:
        begun.wait()
elif mode == "async with":
    asyncio.run(embedded())
else:
    stop = lambda: begun.wait() and os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=stop, daemon=True).start()
    worker.run()
print("has ended", flush=True)
"""


def left_for_another(scene: WorkerScene) -> dict[bytes, int]:
    """The values and delivery counts of the records that another worker accepts until the group is done."""
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        calls.add(value)

    with worker:
        scene.wait_until_done()
    return {value: deliveries for value, deliveries, _ in calls.all}


# ------------------------------------------------------------------------------------------- start


def test_a_topic_for_dead_letters_that_does_not_exist_is_refused(scene: WorkerScene) -> None:
    worker = scene.worker()
    worker.handler(scene.name, dead_letters="orders.dead")(print)
    with pytest.raises(ConfigurationError, match=r"dead_letters='orders\.dead' does not exist\. Create it"), worker:
        pytest.fail("it has started")
    assert not worker.health().is_ready


def test_the_rule_dead_letter_without_a_topic_is_refused(scene: WorkerScene) -> None:
    worker = scene.worker()
    worker.handler(scene.name, exhausted=OnError.DEAD_LETTER)(print)
    with pytest.raises(ConfigurationError, match=r"OnError\.DEAD_LETTER needs a topic for dead letters"), worker:
        pytest.fail("it has started")


def test_a_worker_waits_for_a_topic_that_does_not_exist(broker: WorkerBroker, caplog: pytest.LogCaptureFixture) -> None:
    group_id, name, calls = broker.new_group(), unique("later"), Calls()
    worker = Worker(group_id, bootstrap_servers=broker.servers, fetch_max_wait_ms=50, metadata_max_age_ms=500)

    @worker.handler(name)
    def handle(value: bytes) -> None:
        calls.add(value)

    with worker:
        assert f"The topic {name} does not exist. The worker waits for it." in caplog.text
        topic = broker.new_topic(name=name)
        broker.produce(topic, [b"1"])
        calls.wait_for(1)
        broker.wait_for_lag(group_id, topic)


def test_a_worker_starts_again_after_a_start_that_failed(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()
    later = unique("dead")

    @worker.handler(scene.name, dead_letters=later)
    def handle(value: bytes) -> None:
        calls.add(value)

    with pytest.raises(ConfigurationError, match="does not exist"), worker:
        pytest.fail("it has started")
    scene.broker.new_topic(name=later)
    scene.send(b"1")
    for _ in range(2):
        with worker:
            scene.wait_until_done()
    assert calls.counts == {b"1": 1}


# ------------------------------------------------------------------------------------------- the end


def test_records_that_run_or_could_run_are_accepted_at_the_end(scene: WorkerScene) -> None:
    worker, calls, stopping = scene.worker(), Calls(), threading.Event()

    @worker.handler(scene.name, concurrency=1, buffer=4)
    def handle(value: bytes) -> None:
        calls.add(value)
        stopping.wait(PATIENCE_S)

    scene.send(b"running", b"held", b"held, too")
    with worker:
        calls.wait_for(1)
        worker.stop()
        stopping.set()
    assert calls.values == [b"running", b"held", b"held, too"]
    assert left_for_another(scene) == {}


def test_records_that_wait_for_a_retry_are_released_at_the_end(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, retries=FAR)
    def handle(value: bytes) -> None:
        calls.add(value)
        raise Retry("later")

    scene.send(b"waiting")
    with worker:
        calls.wait_for(1)
    assert calls.counts == {b"waiting": 1}
    assert left_for_another(scene) == {b"waiting": 2}


def test_records_that_wait_for_an_outage_to_end_are_released_at_the_end(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        calls.add(value)
        raise ConnectionError("sink is down")

    values = [b"%d" % n for n in range(8)]
    scene.send(*values)
    with worker:
        wait_until(lambda: "the breaker is open" in str(worker.health().reasons), PATIENCE_S)
    left = left_for_another(scene)
    assert left.keys() == set(values)
    assert max(left.values()) == 2


def test_at_once_is_soon_although_a_handler_runs(scene: WorkerScene) -> None:
    worker, calls, ended, clock = scene.worker(), Calls(), threading.Event(), SystemClock()

    @worker.handler(scene.name, concurrency=1, buffer=4)
    def handle(value: bytes) -> None:
        calls.add(value)
        ended.wait(PATIENCE_S)

    scene.send(b"running", b"held")
    with worker:
        calls.wait_for(1)
        began_ms = clock.now_ms()
        worker.stop(timeout=0)
        ended.set()
    assert clock.now_ms() - began_ms < 1000 * PATIENCE_S / 3
    assert calls.counts == {b"running": 1}
    assert left_for_another(scene) == {b"held": 2}


def test_records_that_run_are_settled_although_their_time_is_over(scene: WorkerScene) -> None:
    worker, calls, go_on = scene.worker(shutdown_timeout=0), Calls(), threading.Event()

    @worker.handler(scene.name, concurrency=2)
    def handle(value: bytes) -> None:
        calls.add(value)
        go_on.wait(PATIENCE_S)

    scene.send(b"1", b"2")
    with worker:
        calls.wait_for(2)
        worker.stop()
        go_on.set()
    assert left_for_another(scene) == {}


def test_the_worker_ends_without_threads_that_outlast_their_time(
    scene: WorkerScene, caplog: pytest.LogCaptureFixture
) -> None:
    worker, calls, go_on, clock = scene.worker(shutdown_timeout=0.5), Calls(), threading.Event(), SystemClock()

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        calls.add(value)
        go_on.wait(PATIENCE_S)

    scene.send(b"1")
    with worker:
        calls.wait_for(1)
        began_ms = clock.now_ms()
    assert clock.now_ms() - began_ms < 1000 * PATIENCE_S / 3
    assert "still runs after shutdown_timeout" in caplog.text
    assert left_for_another(scene) == {b"1": 2}
    go_on.set()


@pytest.mark.parametrize(
    "mode", ["with", pytest.param("async with", marks=pytest.mark.slow), pytest.param("run", marks=pytest.mark.slow)]
)
def test_the_worker_ends_without_tasks_that_ignore_their_cancellation(scene: WorkerScene, mode: str) -> None:
    scene.send(b"1")
    with running(scene, mode, STUBBORN) as process:
        output, log = process.communicate(timeout=PATIENCE_S)
        assert (output, process.returncode) == ("has ended\n", 0)
    assert f"Handler handle: the attempt for {scene.name}-0@0 still runs after shutdown_timeout" in log
    assert "Traceback" not in log, "of a task that is collected before its end"
    assert left_for_another(scene) == {b"1": 2}


@pytest.mark.slow
@pytest.mark.parametrize("is_embedded", [True, False])
def test_the_worker_ends_while_its_handlers_block_all_threads_of_the_loop(
    scene: WorkerScene, *, is_embedded: bool
) -> None:
    worker, begun, go_on, clock = scene.worker(shutdown_timeout=0), Calls(), threading.Event(), SystemClock()
    all_begun = asyncio.Event()

    @worker.handler(scene.name)
    async def handle(value: bytes) -> None:
        begun.add(value)
        if len(begun.all) == 40:
            all_begun.set()
        await asyncio.to_thread(go_on.wait, PATIENCE_S)

    async def embedded() -> None:
        asyncio.get_running_loop().set_default_executor(executor)
        async with worker:
            await asyncio.wait_for(all_begun.wait(), PATIENCE_S)

    scene.send(*(b"%d" % number for number in range(40)))
    began_ms = clock.now_ms()
    with ThreadPoolExecutor(1) as executor:
        if is_embedded:
            with closing(asyncio.new_event_loop()) as loop:
                loop.run_until_complete(embedded())
        else:
            with worker:
                begun.wait_for(40)
        ended_ms = clock.now_ms()
        go_on.set()
    assert ended_ms - began_ms < 1000 * PATIENCE_S / 2


async def test_asynchronous_records_that_run_are_accepted_at_the_end(scene: WorkerScene) -> None:
    worker, calls, begun, go_on = scene.worker(), Calls(), asyncio.Event(), asyncio.Event()

    @worker.handler(scene.name)
    async def handle(value: bytes) -> None:
        begun.set()
        await go_on.wait()
        calls.add(value)

    scene.send(b"1")
    async with worker:
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        worker.stop()
        go_on.set()
    assert calls.counts == {b"1": 1}
    assert left_for_another(scene) == {}


def test_a_handler_may_stop_the_worker(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, retries=SOON)
    def handle(value: bytes) -> None:
        calls.add(value)
        worker.stop()

    scene.send(b"1")
    worker.run()
    assert calls.counts == {b"1": 1}
    assert left_for_another(scene) == {}


# ------------------------------------------------------------------------------------------- signals


@contextmanager
def running(scene: WorkerScene, mode: str, program: str = PROGRAM) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", program, scene.broker.servers, scene.group_id, scene.name, mode]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: "subprocess.Popen[str]", wanted: str) -> list[str]:
    """The lines of its output up to one."""
    assert process.stdout is not None
    lines: list[str] = []
    while wanted not in lines:
        line = process.stdout.readline()
        assert line, (lines, process.stderr and process.stderr.read())
        lines.append(line.strip())
    return lines


def output_and_status(process: "subprocess.Popen[str]") -> tuple[list[str], int]:
    output, _ = process.communicate(timeout=PATIENCE_S)
    return output.split("\n")[:-1], process.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_lets_what_is_held_run_to_its_end(scene: WorkerScene, number: signal.Signals) -> None:
    scene.send(b"1")
    with running(scene, "slow") as process:
        read_until(process, "begins 1")
        process.send_signal(number)
        assert output_and_status(process) == (["ends 1", "has ended"], 0)
    assert left_for_another(scene) == {}


def test_a_second_signal_releases_what_is_held_at_once(scene: WorkerScene) -> None:
    scene.send(b"1", b"2", b"3")
    with running(scene, "slow") as process:
        read_until(process, "begins 1")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        lines, status = output_and_status(process)
    assert (lines[-1], status) == ("has ended", 0)
    assert "begins 3" not in lines
    assert b"3" in left_for_another(scene)


def test_records_of_a_process_that_is_killed_are_delivered_again(scene: WorkerScene) -> None:
    scene.send(b"1")
    with running(scene, "stuck") as process:
        read_until(process, "begins 1")
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert left_for_another(scene) == {b"1": 2}


# ------------------------------------------------------------------------------------------- lifespan and middleware


@pytest.mark.parametrize("runs", [True, False])
def test_a_lifespan_is_entered_before_the_first_record_and_left_after_the_last(
    scene: WorkerScene, *, runs: bool
) -> None:
    events: list[str] = []

    @contextmanager
    def noting(name: str) -> Iterator[None]:
        events.append(f"{name} begins")
        yield
        events.append(f"{name} ends")

    worker = scene.worker(lifespan=lambda: noting("lifespan"), middleware=[lambda _: noting("attempt")])

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        events.append(value.decode())
        worker.stop()

    scene.send(b"1")
    if runs:
        worker.run()
    else:
        with worker:
            scene.wait_until_done()
    assert events == ["lifespan begins", "attempt begins", "1", "attempt ends", "lifespan ends"]
