"""Acknowledgements of several share-partitions: planned together, and settled one by one."""

from collections.abc import Callable

from attrs import frozen

from kafka_groups.broker.share_partitions.fetching import Batches
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.persisted_state import PersisterStateBatch
from kafka_groups.errors import BrokerError
from kafka_groups.types import TopicIdPartition

__all__ = ["PlannedAcknowledgement", "Settled"]

Settled = Callable[[dict[TopicIdPartition, BrokerError | None]], None]


@frozen
class PlannedAcknowledgement:
    """Valid acknowledgements of one share-partition.

    Attributes:
        share_partition: The share-partition.
        changes: The new states of the records that will not be acquired any more.
        batches: The acknowledgements as they came.
    """

    share_partition: SharePartition
    changes: tuple[PersisterStateBatch, ...]
    batches: Batches
