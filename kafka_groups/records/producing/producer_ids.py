"""The identity of a producer, by which brokers tell its batches from those of others (KIP-98)."""

from typing import Final

from attrs import frozen

__all__ = ["NO_PRODUCER", "ProducerIdAndEpoch"]


@frozen
class ProducerIdAndEpoch:
    """The id that a broker has given, and the epoch, which fences earlier producers with the same transactional id.

    Attributes:
        producer_id: The id; -1 without one.
        epoch: The epoch; -1 without an id.
    """

    producer_id: int
    epoch: int


NO_PRODUCER: Final = ProducerIdAndEpoch(-1, -1)
"""A producer that has not asked for an id yet."""
