"""Workers in groups whose dead letters the brokers write (KIP-1191)."""

import logging
from collections.abc import Callable

import pytest

from kafka_groups import Backoff, Reject, RetryTopics
from kafka_groups.errors import ConfigurationError
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.workers.worker_scenes import Calls, WorkerScene

pytestmark = pytest.mark.slow

QUEUE = "errors.deadletterqueue.topic.name"
COPIES = "errors.deadletterqueue.copy.record.enable"
ENABLED = {"errors.deadletterqueue.group.enable": "true"}


@pytest.fixture
def queue_scene(scene: WorkerScene) -> WorkerScene:
    """A group with a queue to which the brokers copy records."""
    queue = scene.broker.new_topic(name=unique("dlq."), configs=ENABLED)
    scene.dead = queue.name
    scene.broker.alter_group(scene.group_id, {QUEUE: queue.name, COPIES: "true"})
    return scene


def test_the_brokers_copy_what_a_worker_rejects(queue_scene: WorkerScene) -> None:
    scene, calls = queue_scene, Calls()
    worker = scene.worker()

    @worker.handler(scene.name, retries=Backoff(first=0.01, most=0.01, times=1))
    def handle(value: bytes) -> None:
        calls.add(value)
        if value == b"rejected":
            raise Reject("negative total")
        if value == b"bad":
            raise ValueError("no such product")

    first = scene.send(b"rejected", b"bad", b"good")
    with worker:
        scene.wait_until_done()
    assert calls.counts == {b"rejected": 1, b"bad": 2, b"good": 1}
    wait_until(lambda: len(scene.letters()) == 2, 30, scene.letters)
    letters = scene.letters()
    assert {letter.place: letter.value for letter in letters} == {(0, first): b"rejected", (0, first + 1): b"bad"}
    assert {letter.headers["group"] for letter in letters} == {scene.group_id}


def test_a_record_that_is_released_at_the_limit_by_a_stop_has_a_letter(queue_scene: WorkerScene) -> None:
    scene = queue_scene
    scene.broker.alter_group(scene.group_id, {"share.delivery.count.limit": "2"})
    scene.send(b"waits")
    for number in (1, 2):
        calls, worker = Calls(), scene.worker()
        worker.handler(scene.name, retries=Backoff(first=60, most=60, times=9))(failing(calls))
        with worker:
            calls.wait_for(1)
            wait_until(lambda worker=worker: worker.health(), 30)  # type: ignore[misc]
        assert calls.delivery_counts == {number}
    wait_until(lambda: len(scene.letters()) == 1, 30, scene.letters)
    [letter] = scene.letters()
    assert (letter.value, letter.headers["delivery.count"]) == (b"waits", "2")
    assert letter.headers["message"] == "Offset delivery count exceeded the threshold."
    scene.wait_until_done()


def failing(calls: Calls) -> Callable[[bytes], None]:
    def handle(value: bytes) -> None:
        calls.add(value)
        raise ValueError("not yet")

    return handle


def test_a_handler_with_dead_letters_of_its_own_is_refused(queue_scene: WorkerScene) -> None:
    worker = queue_scene.worker()
    worker.handler(queue_scene.name, dead_letters=queue_scene.broker.new_topic().name)(print)
    with pytest.raises(ConfigurationError, match="each record would be copied twice"), worker:
        pytest.fail("it has started")


def test_a_handler_with_retry_topics_is_refused(queue_scene: WorkerScene) -> None:
    scene, worker = queue_scene, queue_scene.worker()
    topics = RetryTopics(f"{scene.name}.retry", delays=(1,))
    worker.handler(scene.name, retry_topics=topics, dead_letters=scene.broker.new_topic().name)(print)
    with pytest.raises(ConfigurationError, match="these copies would not name the topics"), worker:
        pytest.fail("it has started")


def test_a_queue_that_is_not_enabled_is_refused(scene: WorkerScene) -> None:
    queue = scene.broker.new_topic(name=unique("dlq."))
    scene.broker.alter_group(scene.group_id, {QUEUE: queue.name})
    worker = scene.worker()
    worker.handler(scene.name)(print)
    with (
        pytest.raises(ConfigurationError, match=r"Set errors\.deadletterqueue\.group\.enable=true on the topic"),
        worker,
    ):
        pytest.fail("it has started")


def test_a_queue_without_keys_and_values_is_a_warning(
    queue_scene: WorkerScene, caplog: pytest.LogCaptureFixture
) -> None:
    scene, calls = queue_scene, Calls()
    scene.broker.alter_group(scene.group_id, {COPIES: "false"})
    worker = scene.worker()

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        calls.add(value)
        raise Reject("negative total")

    scene.send(b"rejected")
    with caplog.at_level(logging.WARNING, "kafka_groups"), worker:
        scene.wait_until_done()
    assert COPIES in caplog.text
    wait_until(lambda: len(scene.letters()) == 1, 30, scene.letters)
    assert scene.letters()[0].value is None
