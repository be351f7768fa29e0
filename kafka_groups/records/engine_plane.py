"""The data plane of a worker on our own engine: one client that reads, writes and asks on the worker's event loop."""

import asyncio
import random
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from uuid import UUID

from attrs import frozen
from typing_extensions import override

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.record_deletion import deletion_of_records
from kafka_groups.client.calls.results import Results
from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.client.requests import Lane
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import IllegalStateError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka_groups.records.asking import counting_partitions, identifying
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.limits import ReadingLimits
from kafka_groups.records.fetching.validating import not_readable
from kafka_groups.records.interface import NO_EPOCHS, NOTHING, DataPlane, PolledRecords, UnwrittenRecord
from kafka_groups.records.metrics import RecordsMetric, producer_metrics, reader_metrics
from kafka_groups.records.partition_counts import AskPartitionCounts, BlockingPartitionCounts, KnownPartitionCounts
from kafka_groups.records.producing.refusal_texts import not_writable
from kafka_groups.records.reader import RecordReader
from kafka_groups.records.transactional_writer import TransactionalEngineWriter, TransactionSettings
from kafka_groups.records.writer import EngineWriter, writer_settings
from kafka_groups.types import Headers, OffsetAndMetadata, TopicPartition

__all__ = ["EnginePlane", "EnginePlaneConfig"]

_ASKING_MS = 1_000
"""The time for each question, in which a worker does nothing else. It repeats what fails."""
_COUNTING_MS = 5_000


@frozen(kw_only=True)
class EnginePlaneConfig:
    """The configuration of a plane.

    Attributes:
        connection: How to reach the brokers.
        sources: The reader of source topics.
        restorer: The reader of changelogs and global topics.
        producer: The producer.
        transactional_id: The id, or None to write without transactions.
        principal: The user that the brokers know, for messages about missing rights; None if it is not known here.
    """

    connection: ClientConfig
    sources: ReaderConfig
    restorer: ReaderConfig
    producer: ProducerConfig
    transactional_id: str | None = None
    principal: str | None = None

    @property
    def metadata_max_age_ms(self) -> int:
        """The age at which metadata is fetched again: the smallest one, as readers and the producer share it."""
        return min(each.metadata_max_age_ms for each in (self.sources, self.restorer, self.producer))


class EnginePlane(DataPlane):
    """Reads, writes and asks for a worker, on its event loop. Nothing is sent or received while user code runs.

    The first call that needs brokers starts it on the running loop.

    Args:
        config: The configuration.
        environment: Network, clock and randomness.
        ask_counts: Returns the numbers of partitions of all topics, without the event loop. By default, a thread with
            connections of its own asks the brokers.
    """

    def __init__(
        self,
        config: EnginePlaneConfig,
        environment: Environment | None = None,
        ask_counts: AskPartitionCounts | None = None,
    ) -> None:
        environment = environment or Environment()
        self._asker = None if ask_counts else BlockingPartitionCounts(config.connection, environment)
        self._counts = counts = KnownPartitionCounts(ask_counts or self._asker or dict)
        self._client = client = RecordsClient(
            config.connection, environment, metadata_max_age_ms=config.metadata_max_age_ms
        )
        self._principal = config.principal
        self._sources = RecordReader(client, _fetch_options(config.sources, Lane.DATA, self._principal), "sources")
        restoring = _fetch_options(config.restorer, Lane.RESTORATION, self._principal)
        self._restorer = RecordReader(client, restoring, "restore")
        rng = environment.rng or random.Random()
        is_transactional = config.transactional_id is not None
        settings = writer_settings(config.producer, principal=config.principal, is_transactional=is_transactional)
        self._transactions: TransactionalEngineWriter | None = None
        if config.transactional_id is None:
            self._writer = EngineWriter(client, counts.of, rng, settings, made_again=counts.update)
        else:
            transaction = TransactionSettings(
                config.transactional_id, config.producer.transaction_timeout_ms, self._sources.topic_id
            )
            self._transactions = TransactionalEngineWriter(client, counts.of, rng, transaction, settings, counts.update)
            self._writer = self._transactions
        self.write = self._writer.write  # type: ignore[assignment,method-assign] # called for each record; nobody needs its batch
        self.write_tracked = self._writer.write_tracked  # type: ignore[method-assign] # called for each change of a store

    @override
    def __repr__(self) -> str:
        return f"<EnginePlane {self._sources!r}, {self._restorer!r}, {self._writer!r}>"

    # ----------------------------------------------------------------------------------------- reading

    @override
    async def assign(
        self, starts: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] = NO_EPOCHS
    ) -> None:
        self._sources.assign(starts, epochs)

    @override
    async def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        self._sources.unassign(partitions)

    @override
    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._sources.pause(partitions)

    @override
    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._sources.resume(partitions)

    @override
    async def poll(self, most: int) -> PolledRecords:
        """Return records of sources that have arrived. Gives the event loop one pass, also without sources.

        Raises:
            KafkaGroupsError: A partition cannot be read, or the client has failed.
        """
        return await self._sources.poll(most)

    @override
    def topic_ids(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, UUID]:
        return self._sources.topic_ids(partitions)

    @override
    def leader_epochs(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return self._sources.leader_epochs(positions)

    @override
    def changed(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return self._sources.changed(partitions)

    @override
    def missing(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return self._sources.missing(partitions)

    @override
    async def assign_restoring(self, starts: Mapping[TopicPartition, int]) -> None:
        self._restorer.assign(starts)

    @override
    async def unassign_restoring(self, partitions: Iterable[TopicPartition]) -> None:
        self._restorer.unassign(partitions)

    @override
    async def poll_restoring(self, most: int) -> PolledRecords:
        # A failure of a broker may outlast the last partition. Nobody could wait while it is not taken.
        restorer = self._restorer
        return await restorer.poll(most) if restorer.assigned or restorer.has_news else NOTHING

    @override
    async def wait(self, timeout_ms: int) -> None:
        had_room = self._writer.has_room
        await self._client.wait(timeout_ms, lambda: self._has_news or (not had_room and self._writer.has_room))

    @property
    def _has_news(self) -> bool:
        return self._sources.has_news or self._restorer.has_news

    @override
    async def rest(self, timeout_ms: int) -> None:
        await asyncio.sleep(timeout_ms / 1_000)

    # ----------------------------------------------------------------------------------------- writing

    @property
    @override
    def written(self) -> Mapping[TopicPartition, int]:
        return self._writer.written

    @property
    @override
    def replaced(self) -> AbstractSet[TopicPartition]:
        return self._writer.replaced

    @override
    def forget_written(self, partitions: Iterable[TopicPartition]) -> None:
        for place in partitions:
            self._writer.written.pop(place, None)
            self._writer.replaced.discard(place)

    @override
    def forget_logs(self, partitions: Iterable[TopicPartition]) -> None:
        self._writer.forget_logs(partitions)

    @property
    @override
    def has_room(self) -> bool:
        return self._writer.has_room

    @override
    def write(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        origin: object = None,
    ) -> None:
        self._writer.write(topic, key, value, timestamp_ms, headers, partition, origin)

    @override
    def write_tracked(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int,
    ) -> None:
        self._writer.write_tracked(topic, key, value, timestamp_ms, headers, partition)

    @override
    async def flush(self, timeout_ms: int) -> None:
        await self._writer.flush(timeout_ms)

    @override
    def refused(self) -> list[UnwrittenRecord]:
        refused = self._writer.refused()
        if missing := {each.topic for each in refused if isinstance(each.error, UnknownTopicOrPartitionError)}:
            self._counts.lose(missing)
        return refused

    @property
    @override
    def has_failed(self) -> bool:
        return self._transactions is not None and self._transactions.has_failed

    @property
    @override
    def expires_soon(self) -> bool:
        return self._transactions is not None and self._transactions.expires_soon

    @override
    async def prepare(self) -> None:
        if self._transactions is not None:
            await self._transactions.prepare(_ASKING_MS)

    @override
    def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        self._transacting.send_offsets(offsets, who, self._sources.topic_ids(offsets))

    @override
    async def commit_transaction(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        await self._transacting.commit(offsets, who, _ASKING_MS, self._sources.topic_ids(offsets))

    @property
    def _transacting(self) -> TransactionalEngineWriter:
        if self._transactions is None:
            raise IllegalStateError(f"{self!r} has no transactions.")
        return self._transactions

    @override
    async def renew(self) -> None:
        await self._writer.renew()

    # ------------------------------------------------------------------------------------------ asking

    @override
    def partitions(self, topic: str) -> int | None:
        count = self._counts.of(topic)
        if count is None and self._asker is not None and self._asker.is_denied(topic):
            raise not_writable(topic, self._principal)
        return count

    @override
    async def partition_counts(self) -> Mapping[str, int]:
        counts = (await self._client.within(_COUNTING_MS)(counting_partitions())).checked()[""]
        self._counts.update(counts)
        return counts

    @override
    async def ask_topic_ids(self, topics: Iterable[str]) -> Mapping[str, UUID]:
        asked = tuple(topics)
        if not asked:
            return {}
        found = await self._ask()(identifying(asked))
        # A question that needs the topic's records tells better which right is missing.
        denied = {topic for topic, error in found.errors.items() if isinstance(error, TopicAuthorizationFailedError)}
        return {topic: id_ for topic in asked if topic not in denied and (id_ := found[topic]) is not None}

    @override
    async def bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        return await self._bounds(partitions, committed=False)

    @override
    async def stable_bounds(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        return await self._bounds(partitions, committed=True)

    async def _bounds(
        self, partitions: Iterable[TopicPartition], *, committed: bool
    ) -> Mapping[TopicPartition, tuple[int, int]]:
        asked, ask = tuple(partitions), self._ask()
        if not asked:
            return {}
        begins, ends = await asyncio.gather(
            offsets_at(ask, asked, EARLIEST), offsets_at(ask, asked, LATEST, committed=committed)
        )
        return {each: (self._readable(begins)[each], self._readable(ends)[each]) for each in asked}

    @override
    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for time_ms in sorted(set(times.values())):
            places = [place for place, each in times.items() if each == time_ms]
            found.update(self._readable(await offsets_at(self._ask(), places, time_ms)))
        return {place: offset for place, offset in found.items() if offset >= 0}

    def _readable(self, found: Results[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the offsets, or raise the error of one, which says what to grant if a right is missing."""
        for place, error in found.errors.items():
            if isinstance(error, TopicAuthorizationFailedError):
                raise not_readable(place, self._principal) from error
        return found.checked().values

    @override
    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        (await self._ask()(deletion_of_records(before))).checked()

    def _ask(self) -> Asking:
        return self._client.within(_ASKING_MS)

    def metrics(self, name: str) -> tuple[RecordsMetric, ...]:
        """Return the metrics of the producer and the readers. Any thread may call it, and it does not wait.

        Args:
            name: The worker's name. Their ids as clients are made of it as in Kafka Streams.
        """
        return (
            *producer_metrics(f"{name}-producer", self._writer.metric_sources),
            *reader_metrics(f"{name}-consumer", self._sources.metric_sources),
            *reader_metrics(f"{name}-restore-consumer", self._restorer.metric_sources),
        )

    @override
    async def close(self) -> None:
        try:
            await self._writer.close()
        finally:
            try:
                await self._client.close()
            finally:
                if self._asker is not None:
                    self._asker.close()


def _fetch_options(config: ReaderConfig, lane: Lane, principal: str | None) -> FetchOptions:
    return FetchOptions(
        limits=ReadingLimits(
            min_bytes=config.fetch_min_bytes,
            max_wait_ms=config.fetch_max_wait_ms,
            max_bytes=config.response_bytes,
            max_partition_bytes=config.partition_bytes,
            buffer_bytes=config.fetch_buffer_bytes,
        ),
        isolation_level=int(config.is_committed_only),
        rack=config.client_rack or "",
        check_crcs=config.check_crcs,
        request_timeout_ms=config.request_timeout_ms,
        lane=lane,
        principal=principal,
    )
