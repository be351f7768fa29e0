"""Sends single batches with the producer, epoch and sequence number that a test wants, and shows the whole answer."""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_groups.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.raw_producer import Asks

_WITH_IDS, _INIT = 13, 5
_NOT_YET = (
    *(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_ID),
    *(ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS),
)


@frozen
class BatchSender:
    """A producer that sends one batch at a time to one partition.

    Attributes:
        client: A connection to the leader.
        topic: The topic.
        producer_id: Its id, or -1 for a producer that is not idempotent.
        epoch: Its epoch.
        transactional_id: Its transactional id. Without one, batches are not part of a transaction.
        version: The version of its Produce requests.
        wall_ms: The time of records without a timestamp.
    """

    client: Asks
    topic: Topic
    producer_id: int = -1
    epoch: int = -1
    transactional_id: str | None = None
    version: int = _WITH_IDS
    wall_ms: Callable[[], int] = SystemClock().wall_ms

    async def send(
        self, sequence: int, *values: bytes | NewRecord, epoch: int | None = None, **options: Any
    ) -> tuple[str, int]:
        """Send a batch whose first record has a number; returns the name of the error and the first offset."""
        answer = await self.answer(sequence, *values, epoch=epoch, **options)
        return answer.error_code.name, answer.base_offset

    async def answer(
        self, sequence: int, *values: bytes | NewRecord, epoch: int | None = None, **options: Any
    ) -> PartitionProduceResponse:
        """As `send`, with the whole answer for the partition."""
        request = self.request(sequence, values, epoch=epoch, **options)

        async def once() -> PartitionProduceResponse:
            response: ProduceResponse = await self.client.ask(request, self.version)
            [found] = response.responses[0].partition_responses
            return found

        return await until(once, lambda it: it.error_code not in _NOT_YET, timeout_s=30)

    def request(
        self, sequence: int, values: Sequence[bytes | NewRecord], *, epoch: int | None = None, **options: Any
    ) -> ProduceRequest:
        """A request with one batch."""
        given = {
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch if epoch is None else epoch,
            "base_sequence": sequence,
            "is_transactional": self.transactional_id is not None,
            **options,
        }
        records = [
            each if isinstance(each, NewRecord) else NewRecord(each, timestamp_ms=self.wall_ms()) for each in values
        ]
        data = (PartitionProduceData(index=0, records=build_batch(records, 0, BatchOptions(**given))),)
        named: dict[str, Any] = (
            {"topic_id": self.topic.topic_id} if self.version >= _WITH_IDS else {"name": self.topic.name}
        )
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=(TopicProduceData(**named, partition_data=data),),
        )


async def new_producer_id(client: Asks) -> int:
    """The id of a new idempotent producer, in epoch 0."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    response = await until(lambda: client.ask(request, _INIT), lambda it: it.error_code is ErrorCode.NONE)
    return int(response.producer_id)


async def idempotent_sender(client: Asks, topic: Topic, **fields: Any) -> BatchSender:
    """A sender with a new id."""
    return BatchSender(client, topic, await new_producer_id(client), 0, **fields)
