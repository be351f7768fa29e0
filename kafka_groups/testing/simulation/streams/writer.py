"""Writes records by Produce requests, in transactions or without, as librdkafka's producer does in real time (KIP-98).

A `ProducerSession` is the life of one producer id and epoch: its sequence numbers, its queue and its transaction.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple, TypeVar

from attrs import define, field, frozen

from kafka_groups.client.calls.client import AdminClient
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import (
    BrokerError,
    DeliveryFailedError,
    KafkaGroupsError,
    OperationTimeoutError,
    TransactionFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.errors.texts import counted
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.records.asking import (
    ending,
    initialising,
    producing,
    storing_offsets,
)
from kafka_groups.records.interface import UnwrittenRecord
from kafka_groups.records.partitioning import partition_of
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.types import Headers, OffsetAndMetadata, TopicPartition

__all__ = ["WireWriter", "WriterOptions"]

V = TypeVar("V")

_BATCH_RECORDS, _QUEUE_RECORDS = 100, 10_000
_LINGER_S = (0.0, 0.05)
_STEP_MS, _ABORT_MS = 1_000, 1_000


@frozen
class WriterOptions:
    """The settings of a writer.

    Attributes:
        client: Asks the brokers.
        clock: Time.
        rng: Chooses partitions of records without key, and how long records wait for others.
        partitions: Returns a topic's number of partitions, or None.
        transactional_id: The id, or None to write without transactions.
        timeout_ms: When the coordinator aborts a transaction that does not end.
    """

    client: AdminClient
    clock: Clock
    rng: random.Random
    partitions: Callable[[str], int | None]
    transactional_id: str | None
    timeout_ms: int


class _Queued(NamedTuple):
    """A record that waits, and who asks about it."""

    record: NewRecord
    origin: object
    is_tracked: bool


@frozen(eq=False)
class _Batch:
    """Records under one sequence number. The same bytes are sent until there is an answer."""

    records: tuple[_Queued, ...]
    data: bytes


@define(eq=False)
class ProducerSession:
    """The records of one producer epoch."""

    producer: ProducerIdAndEpoch = NO_PRODUCER
    is_open: bool = False
    has_offsets: bool = False
    failure: KafkaGroupsError | None = None
    waiting: dict[TopicPartition, deque[_Queued]] = field(factory=dict)
    sent: dict[TopicPartition, _Batch] = field(factory=dict)
    sequences: dict[TopicPartition, int] = field(factory=dict)
    refused: list[UnwrittenRecord] = field(factory=list)
    failures: list[KafkaGroupsError] = field(factory=list)
    wake: asyncio.Event = field(factory=asyncio.Event)
    sending: asyncio.Lock = field(factory=asyncio.Lock)
    task: "asyncio.Task[None] | None" = None

    @property
    def pending(self) -> int:
        """The number of records without answer."""
        waiting = sum(map(len, self.waiting.values()))
        return waiting + sum(len(batch.records) for batch in self.sent.values())

    def batches(self, *, is_transactional: bool) -> dict[TopicPartition, bytes]:
        """Return what to send now: for each partition the batch without answer, or the next one."""
        for place, queue in self.waiting.items():
            if queue and place not in self.sent:
                self.sent[place] = self._batch(place, queue, is_transactional=is_transactional)
        return {place: batch.data for place, batch in self.sent.items()}

    def _batch(self, place: TopicPartition, queue: deque[_Queued], *, is_transactional: bool) -> _Batch:
        taken = tuple(islice(queue, _BATCH_RECORDS))
        for _ in taken:
            queue.popleft()
        options = BatchOptions(
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            base_sequence=self.sequences.get(place, 0),
            is_transactional=is_transactional,
        )
        return _Batch(taken, build_batch([each.record for each in taken], options=options))

    def confirmed(self, place: TopicPartition, base_offset: int, written: dict[TopicPartition, int]) -> None:
        """Note that a partition has taken its batch."""
        batch = self.sent.pop(place)
        self.sequences[place] = self.sequences.get(place, 0) + len(batch.records)
        if any(each.is_tracked for each in batch.records):
            written[place] = base_offset + len(batch.records)

    def refuse(self, place: TopicPartition, error: KafkaGroupsError) -> None:
        """Note that a partition does not take its batch."""
        for queued in self.sent.pop(place).records:
            record = queued.record
            if queued.origin is None:
                self.failures.append(error)
                continue
            parts = (record.key, record.value, record.timestamp_ms, tuple(record.headers), place.partition)
            self.refused.append(UnwrittenRecord(place.topic, *parts, error, queued.origin))


class WireWriter:
    """A producer for one worker. What it has queued goes out shortly after, or at the next flush.

    Attributes:
        written: For each partition of tracked records, the offset after the last one that was confirmed.
    """

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._is_transactional = options.transactional_id is not None
        self._session = ProducerSession()
        self.written: dict[TopicPartition, int] = {}

    def __repr__(self) -> str:
        return f"<WireWriter {self._options.transactional_id or 'without transactions'}>"

    @property
    def has_failed(self) -> bool:
        """True if the open transaction is lost."""
        return self._session.failure is not None

    @property
    def has_room(self) -> bool:
        """False while too much is queued."""
        return self._session.pending < _QUEUE_RECORDS

    # ----------------------------------------------------------------------------------------- records

    def write(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        origin: object = None,
    ) -> None:
        """Queue a record.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
        """
        place = self._place(topic, key, partition)
        self._queue(place, _Queued(NewRecord(value, key, timestamp_ms, headers), origin, is_tracked=False))

    def write_tracked(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int,
    ) -> None:
        """Queue a record, and note its offset in `written` when it has been confirmed."""
        record = NewRecord(value, key, timestamp_ms, headers)
        self._queue(TopicPartition(topic, partition), _Queued(record, None, is_tracked=True))

    def _place(self, topic: str, key: bytes | None, partition: int | None) -> TopicPartition:
        if partition is not None:
            return TopicPartition(topic, partition)
        count = self._options.partitions(topic)
        if count is None:
            raise UnknownTopicOrPartitionError(f"There is no topic {topic!r}.")
        return TopicPartition(topic, self._options.rng.randrange(count) if key is None else partition_of(key, count))

    def _queue(self, place: TopicPartition, queued: _Queued) -> None:
        session = self._session
        if session.failure is not None:
            return
        session.waiting.setdefault(place, deque()).append(queued)
        session.wake.set()
        if session.task is None:
            session.task = asyncio.create_task(
                self._send_soon(session), name=f"writer {self._options.transactional_id}"
            )

    async def _send_soon(self, session: ProducerSession) -> None:
        """Send what is queued, so that a transaction has records before it is committed."""
        while True:
            await session.wake.wait()
            session.wake.clear()
            await asyncio.sleep(self._options.rng.uniform(*_LINGER_S))
            if session.pending and session.failure is None:
                await self._send(session, _STEP_MS)

    async def _send(self, session: ProducerSession, timeout_ms: int) -> None:
        """Send the next batch of each partition, and wait for the answers. What is not answered stays queued."""
        async with session.sending:
            if session.producer == NO_PRODUCER and not await self._has_id(session, timeout_ms):
                return
            batches = session.batches(is_transactional=self._is_transactional)
            if not batches or session.failure is not None:
                return
            session.is_open = True
            ask = self._options.client.within(timeout_ms)
            found = await ask(producing(batches, self._options.transactional_id))
            for place, base_offset in found.values.items():
                session.confirmed(place, base_offset, self.written)
            refusals = {place: error for place, error in found.errors.items() if not _may_pass(error)}
            for place, error in refusals.items():
                session.refuse(place, error)
            if refusals and self._is_transactional:
                self._fail(session, next(iter(refusals.values())))

    async def _has_id(self, session: ProducerSession, timeout_ms: int) -> bool:
        """Get the id of an idempotent producer. One with transactions has it from `prepare`."""
        if self._is_transactional:
            return False
        found = await self._options.client.within(timeout_ms)(initialising(None, self._options.timeout_ms))
        for producer in found.values.values():
            session.producer = producer
        return bool(found.values)

    async def flush(self, timeout_ms: int) -> None:
        """Wait until the brokers have answered about all records.

        Raises:
            TransactionFailedError: The transaction is lost.
            DeliveryFailedError: Records without origin were refused, or records are not confirmed in time.
        """
        session, clock = self._session, self._options.clock
        end_ms = clock.now_ms() + timeout_ms
        while session.pending and session.failure is None and (left_ms := end_ms - clock.now_ms()) > 0:
            await self._send(session, left_ms)
        self._check(session)
        failures, session.failures = session.failures, []
        if failures or session.pending:
            text = (
                f"The brokers refused {counted(len(failures), 'record')}, and have not confirmed "
                f"{session.pending} after {timeout_ms} ms"
            )
            may_pass = all(each.retriable for each in failures)
            error = DeliveryFailedError(text, failed=len(failures), unanswered=session.pending, retriable=may_pass)
            raise error from (failures[0] if failures else None)

    def refused(self) -> list[UnwrittenRecord]:
        """Return records with an origin that were refused, each of them once."""
        refused, self._session.refused = self._session.refused, []
        return refused

    # ------------------------------------------------------------------------------------ transactions

    async def prepare(self, timeout_ms: int) -> None:
        """Fence writers with the same transactional id. Without effect the second time.

        Raises:
            KafkaGroupsError: The coordinator did not answer in time, or refused.
        """
        session, transactional_id = self._session, self._options.transactional_id
        if transactional_id is None or session.producer != NO_PRODUCER:
            return
        ask = self._options.client.within(timeout_ms)
        session.producer = (await ask(initialising(transactional_id, self._options.timeout_ms)))[transactional_id]

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata, timeout_ms: int
    ) -> None:
        """Commit the records together with offsets of a group.

        Raises:
            OperationTimeoutError: The coordinators did not answer in time. Call it again with the same offsets.
            TransactionFailedError: The transaction is lost.
        """
        session, transactional_id = self._session, self._options.transactional_id
        if transactional_id is None:
            raise TypeError("This writer has no transactions.")
        self._check(session)
        if offsets and not session.has_offsets:
            session.is_open = True
            store = storing_offsets(transactional_id, session.producer, offsets, who)
            await self._transacted(session, store, timeout_ms)
            session.has_offsets = True
        if session.is_open:
            end = ending(transactional_id, session.producer, committed=True)
            self._begin_next(session, await self._transacted(session, end, timeout_ms))

    async def renew(self) -> None:
        """Drop what is queued, and the transaction. Call `prepare` before the next record."""
        self._drop(self._session)
        self._session = ProducerSession()
        self.written.clear()

    async def close(self) -> None:
        """Abort an open transaction, if the coordinator answers soon, and drop what is queued."""
        session, transactional_id = self._session, self._options.transactional_id
        self._drop(session)
        if transactional_id is not None and session.is_open and session.producer != NO_PRODUCER:
            await self._options.client.within(_ABORT_MS)(ending(transactional_id, session.producer, committed=False))

    async def _transacted(self, session: ProducerSession, question: Question[str, V], timeout_ms: int) -> V:
        """Ask a coordinator about the transaction. Every error but a timeout fails it."""
        (key,) = question.keys
        try:
            return (await self._options.client.within(timeout_ms)(question))[key]
        except OperationTimeoutError:
            raise
        except KafkaGroupsError as error:
            self._fail(session, error)
            raise TransactionFailedError(f"The transaction failed: {error}") from error

    @staticmethod
    def _begin_next(session: ProducerSession, producer: ProducerIdAndEpoch) -> None:
        if producer != session.producer:
            session.sequences.clear()
        session.producer = producer
        session.is_open = session.has_offsets = False

    @staticmethod
    def _drop(session: ProducerSession) -> None:
        if session.task is not None:
            session.task.cancel()

    @staticmethod
    def _check(session: ProducerSession) -> None:
        if session.failure is not None:
            raise TransactionFailedError(f"The transaction failed: {session.failure}") from session.failure

    @staticmethod
    def _fail(session: ProducerSession, failure: KafkaGroupsError) -> None:
        session.failure = session.failure or failure
        session.waiting.clear()
        session.sent.clear()


def _may_pass(error: KafkaGroupsError) -> bool:
    """Return whether a batch is sent again."""
    return isinstance(error, OperationTimeoutError) or (isinstance(error, BrokerError) and error.retriable)
