"""The interface between tasks and stores of every kind."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from attrs import define, frozen

from kafka_groups.streams.state.engine import Engine
from kafka_groups.types import Headers

__all__ = ["ENTRY_BYTES", "ChangelogRecord", "RawRecord", "RecordContext", "StateStore", "StoreSurroundings"]

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


class RawRecord(Protocol):
    """A record as its topic has it."""

    @property
    def key(self) -> bytes | None:
        """Its key."""

    @property
    def value(self) -> bytes | None:
        """Its value."""


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
    """

    topic: str | None = None
    partition: int = -1
    offset: int = -1
    timestamp_ms: int = 0
    headers: Headers = ()
    raw: RawRecord | None = None


@frozen(kw_only=True)
class StoreSurroundings:
    """The parts of a task that a store uses.

    Attributes:
        topic: The topic that its serdes get: its changelog, or the topic that serves as one.
        engine: Keeps what is committed.
        record: The record that the task is processing.
        is_caching: Whether the application lets operators hold updates back.
    """

    topic: str
    engine: Engine
    record: RecordContext
    is_caching: bool


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

    def commit(self) -> None:
        """Move the changes into the committed state."""

    def restore(self, record: ChangelogRecord) -> None:
        """Apply one record of the changelog to the committed state."""
