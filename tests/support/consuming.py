"""What applications do with a share consumer, in the forms that the conformance tests need."""

import asyncio
from collections.abc import Callable, Sequence

from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.records import ShareRecord
from kafka_groups.types import AcknowledgeType

PATIENCE_S = 20.0


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


async def consume(consumer: AsyncKafkaShareConsumer, count: int) -> list[ShareRecord]:
    """Poll until so many records have come; implicit mode, or all at once.

    Raises:
        AssertionError: Fewer came, or more.
    """
    records: list[ShareRecord] = []
    time = Countdown()
    while len(records) < count and time.left_s:
        records += await consumer.poll(timeout=time.left_s)
    assert len(records) == count, f"{len(records)} of {count} records came: {records}"
    return records


async def consume_as(
    consumer: AsyncKafkaShareConsumer, count: int, decide: AcknowledgeType | Callable[[ShareRecord], AcknowledgeType]
) -> list[ShareRecord]:
    """Like `consume` in explicit mode: every record is acknowledged as it is decided, and committed.

    Raises:
        AssertionError: Fewer came, or more, or an acknowledgement was refused.
    """
    records: list[ShareRecord] = []
    time = Countdown()
    while len(records) < count and time.left_s:
        for record in await consumer.poll(timeout=time.left_s):
            consumer.acknowledge(record, decide if isinstance(decide, AcknowledgeType) else decide(record))
            records.append(record)
        assert set((await consumer.commit_sync()).values()) <= {None}
    assert len(records) == count, f"{len(records)} of {count} records came: {records}"
    return records


async def consume_together(consumers: Sequence[AsyncKafkaShareConsumer], count: int) -> list[ShareRecord]:
    """Have several consumers poll at the same time until they have so many records in all; implicit mode.

    Raises:
        AssertionError: Fewer came, or more.
    """
    records: list[ShareRecord] = []
    time = Countdown()

    async def poll_on(consumer: AsyncKafkaShareConsumer) -> None:
        while len(records) < count and time.left_s:
            records.extend(await consumer.poll(timeout=0.1))

    await asyncio.gather(*map(poll_on, consumers))
    assert len(records) == count, f"{len(records)} of {count} records came"
    return records


def offsets(records: Sequence[ShareRecord]) -> list[int]:
    """The offsets of records of one partition, in order."""
    return sorted(record.offset for record in records)


def delivery_counts(records: Sequence[ShareRecord]) -> set[int]:
    """The delivery counts that occur."""
    return {record.delivery_count for record in records}
