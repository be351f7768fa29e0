"""The effects that a shard of transactional ids asks for."""

from attrs import frozen

from kafka_groups.broker.coordinators.result import Effect
from kafka_groups.broker.log.entries import Producer
from kafka_groups.types import TopicPartition

__all__ = ["WriteMarkers"]


@frozen
class WriteMarkers(Effect):
    """Write the markers that end a transaction, until each partition that still exists has one.

    Attributes:
        transactional_id: The id.
        producer: The producer, with the epoch that the markers have.
        committed: Whether the transaction is committed. Otherwise it is aborted.
        version: The version of transactions that the producer uses.
        partitions: The partitions.
    """

    transactional_id: str
    producer: Producer
    committed: bool
    version: int
    partitions: frozenset[TopicPartition]
