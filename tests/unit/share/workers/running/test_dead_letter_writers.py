"""Writing dead letters: each record once in a process, also if it comes again while its copy is being written."""

import asyncio
from collections.abc import Sequence

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.running.dead_letter_writers import (
    HandlerDeadLetterWriter,
    PendingDeadLetter,
    WritePending,
)
from kafka_groups.types import Header
from tests.unit.share.deliveries import acquired, batch, decoded

Written = tuple[bytes | None, dict[str, bytes | None]]


class RecordingProducer:
    """Takes letters; fails while `is_down`."""

    def __init__(self) -> None:
        self.written: list[Written] = []
        self.is_down = False

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        """Queue a record."""
        self.written.append((value, dict(headers)))

    def flush(self, timeout_s: float) -> None:
        """Wait until all records are written."""
        if self.is_down:
            raise DeliveryFailedError("down", failed=0, unanswered=1)


class Gate:
    """Lets a writer wait, as a thread does, until it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    async def __call__(self, write: WritePending, letters: Sequence[PendingDeadLetter]) -> Exception | None:
        """Write when the gate is open."""
        await self.opened.wait()
        return write(letters)


def delivered(delivery_count: int) -> AnyRecord:
    """The record at offset 4."""
    (delivery,) = decoded(Decoder(), acquired((4, 4, delivery_count)), batch(4, 4))
    assert isinstance(delivery, DeliveredRecords)
    (record,) = delivery
    return record


async def written_twice(producer: RecordingProducer) -> list[Exception | None]:
    """Write a record, and once more with its next delivery, before the first copy is written."""
    gate = Gate()
    writer = HandlerDeadLetterWriter("dead", "g", {}, producer, gate)
    writes = [asyncio.create_task(writer.write([PendingDeadLetter(delivered(count), "bad")])) for count in (1, 2)]
    await asyncio.sleep(0)
    gate.opened.set()
    return await asyncio.gather(*writes)


def test_a_record_that_comes_again_while_its_copy_is_written_is_not_copied_twice() -> None:
    producer = RecordingProducer()
    assert asyncio.run(written_twice(producer)) == [None, None]
    assert len(producer.written) == 1


def test_a_copy_that_was_not_confirmed_is_repeated_and_says_so() -> None:
    producer = RecordingProducer()
    producer.is_down = True
    errors = asyncio.run(written_twice(producer))
    assert [type(error) for error in errors] == [DeliveryFailedError, DeliveryFailedError]
    assert ["__dlq.errors.possible.duplicate" in headers for _, headers in producer.written] == [False, True]
