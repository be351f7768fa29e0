"""Collects records into batches: one open batch for each partition, until it is full, old enough, or flushed."""

import random
from collections import deque
from collections.abc import Callable

from attrs import define, frozen

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors import UnknownTopicOrPartitionError
from kafka_groups.records.batches.building import BatchSettings, ProducerBatch
from kafka_groups.records.partitioning import partition_of
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.records.producing.refusal_texts import too_large, with_remedy
from kafka_groups.types import Header, Headers, TopicPartition

__all__ = ["AccumulatorSettings", "RecordAccumulator"]

_NO_HEADERS: list[Header] = []
_LEAST_BYTES = 1_024
"""The smallest size of batches that a topic's limit leads to."""


@frozen
class AccumulatorSettings:
    """The sizes and times of a producer's batches.

    Attributes:
        batch_bytes: The most bytes of a batch with several records, before compression (`batch.size`).
        linger_ms: How long a batch waits for more records (`linger.ms`).
        buffer_bytes: The most bytes of all batches, above which there is no room (`buffer.memory`).
        max_request_bytes: The most bytes of a record, and of a request (`max.request.size`).
        form: The form of batches.
        limits_records: Whether `max_request_bytes` is a key that users may change, for errors.
    """

    batch_bytes: int = 131_072
    linger_ms: int = 5
    buffer_bytes: int = 33_554_432
    max_request_bytes: int = 1_048_576
    form: BatchSettings = BatchSettings()  # noqa: RUF009 - a frozen value
    limits_records: bool = True


@define
class _StickyPartition:
    """The partition of a topic that records without a key go to for now.

    Attributes:
        partition: The partition.
        left_bytes: The bytes until another one is chosen.
    """

    partition: int
    left_bytes: int


class RecordAccumulator:
    """The open batches of a producer, and those that are complete and not yet taken.

    `write` and `write_tracked` run for each record, so they do no more than they must.

    Args:
        settings: Sizes and times.
        partition_count: Returns a topic's number of partitions, or None if there is no such topic.
        rng: Chooses partitions of records without a key.
        on_news: Called when something may have to be sent, or sent at a certain time: a first batch was opened, or one
            is complete.
        sensors: Receives counts.

    Attributes:
        complete: Batches that take no more records, for `ProduceManager` to take.
        held_bytes: The bytes of all batches that were not released yet.
        is_ignoring: Whether records are dropped instead of collected.
    """

    def __init__(
        self,
        settings: AccumulatorSettings,
        partition_count: Callable[[str], int | None],
        rng: random.Random,
        on_news: Callable[[], None],
        sensors: ProducerSensors,
    ) -> None:
        self._settings = settings
        self._batch_bytes = min(settings.batch_bytes, settings.max_request_bytes)
        self._partition_count = partition_count
        self._rng = rng
        self._on_news = on_news
        self._sensors = sensors
        self._open: dict[tuple[str, int], ProducerBatch] = {}
        self._limits: dict[str, int] = {}
        self._sticky: dict[str, _StickyPartition] = {}
        self._unseen: list[ProducerBatch] = []
        self._has_news = False
        self.complete: deque[ProducerBatch] = deque()
        self.held_bytes = 0
        self.is_ignoring = False

    def __repr__(self) -> str:
        return f"<RecordAccumulator: {len(self._open)} open batches, {self.held_bytes} bytes held>"

    @property
    def buffer_bytes(self) -> int:
        """The most bytes of all batches, above which there is no room."""
        return self._settings.buffer_bytes

    @property
    def has_room(self) -> bool:
        """False while the batches hold more than the memory for them."""
        return self.held_bytes < self._settings.buffer_bytes

    @property
    def is_empty(self) -> bool:
        """True if no record waits here."""
        return not self._open and not self.complete

    @property
    def pending(self) -> int:
        """The number of records that wait here."""
        return sum(batch.count for batch in (*self._open.values(), *self.complete))

    # ----------------------------------------------------------------------------------------- writing

    def write(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        origin: object = None,
    ) -> ProducerBatch | None:
        """Add a record. None as partition: by the key, or any partition if there is no key.

        Returns its batch; None if records are ignored.

        Raises:
            MessageTooLargeError: The record is larger than a request may be.
            UnknownTopicOrPartitionError: The topic, whose number of partitions is needed, does not exist.
        """
        if partition is None:
            partition = self._chosen(topic, key, value)
        listed = list(headers) if headers else _NO_HEADERS
        batch = self._open.get((topic, partition))
        if batch is None or (added := batch.add(batch.count, timestamp_ms, key, value, listed)) is None:
            begun = self._begun(topic, partition, timestamp_ms, key, value, listed)
            if begun is not None and origin is not None:
                begun.origins.append((0, origin))
            self._tell()
            return begun
        self.held_bytes += added.size
        if origin is not None:
            batch.origins.append((batch.count, origin))
        batch.count += 1
        return batch

    def write_tracked(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int,
    ) -> None:
        """Add a record whose offset somebody wants to know.

        Raises:
            MessageTooLargeError: The record is larger than a request may be.
        """
        listed = list(headers) if headers else _NO_HEADERS
        batch = self._open.get((topic, partition))
        if batch is None or (added := batch.add(batch.count, timestamp_ms, key, value, listed)) is None:
            begun = self._begun(topic, partition, timestamp_ms, key, value, listed)
            if begun is not None:
                begun.last_tracked = 0
            self._tell()
            return
        self.held_bytes += added.size
        batch.last_tracked = batch.count
        batch.count += 1

    def _begun(
        self,
        topic: str,
        partition: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[Header],
    ) -> ProducerBatch | None:
        """Complete the open batch, if there is one, and return the next one with a record; None while ignoring."""
        if self.is_ignoring:
            return None
        size_bytes = min(self._batch_bytes, self._limits.get(topic, self._batch_bytes))
        batch = ProducerBatch(TopicPartition(topic, partition), size_bytes, self._settings.form)
        self._check_size(batch, timestamp_ms, key, value, headers)
        before = self._open.pop((topic, partition), None)
        if before is not None:
            self._completed(before)
        batch.add(0, timestamp_ms, key, value, headers)
        batch.count = 1
        self.held_bytes += batch.held_bytes
        self._has_news = self._has_news or before is not None or not self._open
        self._open[topic, partition] = batch
        self._unseen.append(batch)
        return batch

    def _tell(self) -> None:
        """Tell about news, once the record is part of its batch: the batch may be sent at once."""
        if self._has_news:
            self._has_news = False
            self._on_news()

    def _check_size(
        self,
        batch: ProducerBatch,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[Header],
    ) -> None:
        most = self._settings.max_request_bytes
        size_bytes = batch.size_with(timestamp_ms, key, value, headers)
        if size_bytes > most:
            self._sensors.not_queued()
            topic = batch.partition.topic
            text = f"A record for {topic} has {size_bytes:,} bytes, and a request at most {most:,}"
            raise too_large(text, limits_records=self._settings.limits_records)

    # --------------------------------------------------------------------------------------- partitions

    def _chosen(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        count = self._partition_count(topic)
        if count is None:
            self._sensors.not_queued()
            text = f"Topic {topic!r} does not exist. Create it, or check its name."
            raise with_remedy(UnknownTopicOrPartitionError(text))
        if key is not None:
            return partition_of(key, count)
        return self._stuck_to(topic, count, 0 if value is None else len(value))

    def _stuck_to(self, topic: str, count: int, size_bytes: int) -> int:
        # KIP-794: a partition is chosen by chance, and kept until it got a batch of bytes. Few large batches are better
        # than many small ones, and all partitions get the same over time.
        sticky = self._sticky.get(topic)
        if sticky is None or sticky.left_bytes <= 0 or sticky.partition >= count:
            sticky = self._sticky[topic] = _StickyPartition(self._rng.randrange(count), self._batch_bytes)
        sticky.left_bytes -= size_bytes + 1
        return sticky.partition

    def limit(self, topic: str, batch_bytes: int) -> None:
        """Keep the batches of a topic below a size from now on, because a broker refused a larger one."""
        known = self._limits.get(topic, self._batch_bytes)
        self._limits[topic] = max(min(known, batch_bytes), _LEAST_BYTES)

    # --------------------------------------------------------------------------------------- completing

    def complete_due(self, now_ms: int, collects: Callable[[TopicPartition], bool] | None = None) -> int:
        """Complete the batches that have waited long enough. Return how long the next one waits.

        Args:
            now_ms: The time.
            collects: Tells whether a partition's batch takes more records even so, until it is full.
        """
        due: list[tuple[str, int]] = []
        for at, batch in self._open.items():
            # A batch is as old as the first look at it, which is made while its first record is written. So even
            # without a linger time, it gets what is written until the event loop runs again.
            if batch.opened_ms is None or batch.opened_ms + self._settings.linger_ms > now_ms:
                break  # the others were opened later
            if collects is None or not collects(batch.partition):
                due.append(at)
        for at in due:
            self._completed(self._open.pop(at))
        for batch in self._unseen:
            batch.opened_ms = now_ms
        self._unseen.clear()
        waits = (each.opened_ms for each in self._open.values() if collects is None or not collects(each.partition))
        first_ms = next(waits, None)
        return NEVER_MS if first_ms is None else first_ms + self._settings.linger_ms - now_ms

    def complete_all(self) -> None:
        """Complete all batches."""
        for batch in self._open.values():
            self._completed(batch)
        self._open.clear()
        self._unseen.clear()

    def _completed(self, batch: ProducerBatch) -> None:
        batch.room_bytes = batch.held_bytes
        self.complete.append(batch)

    # --------------------------------------------------------------------------------------------- room

    def hold(self, batch: ProducerBatch) -> None:
        """Count the bytes of a batch as they are now, for example after it was compressed."""
        self.held_bytes += batch.held_bytes - batch.room_bytes
        batch.room_bytes = batch.held_bytes

    def release(self, batch: ProducerBatch) -> None:
        """Count the bytes of a batch no more."""
        self.held_bytes -= batch.room_bytes
        batch.room_bytes = 0

    def drop(self) -> None:
        """Drop all records."""
        self._open.clear()
        self._unseen.clear()
        self.complete.clear()
        self.held_bytes = 0
