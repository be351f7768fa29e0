"""The forms in which records are printed: values, the letters of `--format`, or lines of JSON."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol

from attrs import frozen

from kafka_groups.cli.records.record_columns import PrintableColumns
from kafka_groups.types import Header

__all__ = ["FormattedRecords", "RecordForm", "ValueLines", "read_format"]


class RecordForm(Protocol):
    """A form in which records are printed."""

    @property
    def fields(self) -> frozenset[str]:
        """The names of the columns that it needs, as in `kafka_groups.share.delivery.columns`."""

    def text(self, records: PrintableColumns) -> bytes:
        """Return what is printed."""


@frozen
class ValueLines:
    """Values, one a line. Null is an empty line."""

    fields: ClassVar[frozenset[str]] = frozenset({"value"})

    def text(self, records: PrintableColumns) -> bytes:
        """Return the lines."""
        if not len(records):
            return b""
        values = records.values()
        try:
            return b"\n".join([*values, b""])  # type: ignore[list-item] # null is the exception
        except TypeError:
            return b"\n".join([*_data(values), b""])


@frozen
class FormattedRecords:
    """Records as a format says.

    Attributes:
        template: What `%` of bytes takes.
        columns: Return the columns that the template has places for.
        fields: The names of the columns that are needed for those.
    """

    template: bytes
    columns: Sequence[Callable[[PrintableColumns], Iterable[Any]]]
    fields: frozenset[str]

    def text(self, records: PrintableColumns) -> bytes:
        """Return the records, one after the other."""
        found = zip(*(column(records) for column in self.columns), strict=True) if self.columns else [()] * len(records)
        return b"".join(map(self.template.__mod__, found))


def read_format(text: str, *, counts_deliveries: bool) -> FormattedRecords:
    r"""Return the form that a `--format` says.

    Args:
        text: Text with the letters of records, `%%`, and `\n`, `\t` and `\\`.
        counts_deliveries: Whether records have a delivery count.

    Raises:
        ValueError: A letter is unknown.
    """
    template, parts = bytearray(), list[_FormPart]()
    letters = iter(text)
    for letter in letters:
        if letter == "%":
            template += _place(next(letters, ""), parts, counts_deliveries=counts_deliveries)
        elif letter == "\\":
            template += _escaped(next(letters, ""))
        else:
            template += letter.encode()
    fields = frozenset(each.field for each in parts if each.field)
    return FormattedRecords(bytes(template), [each.column for each in parts], fields)


def _place(letter: str, parts: list["_FormPart"], *, counts_deliveries: bool) -> bytes:
    if letter == "%":
        return b"%%"
    if letter == _DELIVERIES and not counts_deliveries:
        raise ValueError("%d is the delivery count, which only records of share-consume have.")
    if letter not in _LETTERS:
        known = ", ".join(f"%{each}" for each in _LETTERS if counts_deliveries or each != _DELIVERIES)
        raise ValueError(f"%{letter} is not a part of a record. Use {known}, or %% for a percent sign.")
    parts.append(_LETTERS[letter])
    return _LETTERS[letter].place


def _escaped(letter: str) -> bytes:
    if letter not in _ESCAPES:
        raise ValueError(f"\\{letter} is unknown. Use \\n for a new line, \\t for a tab, or \\\\ for a backslash.")
    return _ESCAPES[letter]


_ESCAPES: Final[Mapping[str, bytes]] = MappingProxyType({"n": b"\n", "t": b"\t", "\\": b"\\"})
_DELIVERIES: Final = "d"


def _topics(records: PrintableColumns) -> Iterable[bytes]:
    return repeat(records.topic.encode(), len(records))


def _partitions(records: PrintableColumns) -> Iterable[int]:
    return repeat(records.partition, len(records))


def _offsets(records: PrintableColumns) -> Iterable[int]:
    return records.offsets()


def _keys(records: PrintableColumns) -> Iterable[bytes]:
    return _data(records.keys())


def _values(records: PrintableColumns) -> Iterable[bytes]:
    return _data(records.values())


def _times(records: PrintableColumns) -> Iterable[bytes]:
    return [b"" if at is None else b"%d" % at for at in records.times_ms()]


def _headers(records: PrintableColumns) -> Iterable[bytes]:
    return [_joined(each) if each else b"" for each in records.headers()]


def _deliveries(records: PrintableColumns) -> Iterable[int]:
    return records.delivery_counts()


def _data(column: Iterable[bytes | None]) -> list[bytes]:
    return [each or b"" for each in column]


def _joined(headers: Sequence[Header]) -> bytes:
    return b",".join(b"%b=%b" % (name.encode(), value or b"") for name, value in headers)


@frozen
class _FormPart:
    """A part of a record in a format.

    Attributes:
        place: Its place in a template.
        column: Returns its column.
        field: The name of the column that has to be read; "" for none.
    """

    place: bytes
    column: Callable[[PrintableColumns], Iterable[Any]]
    field: str = ""


_LETTERS: Final[Mapping[str, _FormPart]] = MappingProxyType({
    "t": _FormPart(b"%b", _topics),
    "p": _FormPart(b"%d", _partitions),
    "o": _FormPart(b"%d", _offsets),
    "k": _FormPart(b"%b", _keys, "key"),
    "v": _FormPart(b"%b", _values, "value"),
    "T": _FormPart(b"%b", _times, "timestamp"),
    "h": _FormPart(b"%b", _headers, "headers"),
    _DELIVERIES: _FormPart(b"%d", _deliveries),
})  # fmt: skip
