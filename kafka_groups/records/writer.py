"""Writes the records of a worker with an idempotent producer: what waits for brokers, and nothing else."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from attrs import field, frozen

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.client.requests import RequestManager
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.errors import DeliveryFailedError, KafkaGroupsError
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.protocol.compression import Compression
from kafka_groups.records.batches.building import BatchSettings
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.interface import UnwrittenRecord
from kafka_groups.records.metrics import ProducerSources
from kafka_groups.records.producing.accumulator import AccumulatorSettings, RecordAccumulator
from kafka_groups.records.producing.cluster_topics import ProducerCluster
from kafka_groups.records.producing.idempotent import IdempotentIdentity
from kafka_groups.records.producing.identity import ProducerIdentity
from kafka_groups.records.producing.produce import ProduceManager
from kafka_groups.records.producing.produce_settings import ProduceSettings
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.records.producing.refusal_texts import not_writable, without_id
from kafka_groups.types import TopicPartition

__all__ = ["EngineWriter", "EngineWriterSettings", "writer_settings"]

_WHOSE = "writer"


@frozen
class EngineWriterSettings:
    """The settings of a writer.

    Attributes:
        batches: Sizes and times of batches.
        requests: The settings of requests.
    """

    batches: AccumulatorSettings = field(factory=AccumulatorSettings)
    requests: ProduceSettings = field(factory=ProduceSettings)


def writer_settings(config: ProducerConfig, *, principal: str | None, is_transactional: bool) -> EngineWriterSettings:
    """Return the settings of a writer for the configuration of a producer.

    Args:
        config: The configuration.
        principal: The user that the brokers know, for messages. None: the client does not know.
        is_transactional: Whether records are written in transactions.
    """
    requests = ProduceSettings(
        request_timeout_ms=config.request_timeout_ms,
        max_request_bytes=config.max_request_size,
        max_in_flight=config.max_in_flight_requests_per_connection,
        principal=principal,
    )
    batches = AccumulatorSettings(
        batch_bytes=config.batch_size,
        linger_ms=config.linger_ms,
        buffer_bytes=config.buffer_memory,
        max_request_bytes=config.max_request_size,
        form=BatchSettings(Compression[config.compression_type.upper()], config.codec_level, is_transactional),
    )
    return EngineWriterSettings(batches, requests)


class DrivenIdentity(ProducerIdentity, RequestManager, Protocol):
    """The identity of a producer that asks brokers for its id."""

    def renew(self) -> None:
        """Forget the id."""


class EngineWriter:
    """An idempotent producer of one worker, on the event loop of its client.

    Records are never given up by time: each stays queued until brokers have written or refused it. Order is kept for
    each partition.

    Args:
        client: The connections. It must not have been started.
        partition_count: Returns a topic's number of partitions, or None if there is no such topic.
        rng: Chooses partitions of records without a key.
        settings: The settings.
        identity: The producer's id and epoch, and a request manager; None for one without transactions.
        made_again: Receives topics that were deleted and made again, with their numbers of partitions now.

    Attributes:
        write: Queues a record: `RecordAccumulator.write` itself, as it runs for each record.
        write_tracked: As `write`; `written` has the record's offset when it was confirmed.
        written: For each partition of tracked records, the offset after the last one that was confirmed. The caller may
            remove partitions.
        replaced: The partitions whose topic was deleted and made again while they were written to. The caller may
            remove some.
        sensors: Counts and times, for metrics.
    """

    def __init__(
        self,
        client: RecordsClient,
        partition_count: Callable[[str], int | None],
        rng: random.Random,
        settings: EngineWriterSettings | None = None,
        identity: DrivenIdentity | None = None,
        made_again: Callable[[Mapping[str, int]], None] | None = None,
    ) -> None:
        settings = settings or EngineWriterSettings()
        self._client = client
        self._topics: set[str] = set()
        self.sensors = ProducerSensors(client.steady_clock.now_ms)
        self._accumulator = RecordAccumulator(settings.batches, partition_count, rng, client.turn, self.sensors)
        self._identity = identity or IdempotentIdentity(
            client.errors,
            client.backoff(),
            settings.requests.request_timeout_ms,
            denial=lambda code: without_id(code, sorted(self._topics), settings.requests.principal),
        )
        self._produce = ProduceManager(
            self._accumulator,
            self._identity,
            ProducerCluster(client.metadata, client.refresh_metadata, self._want, made_again or _ignore),
            settings.requests,
            client.errors,
            client.backoff,
            self.sensors,
        )
        # In this order: a batch asks for an id, and the question is sent in the same turn.
        client.add(self._produce)
        client.add(self._identity)
        client.explain_denied(_WHOSE, partial(not_writable, principal=settings.requests.principal))
        self.write = self._accumulator.write
        self.write_tracked = self._accumulator.write_tracked
        self.written: dict[TopicPartition, int] = self._produce.written
        self.replaced: set[TopicPartition] = self._produce.replaced

    def __repr__(self) -> str:
        return f"<EngineWriter: {counted(self._produce.pending, 'record')} queued>"

    @property
    def has_room(self) -> bool:
        """False while more is queued than the memory for it. Write nothing then until it is true."""
        return self._accumulator.has_room

    @property
    def metric_sources(self) -> ProducerSources:
        """The sources of its metrics now. Any thread may ask."""
        whole = self._accumulator.buffer_bytes
        free = max(whole - self._accumulator.held_bytes, 0)
        return ProducerSources(self.sensors, whole, free, self._client.steady_clock.now_ms())

    @property
    def pending(self) -> int:
        """The number of records that are neither written nor refused."""
        return self._produce.pending

    def _want(self, topics: Iterable[str]) -> None:
        self._topics.update(topics)
        self._client.want_topics(topics, _WHOSE)

    async def flush(self, timeout_ms: int) -> None:
        """Wait until the brokers have answered about all records.

        Raises:
            DeliveryFailedError: Records without origin were refused, or records are not confirmed in time. The latter
                stay queued, and another flush waits for them again.
            KafkaGroupsError: Nothing can be written any more, for example because a right is missing.
        """
        end_ms = self._client.clock.now_ms() + timeout_ms
        with self.sensors.flush:
            await self._wait_until_flushed(end_ms)
            await self._find_unknown_ends(end_ms)
        self._raise_failures(timeout_ms)

    def refused(self) -> list[UnwrittenRecord]:
        """Return records with an origin that were refused, each of them once. Ask after a flush."""
        return self._produce.refusals.take_records()

    def forget_logs(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget what was written to partitions. What happens to their topics before the next record is not told."""
        self._produce.forget_logs(partitions)

    async def renew(self) -> None:
        """Drop all that is queued, and continue with another producer id. Some of it may have been written."""
        self._produce.renew()
        self._identity.renew()
        self._topics.clear()

    async def close(self) -> None:
        """Drop all that is queued. The client stays open."""
        self._produce.drop()

    # ----------------------------------------------------------------------------------------- flushing

    async def _wait_until_flushed(self, end_ms: int) -> None:
        produce = self._produce
        produce.flush_requested = True
        try:
            await self._wait_while(lambda: not produce.is_flushed, end_ms - self._client.clock.now_ms())
        finally:
            produce.flush_requested = False

    async def _wait_while(self, holds: Callable[[], bool], timeout_ms: int) -> None:
        """Let the client work while a condition holds, until the time is up.

        Raises:
            KafkaGroupsError: The client cannot go on.
        """
        clock, errors = self._client.clock, self._client.errors
        end_ms = clock.now_ms() + timeout_ms
        others: list[KafkaGroupsError] = []
        try:
            while holds() and errors.fatal is None and (left_ms := end_ms - clock.now_ms()) > 0:
                await self._client.wait(left_ms, lambda: not holds())
                # Errors that end nothing are for whoever polls, but nobody can wait while there are some.
                others += _taken(errors, others)
        finally:
            errors.waiting.extendleft(reversed(others))
        if errors.fatal is not None:
            raise errors.fatal

    async def _find_unknown_ends(self, end_ms: int) -> None:
        """Look where logs end whose last tracked record was written at an unknown offset. Only this writer is there."""
        unknown = self._produce.unknown_ends
        left_ms = end_ms - self._client.clock.now_ms()
        if not unknown or left_ms <= 0:
            return
        found = await offsets_at(self._client.within(left_ms), tuple(unknown), LATEST)
        self.written.update(found.values)
        unknown.difference_update(found.values)

    def _raise_failures(self, timeout_ms: int) -> None:
        unanswered = self._produce.pending
        errors, failed = self._produce.refusals.take_errors()
        if errors:
            raise _refused(errors, failed, unanswered) from errors[0]
        if unanswered or self._produce.unknown_ends:
            topics = ", ".join(sorted(self._topics))
            text = f"The brokers have not confirmed {counted(unanswered, 'record')} after {timeout_ms / 1000:g} s"
            text = f"{text}; written to: {topics}"
            raise DeliveryFailedError(text, failed=0, unanswered=unanswered)


def _ignore(_counts: Mapping[str, int]) -> None:
    """Do nothing: nobody keeps the numbers of partitions."""


def _refused(errors: list[KafkaGroupsError], failed: int, unanswered: int) -> DeliveryFailedError:
    final = [error for error in errors if not error.retriable]
    text = sentences(f"Could not write {counted(failed, 'record')}; the first: {(final or errors)[0]}")
    return DeliveryFailedError(text, failed=failed, unanswered=unanswered, retriable=not final)


def _taken(errors: BackgroundErrors, known: Sequence[KafkaGroupsError]) -> list[KafkaGroupsError]:
    """Remove and return the errors that wait, without those that are known already."""
    texts = {str(error) for error in known}
    taken = [error for error in errors.waiting if str(error) not in texts]
    errors.waiting.clear()
    return taken
