"""Records as lines of JSON, written by msgspec: the standard library takes three times as long."""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, Final

import msgspec

from kafka_groups.cli.documents.records import DeliveredRecordEntry, RecordEntry
from kafka_groups.cli.record_headers import headers_to_json
from kafka_groups.cli.records.record_columns import PrintableColumns
from kafka_groups.serdes.json_values import bytes_to_json
from kafka_groups.share.delivery.columns import FIELDS
from kafka_groups.types import Header

__all__ = ["JsonLines"]


class _RecordLine(msgspec.Struct, gc=False):
    """A line of `consume --json`, in the order of `RecordEntry`."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: Any
    value: Any
    headers: Sequence[Any]


class _DeliveredRecordLine(_RecordLine, gc=False):
    """A line of `share-consume --json`, in the order of `DeliveredRecordEntry`."""

    delivery_count: int


_NONE: Final[Sequence[Any]] = ()


class JsonLines:
    """Records as JSON, one object a line.

    Args:
        counts_deliveries: Whether lines have the delivery count.
    """

    def __init__(self, *, counts_deliveries: bool) -> None:
        self._counts_deliveries = counts_deliveries
        self._encode = msgspec.json.Encoder().encode_lines

    def __repr__(self) -> str:
        return f"<JsonLines of {self.kind.__name__}>"

    @property
    def kind(self) -> type[RecordEntry]:
        """The class of documents that the lines are objects of."""
        return DeliveredRecordEntry if self._counts_deliveries else RecordEntry

    @property
    def fields(self) -> frozenset[str]:
        """The names of all columns."""
        return FIELDS

    def text(self, records: PrintableColumns) -> bytes:
        """Return the lines."""
        columns: list[Iterable[Any]] = [
            repeat(records.topic),
            repeat(records.partition),
            records.offsets(),
            records.times_ms(),
            _shown(records.keys()),
            _shown(records.values()),
            map(_shown_headers, records.headers()),
        ]
        if self._counts_deliveries:
            lines: list[Any] = list(map(_DeliveredRecordLine, *columns, records.delivery_counts()))
        else:
            lines = list(map(_RecordLine, *columns))
        text: bytes = self._encode(lines)
        return text


def _shown(column: Iterable[bytes | None]) -> list[Any]:
    try:
        return [each.decode() for each in column]  # type: ignore[union-attr] # null is the exception
    except (AttributeError, UnicodeDecodeError):
        return [None if each is None else bytes_to_json(each) for each in column]


def _shown_headers(headers: Sequence[Header]) -> Sequence[Any]:
    return headers_to_json(tuple(headers)) if headers else _NONE
