"""Entries of the log of an internal topic, as a coordinator reads them: records, and ends of transactions."""

from typing import Generic, TypeVar

from attrs import frozen

__all__ = ["LogEntry", "Producer", "TransactionEnd"]

R = TypeVar("R")


@frozen
class Producer:
    """A transactional producer.

    Attributes:
        producer_id: Its id.
        epoch: Its epoch. The marker of an aborted transaction may have a newer one.
    """

    producer_id: int
    epoch: int


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
