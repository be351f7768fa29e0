"""A Java consumer reads what handlers have returned, and finds keys where Java's producer would have put them."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from kafka_groups import Output, ProducerRecord, serdes
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.kafka.java_program import java_command
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_scenes import WorkerScene

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]

PARTITIONS = 7
READING_S = 120


@frozen
class ReadRecord:
    """A record as Java has read it, and the partition that its producer would choose; None for a null key."""

    partition: int
    chosen: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def in_java(broker: WorkerBroker, topic: str, directory: Path) -> list[ReadRecord]:
    """Read a topic with Java's consumer."""
    command = java_command("OutputReader", directory, kafka_classpath(libs_or_skip()))
    arguments = [broker.servers, topic, str(PARTITIONS)]
    done = subprocess.run([*command, *arguments], capture_output=True, check=True, timeout=READING_S, text=True)
    return [_read(line.split(" ")) for line in done.stdout.splitlines()]


def _read(words: list[str]) -> ReadRecord:
    partition, chosen, key, value, headers = words
    pairs = (pair.split("=") for pair in headers.split(",") if pair)
    return ReadRecord(
        int(partition),
        None if chosen == "-" else int(chosen),
        _bytes(key),
        _bytes(value),
        tuple((name, _bytes(data)) for name, data in pairs),
    )


def _bytes(word: str) -> bytes | None:
    return None if word == "-" else bytes.fromhex(word[1:])


def test_keys_are_in_the_partitions_of_javas_partitioner(broker: WorkerBroker, tmp_path: Path) -> None:
    scene = WorkerScene(broker)
    invoices = broker.new_topic(PARTITIONS).name
    worker = scene.worker()
    output = Output(invoices, value=serdes.string, key=serdes.int64, origin_headers=True)

    @worker.handler(scene.name, value=serdes.string, output=output)
    def handle(value: str) -> Iterator[str | ProducerRecord[int, str | None]]:
        yield value
        yield ProducerRecord(value, key=int(value), headers=[("number", value.encode()), ("none", None)])
        yield ProducerRecord(None)
        yield ProducerRecord(value, key=None)

    keys = [b"", b"a", b"key", "Schlüssel".encode(), *(b"key %d" % n for n in range(100))]
    scene.send(*(NewRecord(b"%d" % n, key) for n, key in enumerate(keys)))
    with worker:
        scene.wait_until_done()
    found = in_java(broker, invoices, tmp_path)
    assert len(found) == 4 * len(keys)
    assert [record for record in found if record.chosen is not None and record.partition != record.chosen] == []
    assert {record.partition for record in found if record.chosen is not None} == set(range(PARTITIONS))
    wanted: Counter[tuple[bytes | None, bytes | None]] = Counter()
    for n, key in enumerate(keys):
        value = b"%d" % n
        wanted.update([(key, value), (n.to_bytes(8, "big"), value), (key, None), (None, value)])
    assert Counter((record.key, record.value) for record in found) == wanted
    (with_own,) = (record for record in found if record.headers[0] == ("number", b"5"))
    origin = [("__origin.topic", scene.name.encode()), ("__origin.partition", b"0"), ("__origin.offset", b"5")]
    assert with_own.headers == (("number", b"5"), ("none", None), *origin)
