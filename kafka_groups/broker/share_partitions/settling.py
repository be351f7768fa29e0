"""Acknowledgements of several share-partitions: planned together, and settled one by one."""

from collections.abc import Callable, Iterable

from attrs import frozen

from kafka_groups.broker.share_partitions.fetching import Batches
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.persisted_state import PersisterStateBatch
from kafka_groups.errors import BrokerError
from kafka_groups.types import TopicIdPartition

__all__ = ["Outcomes", "PlannedAcknowledgement", "Settled"]

Settled = Callable[[dict[TopicIdPartition, BrokerError | None]], None]


class Outcomes:
    """Waits for the outcomes of some partitions, and then passes them on in the order of the partitions."""

    def __init__(self, partitions: Iterable[TopicIdPartition], done: Settled) -> None:
        self._outcomes: dict[TopicIdPartition, BrokerError | None] = dict.fromkeys(partitions)
        self._missing = len(self._outcomes)
        self._done = done
        if not self._missing:
            done({})

    def add(self, partition: TopicIdPartition, error: BrokerError | None) -> None:
        """Take the outcome of one partition."""
        self._outcomes[partition] = error
        self._missing -= 1
        if not self._missing:
            self._done(self._outcomes)


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
