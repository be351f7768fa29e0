"""Results of handlers in their topics: once for each record, in the order of keys, and after kills."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from kafka_groups import Batch, Output, ProducerRecord, ShareRecord, serdes
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_programs import Start
from tests.support.workers.worker_scenes import Calls, WorkerScene

pytestmark = pytest.mark.slow

KILLS = 6
RECORDS = 600

WRITER = """
import os
import threading
from kafka_groups import Output, ShareRecord, Worker, serdes

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"], fetch_max_wait_ms=50)
invoices = Output(os.environ["INVOICES"], value=serdes.string, origin_headers=True)
pause = threading.Event().wait

@worker.handler(os.environ["TOPIC"], value=serdes.string, output=invoices, concurrency=4, buffer=20)
def invoice(value: str, record: ShareRecord[bytes, str]) -> str:
    pause(0.02)
    return f"{value} {record.delivery_count}"

worker.run()
"""


def texts(scene: WorkerScene, topic: str) -> list[str]:
    """The values in a topic, in order."""
    return [(message.value() or b"").decode() for message in scene.broker.messages(topic)]


def test_each_result_is_written_once_with_the_key_of_its_record(broker: WorkerBroker) -> None:
    scene = WorkerScene(broker, partitions=3)
    invoices = broker.new_topic().name
    worker = scene.worker()

    @worker.handler(scene.name, value=serdes.string, output=Output(invoices, value=serdes.string))
    def handle(value: str) -> list[str | ProducerRecord[bytes, str]] | None:
        if value.endswith("7"):
            return None
        return [value, ProducerRecord(value, key=None, headers=[("second", b"x")])]

    sent = [f"{partition}-{n}" for partition in range(3) for n in range(100)]
    for partition in range(3):
        own = [text for text in sent if text.startswith(f"{partition}-")]
        scene.send(*(NewRecord(text.encode(), text.encode()) for text in own), partition=partition)
    with worker:
        scene.wait_until_done()
    written = [(message.key(), (message.value() or b"").decode()) for message in broker.messages(invoices)]
    wanted = [text for text in sent if not text.endswith("7")]
    assert Counter(written) == Counter([(text.encode(), text) for text in wanted] + [(None, text) for text in wanted])


async def test_results_of_asynchronous_generators(scene: WorkerScene) -> None:
    invoices, worker = scene.broker.new_topic().name, scene.worker()

    @worker.handler(scene.name, output=invoices)
    async def handle(value: bytes) -> AsyncIterator[bytes]:
        yield value
        yield value + b" again"

    scene.send(*(b"%d" % n for n in range(20)))
    async with worker:
        await asyncio.to_thread(scene.wait_until_done)
    assert Counter(texts(scene, invoices)) == Counter([*map(str, range(20)), *(f"{n} again" for n in range(20))])


def test_results_of_a_key_have_the_order_of_its_records(scene: WorkerScene) -> None:
    invoices, worker = scene.broker.new_topic().name, scene.worker()

    @worker.handler(scene.name, output=invoices, order_by="key", concurrency=16)
    def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> bytes:
        return b"%s %s" % (record.raw_key, value)

    scene.send(*(NewRecord(b"%d" % n, b"key %d" % (n % 7)) for n in range(210)))
    with worker:
        scene.wait_until_done()
    by_key: dict[str, list[int]] = {}
    for text in texts(scene, invoices):
        key, _, number = text.rpartition(" ")
        by_key.setdefault(key, []).append(int(number))
    assert by_key == {f"key {key}": list(range(key, 210, 7)) for key in range(7)}


def test_a_result_that_the_topic_refuses_is_a_failure_of_its_record_alone(scene: WorkerScene) -> None:
    invoices = scene.broker.new_topic(configs={"max.message.bytes": "2000"}).name
    worker, calls = scene.worker(), Calls()

    @worker.batch_handler(scene.name, output=invoices, dead_letters=scene.dead, max_wait=0.05)
    def handle(batch: Batch[bytes]) -> None:
        for index, value in enumerate(batch):
            calls.add(value)
            batch.output(index, value, 5_000 * b"x" if value == b"large" else None)

    scene.send(b"1", b"large", b"2")
    with worker:
        scene.wait_until_done()
    (letter,) = scene.letters()
    assert letter.value == b"large"
    assert letter.reason.startswith(f"the brokers refuse an output for {invoices}: MessageTooLargeError")
    assert calls.counts == {b"1": 1, b"large": 1, b"2": 1}
    assert {text for text in texts(scene, invoices) if text != "large"} == {"1", "2"}


def test_results_wait_while_their_topic_is_gone(scene: WorkerScene) -> None:
    topic = scene.broker.new_topic()
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, output=topic.name)
    def handle(value: bytes) -> bytes:
        calls.add(value)
        return value

    scene.send(b"before")
    with worker:
        scene.wait_until_done()
        scene.broker.delete_topic(topic)
        scene.send(b"during")
        wait_until(lambda: f"cannot write to {topic.name}" in "; ".join(worker.health().reasons), 60, worker.health)
        assert not worker.health().is_ready
        scene.broker.new_topic(name=topic.name)
        scene.wait_until_done()
        wait_until(lambda: worker.health().is_ready, 60, worker.health)
    assert texts(scene, topic.name) == ["during"]
    assert calls.counts == {b"before": 1, b"during": 1}


# ------------------------------------------------------------------------------------------- kills


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The file of the worker that is killed."""
    path = tmp_path / "writer.py"
    path.write_text(WRITER, encoding="utf-8")
    return path


def test_a_kill_costs_one_duplicate_at_most_for_each_record_in_hand(
    broker: WorkerBroker, start: Start, program: Path
) -> None:
    scene = WorkerScene(broker, {"share.session.timeout.ms": "2000", "share.record.lock.duration.ms": "15000"})
    invoices = broker.new_topic().name
    of_each = RECORDS // KILLS
    for kill in range(KILLS):
        # Each worker has new records, also if the one before was killed late, when it had done all of its own.
        scene.send(*(b"%d" % n for n in range(kill * of_each, (kill + 1) * of_each)))
        goal = len(texts(scene, invoices)) + of_each // 2
        worker = start(scene, command=(str(program),), environment={"INVOICES": invoices})
        wait_until(lambda goal=goal: len(texts(scene, invoices)) >= goal, 60, lambda worker=worker: worker.log)  # type: ignore[misc]
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.ended()
    start(scene, command=(str(program),), environment={"INVOICES": invoices})
    scene.wait_until_done()
    counts = Counter(texts(scene, invoices))
    assert {text.split()[0] for text in counts} == {str(n) for n in range(RECORDS)}
    # The result names the delivery, and a delivery is in hand once: so no delivery has written twice.
    assert max(counts.values()) == 1
    assert _origins(scene, invoices) == {str(n): n for n in range(RECORDS)}


def _origins(scene: WorkerScene, topic: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for message in scene.broker.messages(topic):
        headers: Sequence[tuple[str, bytes]] = message.headers()  # type: ignore[assignment]
        found[(message.value() or b"").decode().split()[0]] = int(dict(headers)["__origin.offset"])
    return found
