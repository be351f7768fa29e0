"""Writes records of many owners with one idempotent producer, and reports when all in-sync replicas have them."""

import asyncio
import random
from functools import partial
from typing import Final

from attrs import evolve

from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.confirmed.room import MOST_BYTES, OnHeld, OnOutcomes, WriterRoom
from kafka_groups.records.confirmed.topic_producer import TopicProducerParts
from kafka_groups.records.confirmed.write_manager import WriteManager
from kafka_groups.records.confirmed.writes import RecordToWrite, WritableRecord, WriteOutcome
from kafka_groups.records.metrics import ProducerSources
from kafka_groups.records.producing.idempotent import IdempotentIdentity
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.records.producing.refusal_texts import not_writable
from kafka_groups.records.writer import writer_settings

__all__ = ["ConfirmedWriter", "RecordToWrite", "WritableRecord", "WriteOutcome", "WriterRoom"]

_LARGEST_RECORD: Final = 2**31 - 1 - 1024 * 1024
"""The size of a request is an int32. Brokers and topics have smaller limits, and decide."""
_WHOSE: Final = "confirmed"


class ConfirmedWriter:
    """An idempotent producer for all handlers of a process, on the event loop of their consumers.

    Each write has a token and gets an outcome, but while a topic is missing, forbidden or does not answer: its records
    wait without end, and their owner hears that they do. No record waits for another topic: each has requests of its
    own, and connections on which nothing of another topic waits for an answer. There is no limit of records' sizes but
    that of brokers and topics, and no delivery timeout.

    The first write starts it on the running loop.

    Args:
        config: How to reach the brokers.
        environment: Network, clock and randomness.
        producer: The size of batches, and their compression. By default, batches wait for no other records
            (`linger.ms` is 0).
        principal: The user that the brokers know, for messages about missing rights; None if it is not known here.
    """

    def __init__(
        self,
        config: ClientConfig,
        environment: Environment | None = None,
        producer: ProducerConfig | None = None,
        *,
        principal: str | None = None,
    ) -> None:
        environment = environment or Environment()
        producer = producer or ProducerConfig(linger_ms=0)
        self._client = client = RecordsClient(config, environment, metadata_max_age_ms=producer.metadata_max_age_ms)
        self._sensors = ProducerSensors(client.steady_clock.now_ms)
        identity = IdempotentIdentity(client.errors, client.backoff(), producer.request_timeout_ms, holds_denied=True)
        settings = writer_settings(producer, principal=principal, is_transactional=False)
        batches = evolve(settings.batches, max_request_bytes=_LARGEST_RECORD, limits_records=False)
        requests = evolve(
            settings.requests, missing_topic_ms=None, holds_denied=True, limits_records=False, collects=True
        )
        client.explain_denied(_WHOSE, partial(not_writable, principal=requests.principal))
        parts = TopicProducerParts(
            batches=batches,
            requests=requests,
            topics=client.metadata,
            refresh=client.refresh_metadata,
            identity=identity,
            rng=environment.rng or random.Random(),
            errors=client.errors,
            new_backoff=client.backoff,
            sensors=self._sensors,
            on_news=client.turn,
            wall_ms=client.clock.wall_ms,
        )
        self._manager = WriteManager(parts, lambda topics: client.want_topics(topics, _WHOSE), self._tell_soon)
        # In this order: a batch asks for an id, and the question is sent in the same turn.
        client.add(self._manager)
        client.add(identity)
        self._rooms = 0

    def __repr__(self) -> str:
        return f"<ConfirmedWriter: {counted(self._manager.pending, 'record')} unconfirmed>"

    @property
    def fatal(self) -> KafkaGroupsError | None:
        """The error after which nothing can be written any more, or None. It is the outcome of all writes then."""
        return self._client.errors.fatal

    @property
    def pending(self) -> int:
        """The number of records that are neither written nor refused."""
        return self._manager.pending

    @property
    def metric_sources(self) -> ProducerSources:
        """The sources of its metrics now. Any thread may ask."""
        whole = MOST_BYTES * max(self._rooms, 1)
        free = max(whole - self._manager.held_bytes, 0)
        return ProducerSources(self._sensors, whole, free, self._client.steady_clock.now_ms())

    def room(self, owner: str, took: OnOutcomes, held: OnHeld) -> WriterRoom:
        """Return a room for the records of an owner.

        Args:
            owner: The owner's name.
            took: Receives outcomes on the loop, those of one response together. It must not raise.
            held: Receives a topic and an error when its records begin to wait, and the topic and None when they go on.
                It must not raise.
        """
        self._rooms += 1
        return WriterRoom(owner, took, held, self._manager)

    async def close(self) -> None:
        """Close the connections. Records without an outcome are dropped, and nobody hears of them any more."""
        self._manager.close()
        await self._client.close()

    def _tell_soon(self) -> None:
        # Not at once: an owner may be in the middle of a write.
        asyncio.get_running_loop().call_soon(self._manager.deliver)
