"""A client of one broker whose `TransactionManager` is driven by the engine, with the simplest batches there can be."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Self

from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.client.requests import ClientResponse, Lane, OutgoingRequest, PollResult
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import DisconnectedError, error_for
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.network import Network
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import (
    ALL_ACKS,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.transactions.coordinator_channel import ChannelSettings
from kafka_groups.records.transactions.manager import BatchesOfTransaction, TransactionManager, TransactionOptions
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["TransactionClient"]

_BY_NAME = 12
_REQUEST_MS = 5_000
_PATIENCE_S = 20.0


class OneBatchAtATime:
    """Sends one record in a request, and the next one after its answer.

    Attributes:
        versions: The versions of Produce that were used.
    """

    def __init__(self, assembly: Assembly, transactions: TransactionManager) -> None:
        self._assembly = assembly
        self._transactions = transactions
        self._queued: deque[tuple[TopicPartition, bytes]] = deque()
        self._sequences: dict[TopicPartition, int] = {}
        self._producer = NO_PRODUCER
        self._is_in_flight = False
        self._again_ms = 0
        self.confirmed = 0
        self.versions: set[int] = set()
        transactions.attach(BatchesOfTransaction(lambda: not self._queued, lambda: self.confirmed, self.drop))

    def write(self, partition: TopicPartition, value: bytes) -> None:
        """Queue a record."""
        self._queued.append((partition, value))

    def drop(self) -> None:
        """Drop what is queued."""
        self._queued.clear()
        self._is_in_flight = False

    def poll(self, now_ms: int) -> PollResult:
        """Send the first record."""
        producer = self._transactions.producer
        if not self._queued or self._is_in_flight or producer == NO_PRODUCER:
            return PollResult()
        if now_ms < self._again_ms:
            return PollResult(wait_ms=self._again_ms - now_ms)
        partition, value = self._queued[0]
        if not self._transactions.may_produce(partition):
            return PollResult()
        if producer != self._producer:
            self._producer, self._sequences = producer, {}
        self._transactions.note_produced(partition)
        self._is_in_flight = True
        message = self._message(partition, value, producer)
        newest = min(self._transactions.newest_produce_version or _BY_NAME, _BY_NAME)
        request = OutgoingRequest(
            ApiKey.PRODUCE,
            lambda _version: message,
            next(iter(self._assembly.metadata.nodes)),
            _REQUEST_MS,
            context=producer,
            lane=Lane.DATA,
            newest_version=newest,
        )
        return PollResult((request,))

    def _message(self, partition: TopicPartition, value: bytes, producer: ProducerIdAndEpoch) -> ProduceRequest:
        options = BatchOptions(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=self._sequences.get(partition, 0),
            is_transactional=True,
        )
        batch = build_batch([NewRecord(value, timestamp_ms=SystemClock().wall_ms())], options=options)
        data = PartitionProduceData(index=partition.partition, records=batch)
        return ProduceRequest(
            transactional_id=self._transactions.transactional_id,
            acks=ALL_ACKS,
            timeout_ms=_REQUEST_MS,
            topic_data=(TopicProduceData(name=partition.topic, partition_data=(data,)),),
        )

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Go on with the next record, or repeat this one."""
        if request.context != self._producer or not self._is_in_flight:
            return
        self._is_in_flight = False
        response: ProduceResponse = answer.message
        code = response.responses[0].partition_responses[0].error_code
        self.versions.add(answer.version)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            partition, _ = self._queued.popleft()
            self._sequences[partition] = self._sequences.get(partition, 0) + 1
            self.confirmed += 1
        elif code is ErrorCode.CONCURRENT_TRANSACTIONS or error_for(code).retriable:
            self._again_ms = now_ms + 20
        else:
            self._transactions.lose(error_for(code))

    def on_failure(self, _request: OutgoingRequest, _error: Exception, now_ms: int) -> None:
        """Repeat the record."""
        self._is_in_flight = False
        self._again_ms = now_ms + 20


class LosesAnswers:
    """Stands before a request manager, and turns an answer into a failure when it is told to.

    Attributes:
        losing: The API whose next answer is lost, or None.
        lost: The number of lost answers.
    """

    def __init__(self, manager: TransactionManager) -> None:
        self._manager = manager
        self.losing: str | None = None
        self.lost = 0
        self.poll = manager.poll
        self.on_failure = manager.on_failure

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Pass an answer on, or lose it."""
        if request.api.name != self.losing:
            self._manager.on_response(request, answer, now_ms)
            return
        self.losing = None
        self.lost += 1
        self._manager.on_failure(request, DisconnectedError("the answer was lost"), now_ms)


class TransactionClient:
    """A producer with a transactional id. Use it as a context manager.

    Args:
        servers: `host:port` of the broker.
        network: The way to it, or None for TCP.
        transactional_id: The id.
        timeout_ms: The timeout of its transactions.
    """

    def __init__(self, servers: str, network: Network | None, transactional_id: str, timeout_ms: int = 60_000) -> None:
        host, _, port = servers.rpartition(":")
        config = ClientConfig(bootstrap_servers=((host, int(port)),))
        self.errors = BackgroundErrors()
        self._assembly = Assembly(config, Environment(network), self.errors)
        settings = ChannelSettings(self._assembly.metadata, _REQUEST_MS, self._assembly.backoff, self._assembly.rng)
        options = TransactionOptions(
            transactional_id,
            timeout_ms,
            self._assembly.features_of,
            SystemClock().now_ms,
            self._assembly.metadata.id_of,
        )
        self.transactions = TransactionManager(options, settings)
        self.batches = OneBatchAtATime(self._assembly, self.transactions)
        self._turned = asyncio.Event()
        self._faulty = LosesAnswers(self.transactions)
        self._engine = self._assembly.engine((self.batches, self._faulty), self._turned.set)

    async def __aenter__(self) -> Self:
        self._engine.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._engine.stop()

    def lose_next_answer(self, api: str) -> None:
        """Lose the next answer of an API."""
        self._faulty.losing = api

    def disconnect(self) -> None:
        """Break all connections. The next requests open others."""
        for link in self._assembly._router._links.values():
            if link.connection is not None:
                link.connection.abort()

    @property
    def lost(self) -> int:
        """The number of answers that were lost."""
        return self._faulty.lost

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """Its id and epoch."""
        return self.transactions.producer

    async def prepare(self) -> ProducerIdAndEpoch:
        """Get an id."""
        self.transactions.prepare()
        await self._until(lambda: not self.transactions.is_preparing)
        self.transactions.check()
        return self.producer

    async def flush(
        self,
        records: Mapping[TopicPartition, bytes],
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        who: GroupMetadata | None = None,
    ) -> None:
        """Write records and give offsets at once, and wait until both are confirmed."""
        for partition, value in records.items():
            self.batches.write(partition, value)
        if offsets is not None and who is not None:
            self.transactions.send_offsets(offsets, who)
        await self._until(
            lambda: (
                self.transactions.has_failed
                or (self.batches.confirmed >= 0 and self._is_flushed and self.transactions.are_offsets_stored)
            )
        )
        self.transactions.check()

    async def commit(self) -> None:
        """Commit the transaction."""
        self.transactions.commit()
        await self._until(lambda: not self.transactions.is_committing)
        self.transactions.check()
        self.transactions.conclude()

    async def renew(self) -> None:
        """Abort the transaction, and begin again."""
        self.batches.drop()
        self.transactions.abort()
        await self._until(lambda: not self.transactions.is_aborting)
        self.transactions.renew()
        await self.prepare()

    @property
    def _is_flushed(self) -> bool:
        return not self.batches._queued

    async def _until(self, holds: Callable[[], bool]) -> None:
        self._engine.turn()
        async with asyncio.timeout(_PATIENCE_S):
            while not holds():
                self._turned.clear()
                self.errors.raise_first()
                await self._turned.wait()
