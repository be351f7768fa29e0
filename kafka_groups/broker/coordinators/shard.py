"""The parts that all coordinators share: a shard is the state of one partition of an internal topic."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.log.entries import Producer
from kafka_groups.errors import IllegalStateError

__all__ = ["LogUpkeep", "NoTransactions", "Shard"]

Record = TypeVar("Record")


class LogUpkeep(Protocol):
    """The log of a shard, as far as the shard keeps it short. `InternalLog` implements this."""

    @property
    def log_start_offset(self) -> int:
        """Offset of the first record."""
        ...

    @property
    def end_offset(self) -> int:
        """Offset of the next record."""
        ...

    @property
    def record_count(self) -> int:
        """Number of records."""
        ...

    def delete_records(self, before_offset: int) -> int:
        """Delete the records below an offset."""
        ...

    def compact_some(self) -> None:
        """Keep the last record of each key, unless it is a tombstone: a few records with each call."""
        ...


class NoTransactions:
    """A shard whose records belong to no transactions."""

    def end_transaction(self, producer: Producer, offset: int, *, committed: bool) -> None:
        """Refuse."""
        raise self.refused(producer)

    def refused(self, producer: Producer) -> IllegalStateError:
        """Return the error of a record that belongs to a transaction."""
        return IllegalStateError(f"{self!r} has no transactions, and got one of the producer {producer.producer_id}.")


class Shard(Protocol[Record]):
    """The state of one partition. Only `replay` changes hard state; operations return a `Result`.

    Soft state, such as deadlines, may be changed by operations. It ends with the shard.
    """

    def replay(self, record: Record, offset: int, producer: Producer | None = None) -> None:
        """Apply a record of the log. With a producer it is pending, until `end_transaction` is called."""
        ...

    def end_transaction(self, producer: Producer, offset: int, *, committed: bool) -> None:
        """Apply the pending records of a producer, or forget them.

        Only called if there are some. The epoch may be newer than that of the records.
        """
        ...

    def loaded(self, now_ms: int, wall_ms: int) -> Iterator[Result[None, Record]]:
        """Begin, after all records were replayed, with a part of the state at a time, so that none takes long.

        The effects of all parts together are all that are outstanding. They are performed after the last part. If
        topics are deleted before that, the iterator is abandoned, and this method is called again.
        """
        ...

    def metadata_changed(self, now_ms: int, wall_ms: int) -> Result[None, Record]:
        """Follow a change of the metadata."""
        ...

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None."""
        ...

    def expire(self, now_ms: int, wall_ms: int) -> Result[object, Record]:
        """Do what is due."""
        ...

    def tidy(self, log: LogUpkeep, wall_ms: int) -> tuple[Record, ...]:
        """Keep the log short, after records were appended, and return records to append for that."""
        ...
