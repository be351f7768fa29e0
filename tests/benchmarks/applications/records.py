"""Records for the applications: keys in turn, and times that go on evenly from an hour ago."""

import time

from confluent_kafka import Producer

from tests.benchmarks.applications.works import FEW
from tests.benchmarks.topics import new_topic

__all__ = ["PARTITIONS", "count_of", "fill", "filled_topic"]

PARTITIONS = 4
_FEW = 1_000

_RECORDS_PER_MS = 10
_BEGINS_BEFORE_MS = 3_600_000
_SERVE_EVERY = 1_000
_SPREAD = 7_919
"""A prime number: neighbours have keys that are far apart."""


def count_of(keys: str, records: int) -> int:
    """Return how many keys so many records have."""
    return _FEW if keys == FEW else records


def filled_topic(
    servers: str, records: int, keys: int, value_bytes: int, partitions: int = PARTITIONS, compression: str = "none"
) -> str:
    """Write records to a new topic, whose name it returns. Their keys are spread over the partitions."""
    topic = new_topic(servers, partitions)
    fill(servers, topic, records, keys, value_bytes, compression)
    return topic


def fill(servers: str, topic: str, records: int, keys: int, value_bytes: int, compression: str = "none") -> None:
    """Write records to a topic."""
    producer = Producer({
        "bootstrap.servers": servers,
        "partitioner": "murmur2_random",
        "linger.ms": 50,
        "compression.type": compression,
        "queue.buffering.max.messages": 1_000_000,
    })  # fmt: skip
    began_ms, value = round(time.time() * 1000) - _BEGINS_BEFORE_MS, b"v" * value_bytes
    for number in range(records):
        key = b"key-%d" % (number * _SPREAD % keys)
        _produce(producer, topic, key, value, began_ms + number // _RECORDS_PER_MS)
        if number % _SERVE_EVERY == 0:
            producer.poll(0)
    assert producer.flush(120.0) == 0, "not all records were written"


def _produce(producer: Producer, topic: str, key: bytes, value: bytes, timestamp_ms: int) -> None:
    while True:
        try:
            producer.produce(topic, value, key, timestamp=timestamp_ms)
        except BufferError:
            producer.poll(0.1)
        else:
            return
