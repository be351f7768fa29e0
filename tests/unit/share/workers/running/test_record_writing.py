"""Writing records with a producer, whose confirmations are waited for elsewhere."""

import asyncio
from collections.abc import Sequence

from kafka_groups.errors import DeliveryFailedError, KafkaGroupsError
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome
from kafka_groups.share.workers.running.record_writing import ProducerWriting, WritePending
from kafka_groups.types import Header


class RecordingProducer:
    """Takes records; fails while `is_down`."""

    def __init__(self) -> None:
        self.written: list[bytes | None] = []
        self.is_down = False

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        """Queue a record."""
        self.written.append(value)

    def flush(self, timeout_s: float) -> None:
        """Wait until all records are written."""
        if self.is_down:
            raise DeliveryFailedError("down", failed=0, unanswered=1)


async def here(write: WritePending, records: Sequence[RecordToWrite]) -> KafkaGroupsError | None:
    """Write without a thread."""
    return write(records)


async def written(producer: RecordingProducer, *values: bytes, withdraws: object = None) -> list[WriteOutcome]:
    """Write values, each its own token, and return what came of them."""
    outcomes: list[WriteOutcome] = []
    room = ProducerWriting({}, producer, here).room("orders", outcomes.extend, lambda topic, error: None)
    for value in values:
        room.write([RecordToWrite("dead", None, value)], value)
    assert room.withdraw(withdraws) == (withdraws is not None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return outcomes


def test_what_is_written_in_one_turn_has_one_result() -> None:
    producer = RecordingProducer()
    (outcome,) = asyncio.run(written(producer, b"1", b"2"))
    assert (list(outcome.tokens), outcome.error, producer.written) == ([b"1", b"2"], None, [b"1", b"2"])


def test_an_error_is_that_of_all_and_they_may_be_written() -> None:
    producer = RecordingProducer()
    producer.is_down = True
    (outcome,) = asyncio.run(written(producer, b"1"))
    assert isinstance(outcome.error, DeliveryFailedError)
    assert outcome.may_be_written


def test_what_is_withdrawn_before_it_was_sent_is_not_written() -> None:
    producer = RecordingProducer()
    (outcome,) = asyncio.run(written(producer, b"1", b"2", withdraws=b"1"))
    assert (list(outcome.tokens), producer.written) == ([b"2"], [b"2"])
