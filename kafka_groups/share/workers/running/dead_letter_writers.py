"""Write dead letters for a handler, in a thread, so that the driver's loop is not blocked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.dead_letter_producers import DeadLetterProducer, dead_letter_producer, write_copies
from kafka_groups.share.workers.rules.dead_letter_headers import CopiedRecords, dead_letter_headers, record_id
from kafka_groups.types import Header, RecordId

__all__ = ["DeadLetterWriting", "HandlerDeadLetterWriter", "PendingDeadLetter"]

_POSSIBLE_DUPLICATE = "__dlq.errors.possible.duplicate"


@frozen
class PendingDeadLetter:
    """A record to copy.

    Attributes:
        record: The record.
        reason: Why, for the header `__dlq.errors.message`.
        is_repeated: Whether an earlier copy was not confirmed, so that this may be a second one.
    """

    record: AnyRecord
    reason: str
    is_repeated: bool = False


WritePending = Callable[[Sequence[PendingDeadLetter]], Exception | None]
InThread = Callable[[WritePending, Sequence[PendingDeadLetter]], Awaitable[Exception | None]]


class DeadLetterWriting(Protocol):
    """Writes dead letters; `HandlerDeadLetterWriter` does it with a producer."""

    async def write(self, letters: Sequence[PendingDeadLetter]) -> Exception | None:
        """Write letters and wait until they are durable. Returns the error if some were not confirmed."""
        ...


class HandlerDeadLetterWriter:
    """Copies records to a dead-letter topic. A process writes each record once.

    Args:
        topic: The topic.
        group_id: The share group.
        config: Keys of the consumer, for a producer to the same cluster.
        producer: Another place to write to, for tests.
        in_thread: Runs the function that blocks, with its argument; simulations have no threads.
    """

    def __init__(
        self,
        topic: str,
        group_id: str,
        config: Mapping[str, object],
        producer: DeadLetterProducer | None = None,
        in_thread: InThread = asyncio.to_thread,
    ) -> None:
        self._topic = topic
        self._group_id = group_id
        self._producer: DeadLetterProducer = producer or dead_letter_producer(config)
        self._in_thread = in_thread
        self._copied = CopiedRecords()
        self._under_way: dict[RecordId, asyncio.Event] = {}

    def __repr__(self) -> str:
        return f"<LetterWriter to {self._topic}>"

    async def write(self, letters: Sequence[PendingDeadLetter]) -> Exception | None:
        """Write letters and wait until they are durable. Returns the error if some were not confirmed."""
        await self._earlier_ended(letters)
        # A record that comes again after its copy was confirmed is not copied a second time by this process.
        new = {place: letter for letter in letters if (place := record_id(letter.record)) not in self._copied}
        if not new:
            return None
        ended = asyncio.Event()
        self._under_way |= dict.fromkeys(new, ended)
        try:
            error = await self._in_thread(self._write, tuple(new.values()))
        finally:
            for place in new:
                del self._under_way[place]
            ended.set()
        if error is None:
            self._copied.add(new)
        return error

    async def _earlier_ended(self, letters: Sequence[PendingDeadLetter]) -> None:
        """Wait for copies of the same records that are under way: their locks were lost, and they were redelivered."""
        places = [record_id(letter.record) for letter in letters]
        # If both wrote at the same time, there would be two copies, although the result of the first is known soon.
        while (
            ended := next((self._under_way[place] for place in places if place in self._under_way), None)
        ) is not None:
            await ended.wait()

    def _write(self, letters: Sequence[PendingDeadLetter]) -> Exception | None:
        try:
            write_copies(self._producer, self._topic, ((letter.record, self._headers(letter)) for letter in letters))
        except DeliveryFailedError as error:
            return error
        return None

    def _headers(self, letter: PendingDeadLetter) -> list[Header]:
        headers = dead_letter_headers(letter.record, self._group_id, letter.reason)
        if letter.is_repeated or letter.record.delivery_count > 1:  # another process may have copied it
            headers.append((_POSSIBLE_DUPLICATE, b"true"))
        return headers
