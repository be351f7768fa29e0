"""The identity that the batches of a producer carry: its id and epoch, and what a transaction adds to them.

`ProduceManager` asks it before it drains a batch. There is one with transactions and one without.
"""

from typing import Protocol

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import TopicPartition

__all__ = ["ProducerIdentity"]


class ProducerIdentity(Protocol):
    """The identity of one producer, which may change while it runs."""

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """The id and the epoch. While it is `NO_PRODUCER`, no batch is drained."""

    @property
    def is_transactional(self) -> bool:
        """True if batches belong to transactions."""

    @property
    def transactional_id(self) -> str | None:
        """The transactional id, or None without transactions."""

    @property
    def newest_produce_version(self) -> int | None:
        """The newest version of Produce to use: 11 in transactions v1. None: no limit."""

    def may_produce(self, partition: TopicPartition) -> bool:
        """Return whether a batch of this partition may be sent now.

        In transactions v1 a partition joins the transaction before its first batch. Asking notes that it should.
        """

    def note_produced(self, partition: TopicPartition) -> None:
        """Note that a batch was sent. In transactions v2 this opens the transaction."""

    def lose(self, error: KafkaGroupsError) -> None:
        """Note an error after which this identity cannot write: the transaction is lost, or the id is unusable."""

    def raise_epoch(self) -> None:
        """Continue with the next epoch, or with a new id once its epochs are used up (KIP-360).

        Only without transactions, and only while nothing of the producer is in flight.
        """
