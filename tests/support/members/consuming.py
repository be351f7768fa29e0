"""What applications do with a share consumer, in the forms that the conformance tests need."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.records import ShareRecord
from kafka_groups.types import AcknowledgeType

PATIENCE_S = 20.0

Record = ShareRecord[Any, Any]


class Countdown:
    """What is left of the time that something may take.

    Args:
        seconds: All of it.
    """

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds

    @property
    def left_s(self) -> float:
        """Seconds, 0 when the time is over."""
        return max(0.0, self._end - self._loop.time())


def values(count: int, prefix: str = "value") -> list[bytes]:
    """So many values that sort in their order."""
    return [f"{prefix}-{i:04}".encode() for i in range(count)]


async def consume(consumer: AsyncKafkaShareConsumer[Any, Any], count: int) -> list[Record]:
    """Poll until so many records have come; implicit mode, or all at once.

    Raises:
        AssertionError: Fewer came, or more.
    """
    records: list[Record] = []
    time = Countdown()
    while len(records) < count and time.left_s:
        records += await consumer.poll(timeout=time.left_s)
    assert len(records) == count, f"{len(records)} of {count} records came: {records}, {consumer.metrics()}"
    return records


async def consume_as(
    consumer: AsyncKafkaShareConsumer[Any, Any],
    count: int,
    decide: AcknowledgeType | Callable[[Record], AcknowledgeType],
) -> list[Record]:
    """Like `consume` in explicit mode: every record is acknowledged as it is decided, and committed.

    Raises:
        AssertionError: Fewer came, or more, or an acknowledgement was refused.
    """
    records: list[Record] = []
    time = Countdown()
    while len(records) < count and time.left_s:
        for record in await consumer.poll(timeout=time.left_s):
            consumer.acknowledge(record, decide if isinstance(decide, AcknowledgeType) else decide(record))
            records.append(record)
        assert set((await consumer.commit_sync()).values()) <= {None}
    assert len(records) == count, f"{len(records)} of {count} records came: {records}"
    return records


async def consume_together(consumers: Sequence[AsyncKafkaShareConsumer[Any, Any]], count: int) -> list[Record]:
    """Have several consumers poll at the same time until they have so many records in all; implicit mode.

    Raises:
        AssertionError: Fewer came, or more.
    """
    records: list[Record] = []
    time = Countdown()

    async def poll_on(consumer: AsyncKafkaShareConsumer[Any, Any]) -> None:
        while len(records) < count and time.left_s:
            records.extend(await consumer.poll(timeout=0.1))

    await asyncio.gather(*map(poll_on, consumers))
    assert len(records) == count, f"{len(records)} of {count} records came"
    return records


def values_of(records: Iterable[Record]) -> list[Any]:
    """The values, in the order of the records."""
    return [record.value for record in records]


def offsets(records: Sequence[Record]) -> list[int]:
    """The offsets of records of one partition, in order."""
    return sorted(record.offset for record in records)


def delivery_counts(records: Sequence[Record]) -> set[int]:
    """The delivery counts that occur."""
    return {record.delivery_count for record in records}
