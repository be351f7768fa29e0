"""Retry topics of workers on brokers: created, checked, and passed through, with a dead letter at the end."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups import Attempt, Backoff, RecordOrigin, Retry, RetryTopics, ShareRecord, Worker, current_attempt
from kafka_groups.cli.main import main
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import SystemClock
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import kafka_broker
from tests.support.workers.worker_programs import Start
from tests.support.workers.worker_scenes import WorkerScene

pytestmark = pytest.mark.slow

CLOCK = SystemClock()

RETRIES = """
import os
from pathlib import Path
from kafka_groups import Retry, RetryTopics, ShareRecord, Worker, current_attempt

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"], fetch_max_wait_ms=50)

@worker.handler(
    os.environ["TOPIC"],
    retry_topics=RetryTopics(os.environ["RETRY"], delays=(1, 3600)),
    dead_letters=os.environ["LETTERS"],
)
def handle(value: bytes, record: ShareRecord) -> None:
    with Path("calls").open("a") as calls:
        calls.write(f"{os.getpid()} ends {value.decode()} {current_attempt().number}\\n")
    if current_attempt().number == 1:
        raise Retry("later", after=1)
"""


def topics_of(scene: WorkerScene, *delays: int) -> RetryTopics:
    return RetryTopics(f"{scene.name}.retry", delays=delays)


def declared(scene: WorkerScene, topics: RetryTopics, seen: list[tuple[float, Attempt]]) -> Worker:
    """A worker whose handler asks for waits of 2.5 s, and that gives up after the third attempt of a bad record."""
    worker = scene.worker()

    @worker.handler(
        scene.name, retry_topics=topics, dead_letters=f"{scene.name}.dead", retries=Backoff(first=1, most=9, times=2)
    )
    def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        seen.append((CLOCK.now_ms() / 1000, current_attempt()))
        if value == b"bad" or current_attempt().number < 3:
            raise Retry("later", after=2.5)

    return worker


def test_records_come_back_when_they_are_due_until_they_succeed_or_are_given_up(scene: WorkerScene) -> None:
    topics, seen = topics_of(scene, 1, 2), list[tuple[float, Attempt]]()
    worker = declared(scene, topics, seen)
    [check] = worker.check()
    assert "--create-topics" in check.errors[0]
    with pytest.raises(ConfigurationError, match="--create-topics"), worker:
        pass
    assert list(worker.create_topics()) == sorted([f"{scene.name}.dead", *topics.names])
    assert list(worker.create_topics()) == []
    [check] = worker.check()
    assert not check.errors, check.errors
    scene.send(b"good", b"bad")
    with worker:
        wait_until(lambda: len(seen) == 6, 60, lambda: seen)
        wait_until(lambda: scene.broker.letters(f"{scene.name}.dead"), 30)
        scene.wait_until_done()
    for offset in (0, 1):
        mine = [(at_s, attempt) for at_s, attempt in seen if attempt.origin.offset == offset]
        assert [attempt.number for _, attempt in mine] == [1, 2, 3]
        origin = mine[0][1].origin
        assert [attempt.origin for _, attempt in mine] == [origin] * 3
        assert origin == RecordOrigin(scene.name, 0, offset, origin.timestamp)
        waits = [after - before for (before, _), (after, _) in pairwise(mine)]
        assert all(wait >= 2.49 for wait in waits), waits
    [letter] = scene.broker.messages(f"{scene.name}.dead")
    headers = dict(letter.headers() or [])
    names = ("topic", "partition", "offset", "attempts")
    assert [headers[f"__dlq.errors.{name}"] for name in names] == [scene.name.encode(), b"0", b"1", b"3"]
    assert not any(name.startswith("__retry.") for name in headers)


def test_the_command_creates_the_topics_and_a_killed_worker_goes_on(
    scene: WorkerScene, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "retries.py").write_text(RETRIES, encoding="utf-8")
    environment = {"RETRY": f"{scene.name}.retry", "LETTERS": f"{scene.name}.dead"}
    refused = start(scene, "retries:worker", environment=environment)
    assert refused.process.wait(60) == 2
    assert "--create-topics" in refused.log
    scene.send(*(b"%d" % number for number in range(5)))
    started = start(scene, "retries:worker", "--create-topics", environment=environment)
    wait_until(lambda: len(started.calls) >= 5, 60, lambda: started.log)
    started.process.kill()
    started.process.wait(20)
    again = start(scene, "retries:worker", "--create-topics", environment=environment)
    wait_until(lambda: {call.value for call in again.calls if call.delivery_count == 2} == set("01234"), 90)
    again.process.terminate()
    assert again.process.wait(60) == 0
    assert not scene.broker.letters(f"{scene.name}.dead")


@pytest.mark.real_kafka
def test_the_commands_of_the_errors_mend_the_topics(real_kafka: KafkaProcess) -> None:
    with kafka_broker(real_kafka, is_shared=True) as broker:
        scene = WorkerScene(broker)
        topics = topics_of(scene, 10, 3600)
        wrong = {"message.timestamp.type": "CreateTime", "cleanup.policy": "compact", "retention.ms": "5000"}
        for name in topics.names:
            broker.new_topic(name=name, configs=wrong)
        worker = declared(scene, topics, [])
        assert list(worker.create_topics()) == [f"{scene.name}.dead"]
        [check] = worker.check()
        commands = re.findall(r"`kafka-groups (topics configs .*?)`", " ".join(check.errors))
        assert len(commands) == 6
        for command in commands:
            words = [*command.split(), "--bootstrap-servers", scene.broker.servers]
            assert CliRunner().invoke(main, words).exit_code == 0
        [check] = worker.check()
        assert (*check.errors, *check.warnings) == ()


# ------------------------------------------------------------------------------------------- deployments


DEPLOYMENTS = 8
LONG_S = 100


def waiting_worker(scene: WorkerScene, topics: RetryTopics, ran: list[tuple[float, int]]) -> Worker:
    """A worker whose handler asks for a long wait once, and then succeeds."""
    worker = scene.worker()

    @worker.handler(scene.name, name="remind", retry_topics=topics, dead_letters=f"{scene.name}.dead")
    def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        ran.append((CLOCK.now_ms() / 1000, current_attempt().number))
        if current_attempt().number == 1:
            raise Retry("later", after=LONG_S)

    return worker


def waiting_counts(worker: Worker) -> list[int]:
    """The delivery counts of the records that a worker holds before their time."""
    runtime = worker._current._runtime
    assert runtime is not None
    return [opened.delivery_count for each in runtime._running for opened in list(each.handling.holdings.early)]


@pytest.mark.long
@pytest.mark.timeout(400)
def test_deployments_while_a_record_waits_use_up_none_of_its_last_deliveries(scene: WorkerScene) -> None:
    """Brokers archive a record after five deliveries. Each deployment costs one, and there are more of them."""
    topics, ran, counts = topics_of(scene, 2, LONG_S), list[tuple[float, int]](), list[int]()
    waiting_worker(scene, topics, ran).create_topics()
    scene.send(b"call ann")
    for _ in range(DEPLOYMENTS):
        worker = waiting_worker(scene, topics, ran)
        with worker:
            wait_until(lambda worker=worker: waiting_counts(worker), 60)  # type: ignore[misc]
            counts += waiting_counts(worker)
    with waiting_worker(scene, topics, ran):
        wait_until(lambda: len(ran) == 2, LONG_S + 60, lambda: ran)
        scene.wait_until_done()
    (failed_s, first), (began_s, second) = ran
    assert (first, second) == (1, 2)
    assert began_s >= failed_s + LONG_S - 0.01
    assert max(counts) == 2, counts  # on its third delivery it is written again
    assert sum(len(scene.broker.messages(topic)) for topic in topics.names) >= 3
    assert not scene.broker.letters(f"{scene.name}.dead")
