"""Writing dead letters: each record once in a process, also if it comes again while its copy is being written."""

import asyncio
from collections.abc import Sequence

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.running.letters import LetterCopy, LetterWriter, WriteLetters
from kafka_groups.types import Header
from tests.unit.share.deliveries import acquired, batch, decoded

Written = tuple[bytes | None, dict[str, bytes | None]]


class Box:
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

    async def __call__(self, write: WriteLetters, letters: Sequence[LetterCopy]) -> Exception | None:
        """Write when the gate is open."""
        await self.opened.wait()
        return write(letters)


def delivered(delivery_count: int) -> AnyRecord:
    """The record at offset 4."""
    (delivery,) = decoded(Decoder(), acquired((4, 4, delivery_count)), batch(4, 4))
    assert isinstance(delivery, DeliveredRecords)
    (record,) = delivery
    return record


async def written_twice(box: Box) -> list[Exception | None]:
    """Write a record, and once more with its next delivery, before the first copy is written."""
    gate = Gate()
    writer = LetterWriter("dead", "g", {}, box, gate)
    writes = [asyncio.create_task(writer.write([LetterCopy(delivered(count), "bad")])) for count in (1, 2)]
    await asyncio.sleep(0)
    gate.opened.set()
    return await asyncio.gather(*writes)


def test_a_record_that_comes_again_while_its_copy_is_written_is_not_copied_twice() -> None:
    box = Box()
    assert asyncio.run(written_twice(box)) == [None, None]
    assert len(box.written) == 1


def test_a_copy_that_was_not_confirmed_is_repeated_and_says_so() -> None:
    box = Box()
    box.is_down = True
    errors = asyncio.run(written_twice(box))
    assert [type(error) for error in errors] == [DeliveryFailedError, DeliveryFailedError]
    assert ["__dlq.errors.possible.duplicate" in headers for _, headers in box.written] == [False, True]
