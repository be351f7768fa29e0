"""Workers with earlier releases of Kafka."""

from collections.abc import Iterator

import pytest

from kafka_groups import Backoff, Reject, Retry, RetryTopics, current_attempt
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.recording.profile_capture import RELEASES
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker, embedded_broker, kafka_broker
from tests.support.workers.worker_scenes import Calls, WorkerScene

# ------------------------------------------------------------------------------------------- earlier releases


@pytest.fixture(scope="module", params=["4.2", pytest.param("4.3", marks=pytest.mark.slow)])
def earlier_embedded(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    """An embedded broker that acts as an earlier release."""
    with embedded_broker(request.param) as broker:
        yield broker


@pytest.fixture(scope="module", params=["4.2", "4.3"])
def earlier_kafka(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    """A real Kafka of an earlier release."""
    with KafkaProcess(RELEASES[request.param]) as kafka, kafka_broker(kafka, is_shared=True) as broker:
        yield broker


def test_a_worker_on_an_earlier_embedded_release(earlier_embedded: WorkerBroker) -> None:
    check_smoke(earlier_embedded)


@pytest.mark.real_kafka
@pytest.mark.slow
def test_a_worker_on_an_earlier_kafka(earlier_kafka: WorkerBroker) -> None:
    check_smoke(earlier_kafka)


def check_smoke(broker: WorkerBroker) -> None:
    """Good records have their results, bad ones become dead letters, and locks are renewed while a retry waits."""
    scene, calls = WorkerScene(broker, {"share.record.lock.duration.ms": str(1000 * broker.lock_s)}), Calls()
    worker, longer_s = scene.worker(environment=broker.environment), 1.25 * broker.lock_s

    retries, results = Backoff(first=longer_s, most=longer_s, times=1), broker.new_topic().name

    @worker.handler(scene.name, dead_letters=scene.dead, retries=retries, output=results)
    def handle(value: bytes) -> bytes:
        number = calls.add(value)
        if value == b"rejected":
            raise Reject("negative total")
        if value == b"flaky" and number == 1:
            raise ValueError("not yet")
        if value == b"bad":
            raise ValueError("no such product")
        return value

    good = [b"%d" % n for n in range(50)]
    scene.send(b"flaky", b"rejected", b"bad", *good)
    with worker:
        calls.wait_for(3 + len(good))
        scene.outlast_locks(worker, lambda: len(calls.all) == 5 + len(good))
        scene.wait_until_done()
        wait_until(lambda: worker.health().is_ready, 30, worker.health)
    assert calls.counts == {b"flaky": 2, b"rejected": 1, b"bad": 2, **dict.fromkeys(good, 1)}
    assert calls.delivery_counts == {1}
    letters = {letter.value: letter.reason for letter in scene.letters()}
    assert letters == {b"rejected": "negative total", b"bad": "ValueError: no such product"}
    assert sorted(message.value() or b"" for message in broker.messages(results)) == sorted([b"flaky", *good])


@pytest.mark.slow
def test_retry_topics_and_outputs_on_an_earlier_embedded_release(earlier_embedded: WorkerBroker) -> None:
    check_written_records(earlier_embedded)


@pytest.mark.real_kafka
@pytest.mark.slow
def test_retry_topics_and_outputs_on_an_earlier_kafka(earlier_kafka: WorkerBroker) -> None:
    check_written_records(earlier_kafka)


def check_written_records(broker: WorkerBroker) -> None:
    """A worker sets the start of its groups, creates topics, and its records become outputs or dead letters there."""
    scene, seen = WorkerScene(broker), list[tuple[bytes, int, int]]()
    scene.group_id = broker.fresh_group()
    broker.alter_group(f"{scene.group_id}-retry", {"share.heartbeat.interval.ms": "500"})
    out, dead = f"{scene.name}.out", f"{scene.name}.dead"
    worker = scene.worker(start="earliest")
    topics = RetryTopics(f"{scene.name}.retry", delays=(1, 2))

    @worker.handler(
        scene.name, output=out, retry_topics=topics, dead_letters=dead, retries=Backoff(first=1, most=1, times=1)
    )
    def handle(value: bytes) -> bytes:
        attempt = current_attempt()
        seen.append((value, attempt.number, attempt.origin.offset))
        if value == b"bad" or attempt.number == 1:
            raise Retry("later", after=2.5)
        return value.upper()

    assert list(worker.create_topics()) == sorted([out, dead, *topics.names])
    scene.send(b"good", b"bad")
    with worker:
        wait_until(lambda: broker.messages(out) and broker.letters(dead), 60, lambda: seen)
        scene.wait_until_done()
    assert sorted(seen) == [(b"bad", 1, 1), (b"bad", 2, 1), (b"good", 1, 0), (b"good", 2, 0)]
    assert [message.value() for message in broker.messages(out)] == [b"GOOD"]
    assert [(letter.place, letter.headers["topic"]) for letter in broker.letters(dead)] == [((0, 1), scene.name)]
