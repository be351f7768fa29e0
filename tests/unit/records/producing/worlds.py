"""Worlds of producers in which each batch is sent as its test wants."""

from collections.abc import Sequence
from typing import Any

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.record_batch import BatchHeader, iter_batches
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from tests.support.producing.producer_world import TOPIC, ProducerWorld

SMALL = AccumulatorSettings(batch_bytes=100, linger_ms=5)
"""One record in each batch."""


def values(count: int, start: int = 0) -> list[bytes]:
    return [b"value %03d" % number + b"." * 40 for number in range(start, start + count)]


def ready(settings: AccumulatorSettings = SMALL, **options: Any) -> ProducerWorld:
    """A world whose producer has an id, and has written a record to each partition."""
    world = ProducerWorld(settings=settings, **options)
    for partition in range(len(world.logs)):
        world.write(partition, [b"first"])
    world.settle()
    world.messages.clear()
    return world


def lingered(world: ProducerWorld) -> None:
    """Let the open batches be complete, and sent."""
    world.turn()
    world.pass_time(5)


def headers(world: ProducerWorld) -> list[list[tuple[int, BatchHeader]]]:
    """For each request the partitions and the headers of their batches."""
    return [
        [
            (data.index, next(iter_batches(data.records)).header)
            for topic in message.topic_data
            for data in topic.partition_data
        ]
        for message in world.messages
    ]


def numbers(world: ProducerWorld, partition: int = 0) -> list[int]:
    """The first number of each batch of a partition that was sent."""
    return [header.base_sequence for batches in headers(world) for index, header in batches if index == partition]


def check(world: ProducerWorld) -> None:
    """Flush, and look whether each record was written once and in order, or refused."""
    world.settle_once()
    world.settle()
    world.check()


def tracked(world: ProducerWorld, partition: int, given: Sequence[bytes]) -> None:
    for value in given:
        world.accumulator.write_tracked(TOPIC, b"k", value, 0, (), partition)


def refused(world: ProducerWorld) -> list[tuple[bytes | None, KafkaGroupsError]]:
    return [(record.value, record.error) for record in world.produce.refusals.take_records()]
