"""Entries of the log of an internal topic, as a coordinator reads them: records, and ends of transactions."""

from typing import Generic, TypeVar

from attrs import frozen

__all__ = ["EndMarker", "LogEntry", "Producer", "TransactionEnd"]

R = TypeVar("R")


@frozen
class Producer:
    """A transactional producer.

    Attributes:
        producer_id: Its id.
        epoch: Its epoch. The marker of a transaction may have a newer one than its records.
    """

    producer_id: int
    epoch: int


@frozen
class EndMarker:
    """The end of a producer's transaction, to be written to a log.

    Attributes:
        producer: The producer.
        committed: Whether the transaction was committed. Otherwise its records never count.
        coordinator_epoch: The epoch of the transaction coordinator. An older coordinator may not write any more.
        version: The version of transactions that the producer uses. From 2 on, the epoch of a marker is newer than that
            of the records.
    """

    producer: Producer
    committed: bool
    coordinator_epoch: int = 0
    version: int = 0


@frozen
class LogEntry(Generic[R]):
    """A record.

    Attributes:
        offset: Its offset.
        record: The record.
        producer: The producer whose transaction the record belongs to. Without one it counts at once.
    """

    offset: int
    record: R
    producer: Producer | None = None


@frozen
class TransactionEnd:
    """A marker: the transaction of a producer has ended.

    Attributes:
        offset: Its offset.
        producer: The producer.
        committed: Whether it was committed. Otherwise its records never count.
    """

    offset: int
    producer: Producer
    committed: bool
