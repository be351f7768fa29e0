"""The interface between tasks and stores of every kind."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from attrs import define, frozen

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.streams.state.engine import Changes, EngineReader, Notes
from kafka_groups.streams.state.formats import NO_TIMESTAMP
from kafka_groups.types import Headers, RecordRow

__all__ = [
    "ENTRY_BYTES",
    "ChangelogRecord",
    "RecordContext",
    "StateStore",
    "StoreSurroundings",
    "batch_of",
]

ENTRY_BYTES = 200
"""The memory of an uncommitted change in addition to its key and value: a small change takes 250 bytes in all."""


class ChangelogRecord(NamedTuple):
    """One change of a store as its changelog has it.

    Attributes:
        key: Its key.
        value: Its value; None deletes the key.
        timestamp_ms: Its timestamp. None: the time at which it is written.
        headers: Its headers.
    """

    key: bytes
    value: bytes | None
    timestamp_ms: int | None
    headers: Headers = ()


def batch_of(records: Iterable[ChangelogRecord]) -> ChangelogBatch:
    """Return records as a batch. One without a timestamp gets the one of values without."""
    found = list(records)
    return ChangelogBatch(
        offsets=range(len(found)),
        keys=[record.key for record in found],
        values=[record.value for record in found],
        timestamps_ms=[NO_TIMESTAMP if record.timestamp_ms is None else record.timestamp_ms for record in found],
        headers=[record.headers for record in found],
    )


@define
class RecordContext:
    """The record that a task is processing. There is one for each task, and operators change it.

    Attributes:
        topic: Its topic, or None in a punctuation.
        partition: Its partition, -1 in a punctuation.
        offset: Its offset, -1 in a punctuation.
        timestamp_ms: The timestamp of the record that a processor of the user's has.
        headers: The headers of that record.
        raw: The record as its topic has it, or None in a punctuation.
        is_latest: Whether the change that the versioned table above forwards is the newest of its key (KIP-914).
    """

    topic: str | None = None
    partition: int = -1
    offset: int = -1
    timestamp_ms: int = 0
    headers: Headers = ()
    raw: RecordRow | None = None
    is_latest: bool = True

    def clear(self, timestamp_ms: int) -> None:
        """Forget the record: processors see a time, and neither a place nor headers (StreamTask.punctuate in Kafka)."""
        self.topic, self.partition, self.offset = None, -1, -1
        self.timestamp_ms, self.headers, self.raw = timestamp_ms, (), None


def _uncounted(_store: str, _reason: str) -> None:
    """Count nothing: only tasks put rows into stores."""


@frozen(kw_only=True)
class StoreSurroundings:
    """The parts of a task that a store uses.

    Attributes:
        topic: The topic that its serdes get: its changelog, or the topic that serves as one.
        engine: Keeps what is committed.
        record: The record that the task is processing.
        is_caching: Whether the application lets operators hold updates back.
        dropped: Counts and logs a row that a store does not keep, by the store's name and the reason.
    """

    topic: str
    engine: EngineReader
    record: RecordContext
    is_caching: bool
    dropped: Callable[[str, str], None] = _uncounted


class StateStore(Protocol):
    """A store of one task.

    Attributes:
        uncommitted_bytes: The memory of the changes since the last commit. Earlier changes of the same key count, too.
    """

    uncommitted_bytes: int

    @property
    def name(self) -> str:
        """The store's name."""

    @property
    def is_changed(self) -> bool:
        """Return whether anything has changed since the last commit."""

    def recount(self) -> None:
        """Count `uncommitted_bytes` again, each key once."""

    def flush(self) -> None:
        """Forward updates that were held back."""

    def changelog(self) -> Iterable[ChangelogRecord]:
        """Return the changes since the last commit, one for each key."""

    def changes(self) -> Changes:
        """Return the changes since the last commit as the engine takes them. Commit them before anything else."""

    def notes(self) -> Notes:
        """Return what the engine has to keep together with these changes, or with those of `restore`."""

    def committed(self) -> None:
        """Forget the changes: the engine has them."""

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state. Load it before anything else."""
