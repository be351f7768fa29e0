"""The rows of a store as its engine has them, in pages: bytes alone, so that reading them calls nobody's code."""

import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from attrs import field, frozen

from kafka_groups.streams.state.closed_versions import ClosedVersions
from kafka_groups.streams.state.engine import EngineReader, KeyedBytes
from kafka_groups.streams.state.segments import MAX_MS, Segments
from kafka_groups.streams.state.session_stores import SessionState
from kafka_groups.streams.state.stores import SessionDefinition, StoreDefinition, WindowDefinition
from kafka_groups.streams.state.timed_rows import oldest_kept
from kafka_groups.streams.state.versioned_stores import StoredVersion, times_in, valid_version
from kafka_groups.streams.state.window_stores import WindowState

__all__ = [
    "FoundPage",
    "KeyPart",
    "PageOf",
    "RowsOf",
    "RowsPart",
    "StorePart",
    "TimePart",
    "read_page",
    "read_row",
    "read_rows",
    "read_version",
]

_TIME: Final = struct.Struct(">q")
_AFTER_TIME: Final = b"\xff"


@frozen
class RowsPart:
    """The rows of a key-value store with `low` <= row < `high`; None: to the last row."""

    low: bytes
    high: bytes | None


@frozen
class KeyPart:
    """The rows of a key in a window or session store, by their times: starts of windows, or ends of sessions.

    Attributes:
        key: The key.
        first_ms: The first time.
        last_ms: The last one.
        latest_start_ms: The last start of a session.
    """

    key: bytes
    first_ms: int
    last_ms: int
    latest_start_ms: int = MAX_MS


@frozen
class TimePart:
    """The rows of all keys of a window or session store with times from `first_ms` to `last_ms`, both included."""

    first_ms: int
    last_ms: int


StorePart = RowsPart | KeyPart | TimePart
"""A part of a store. The rows of a `TimePart` are in the order of time and row, those of others in that of rows."""


@frozen
class PageOf:
    """A page of a part of a store.

    Attributes:
        part: The part.
        limit: The most rows.
        after: The last row of the page before.
        reverse: Whether the order is reversed.
        ahead: The number of next pages to put in order at once, if finding the order costs more than reading the rows.
    """

    part: StorePart
    limit: int
    after: bytes | None = None
    reverse: bool = False
    ahead: int = 0


@frozen
class RowsOf:
    """Some rows of a store.

    Attributes:
        rows: Their keys in the store.
    """

    rows: Sequence[bytes]


@frozen
class FoundPage:
    """A page, and what is known about the next ones.

    Attributes:
        rows: The rows of the page.
        following: The keys of the rows that follow, without their values. They are known if finding their order costs
            more than reading them.
        has_more: Whether there may be rows after those.
    """

    rows: list[KeyedBytes]
    following: list[bytes] = field(factory=list)
    has_more: bool = False


def read_row(definition: StoreDefinition, reader: EngineReader, row: bytes) -> bytes | None:
    """Return what a store has for a row, or None. A row that has expired is not there."""
    if not isinstance(definition, WindowDefinition | SessionDefinition):
        return reader.table(definition.name).get(row)
    segments, oldest_ms = _timed(definition, reader)
    return segments.get(row) if segments.time_in(row) >= oldest_ms else None


def read_version(
    definition: StoreDefinition, reader: EngineReader, key: bytes, as_of_ms: int | None
) -> StoredVersion | None:
    """Return the version of a key that is valid at a time, or None. Without a time: the newest one."""
    versioned: Any = definition
    closed = ClosedVersions(reader, versioned.name, versioned.segment_ms)
    oldest_ms = times_in(reader, versioned.name)[0] - versioned.history_ms
    return valid_version(reader.table(versioned.name).get(key), closed, oldest_ms, key, as_of_ms)


def read_rows(definition: StoreDefinition, reader: EngineReader, rows: Sequence[bytes]) -> list[KeyedBytes]:
    """Return those of some rows that are there, in the same order. Rows that have expired are not."""
    if not isinstance(definition, WindowDefinition | SessionDefinition):
        get = reader.table(definition.name).get
        return [(row, stored) for row in rows if (stored := get(row)) is not None]
    segments, oldest_ms = _timed(definition, reader)
    return _kept(segments, rows, oldest_ms)


def read_page(definition: StoreDefinition, reader: EngineReader, page: PageOf) -> FoundPage:
    """Return the rows of a page, without those that have expired."""
    part: Any = page.part
    if not isinstance(definition, WindowDefinition | SessionDefinition):
        low, high = _behind(part.low, part.high, page)
        return _page_of(reader.table(definition.name).scan(low, high, reverse=page.reverse), page)
    segments, oldest_ms = _timed(definition, reader)
    # No time is before 0, whose bytes would come after all others.
    first_ms, last_ms = max(part.first_ms, oldest_ms, 0), min(part.last_ms, MAX_MS)
    if first_ms > last_ms:
        return FoundPage([])
    if isinstance(part, KeyPart):
        return _page_of(_of_key(segments, part, first_ms, last_ms, page), page)
    limit, most = page.limit, (1 + page.ahead) * page.limit
    rows, has_more = segments.order_by_time(first_ms, last_ms, page.after, limit, most, reverse=page.reverse)
    return FoundPage(_kept(segments, rows[:limit], first_ms), rows[limit:], has_more)


def _page_of(rows: Iterator[KeyedBytes], page: PageOf) -> FoundPage:
    found = list(islice(rows, page.limit))
    return FoundPage(found, has_more=len(found) >= page.limit)


def _kept(segments: Segments, rows: Sequence[bytes], oldest_ms: int) -> list[KeyedBytes]:
    found = ((row, segments.get(row)) for row in rows if segments.time_in(row) >= oldest_ms)
    return [(row, stored) for row, stored in found if stored is not None]


def _of_key(segments: Segments, part: KeyPart, first_ms: int, last_ms: int, page: PageOf) -> Iterator[KeyedBytes]:
    # What follows the time has a fixed length, and no row of the last time is behind so many bytes 255 and one more.
    behind = _AFTER_TIME * (segments.place_bytes - _TIME.size + 1)
    low, high = _behind(part.key + _TIME.pack(first_ms), part.key + _TIME.pack(last_ms) + behind, page)
    for row, stored in segments.scan_key(part.key, low, high, first_ms, last_ms, reverse=page.reverse):
        if part.latest_start_ms >= MAX_MS or _TIME.unpack_from(row, len(row) - _TIME.size)[0] <= part.latest_start_ms:
            yield row, stored


def _behind(low: bytes, high: bytes | None, page: PageOf) -> tuple[bytes, bytes | None]:
    """Return the bounds of what follows the page before."""
    if page.after is None:
        return low, high
    return (low, page.after) if page.reverse else (page.after + b"\0", high)


def _timed(
    definition: WindowDefinition[Any, Any] | SessionDefinition[Any, Any], reader: EngineReader
) -> tuple[Segments, int]:
    """Return the segments of a store, and the earliest time of a row that has not expired."""
    if isinstance(definition, WindowDefinition):
        place_bytes, retention_ms = WindowState.place_bytes, WindowState.kept_ms(definition)
    else:
        place_bytes, retention_ms = SessionState.place_bytes, definition.retention_ms
    segments = Segments(reader, definition.name, retention_ms, place_bytes)
    return segments, oldest_kept(reader, definition.name, retention_ms)
