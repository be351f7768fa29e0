"""The share coordinators and the queues of dead letters, as leaders of share-partitions use them."""

from collections.abc import Callable
from typing import Protocol

from attrs import frozen

from kafka_groups.broker.share_partitions.dead_letters import DeadLetterRun
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.broker.share_partitions.persister import Persister

__all__ = ["LetterQueues", "ShareWriters"]


class LetterQueues(Protocol):
    """Takes the dead letters of records (KIP-1191). `DeadLetterQueueWriter` implements this."""

    def write(self, key: SharePartitionKey, run: DeadLetterRun, done: Callable[[bool], None]) -> None:
        """Write the letters of a run, later.

        Args:
            key: The share-partition.
            run: The records.
            done: Takes whether all letters were written; never before this returns.
        """
        ...


@frozen
class ShareWriters:
    """The places that leaders of share-partitions write to.

    Attributes:
        state: Keeps the states of share-partitions.
        letters: Writes dead letters.
    """

    state: Persister
    letters: LetterQueues
