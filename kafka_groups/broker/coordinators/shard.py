"""What all coordinators have in common: a shard is the state that one partition of an internal topic keeps."""

from typing import Protocol, TypeVar

from kafka_groups.broker.coordinators.result import Result

__all__ = ["LogUpkeep", "Shard"]

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

    def compact(self) -> None:
        """Keep the last record of each key, unless it is a tombstone."""
        ...


class Shard(Protocol[Record]):
    """The state of one partition. Only `replay` changes hard state; operations return a `Result`.

    Soft state, such as deadlines, may be changed by operations. It ends with the shard.
    """

    def replay(self, record: Record, offset: int) -> None:
        """Apply a record of the log."""
        ...

    def loaded(self, now_ms: int, wall_ms: int) -> Result[None, Record]:
        """Begin, after all records were replayed. The effects are all that are outstanding."""
        ...

    def metadata_changed(self, now_ms: int, wall_ms: int) -> Result[None, Record]:
        """Follow a change of the metadata."""
        ...

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None."""
        ...

    def expire(self, now_ms: int) -> Result[object, Record]:
        """Do what is due."""
        ...

    def tidy(self, log: LogUpkeep, wall_ms: int) -> tuple[Record, ...]:
        """Keep the log short, after records were appended, and return records to append for that."""
        ...
