"""Write records for handlers, and report each result on the loop of the driver."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome
from kafka_groups.share.workers.dead_letter_producers import DeadLetterProducer, dead_letter_producer

__all__ = ["HandlerRoom", "HeldUp", "ProcessWriter", "ProducerWriting", "Took", "WritePending"]

_FLUSH_SECONDS = 30.0

Took = Callable[[Sequence[WriteOutcome]], None]
HeldUp = Callable[[str, Exception | None], None]
WritePending = Callable[[Sequence[RecordToWrite]], KafkaGroupsError | None]
InThread = Callable[[WritePending, Sequence[RecordToWrite]], Awaitable[KafkaGroupsError | None]]


class HandlerRoom(Protocol):
    """Writes the records of one handler."""

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records, and report their one result later. Never blocks."""
        ...

    def withdraw(self, token: object) -> bool:
        """Return True if nothing of these records was sent, and nothing will be. Otherwise their result comes."""
        ...


class ProcessWriter(Protocol):
    """Writes the records of handlers, each of which has a room of its own."""

    def room(self, owner: str, took: Took, held: HeldUp) -> HandlerRoom:
        """Return the room of a handler.

        Args:
            owner: The name of the handler.
            took: Called with results.
            held: Called with a topic that takes no records for now, and why; with None when it does again.
        """
        ...


class ProducerWriting:
    """Writes with a producer, whose confirmations are waited for in a thread.

    Args:
        config: Keys of the consumer, for a producer to the same cluster.
        producer: Another place to write to, for tests.
        in_thread: Runs the function that blocks, with its argument; simulations have no threads.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        producer: DeadLetterProducer | None = None,
        in_thread: InThread = asyncio.to_thread,
    ) -> None:
        self._producer: DeadLetterProducer = producer or dead_letter_producer(config)
        self._in_thread = in_thread

    def room(self, owner: str, took: Took, held: HeldUp) -> HandlerRoom:
        """Return the room of a handler."""
        del owner, held
        return _ProducerRoom(self._write, took)

    async def _write(self, records: Sequence[RecordToWrite]) -> KafkaGroupsError | None:
        return await self._in_thread(self._produce, records)

    def _produce(self, records: Sequence[RecordToWrite]) -> KafkaGroupsError | None:
        try:
            for each in records:
                self._producer.produce(each.topic, key=each.key, value=each.value, headers=list(each.headers))
            self._producer.flush(_FLUSH_SECONDS)
        except KafkaGroupsError as error:
            return error
        return None


class _ProducerRoom:
    def __init__(
        self, produce: Callable[[Sequence[RecordToWrite]], Awaitable[KafkaGroupsError | None]], took: Took
    ) -> None:
        self._produce = produce
        self._took = took
        self._queued: dict[object, Sequence[RecordToWrite]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        # One task for all that is written in a turn of the loop.
        if not self._queued:
            task = asyncio.get_running_loop().create_task(self._flush())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._queued[token] = records

    def withdraw(self, token: object) -> bool:
        return self._queued.pop(token, None) is not None

    async def _flush(self) -> None:
        queued, self._queued = self._queued, {}
        if queued:
            error = await self._produce([record for records in queued.values() for record in records])
            self._took([WriteOutcome(list(queued), error, may_be_written=error is not None)])
