"""Files of comma-separated values, whose rows are records."""

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from kafka_groups.cli.topologies.input_records import Given, InputRecord, RecordMaker, RefusedLineError
from kafka_groups.errors.texts import counted

__all__ = ["CSV_NAMES", "CsvColumns", "read_csv_rows"]

CSV_NAMES = (
    "Only a file whose name ends with .csv is read as CSV. "
    "Write CSV of a pipe, a .tsv or a .csv.gz to such a file first."
)

_INTEGER = re.compile("-?[0-9]+")
_LONGEST_CELL = 2**27
"""In characters, more than a broker takes for a record. A quote that is not closed takes no more memory than this."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen(kw_only=True)
class CsvColumns:
    """The meaning of the columns of a file.

    Attributes:
        time: The column with the records' times, or one time for all of them in ms since 1970.
        key: The column with their keys; None: the keys are null.
        value: The column with their values; None: a value is an object of all columns.
        null: The text of cells that are null.
    """

    time: str | int
    key: str | None
    value: str | None
    null: str


def read_csv_rows(path: Path, maker: RecordMaker, columns: CsvColumns) -> Iterator[InputRecord]:
    """Iterate over the records of a file. Its first row has the names of the columns. Empty lines are skipped.

    Raises:
        RefusedLineError: A row is not a record of the topic, or a column is missing.
    """
    csv.field_size_limit(_LONGEST_CELL)
    with path.open("rb") as file:
        reader, number = csv.reader(_text(file), strict=True), 1
        try:
            rows = _Rows(maker, columns, next(reader, []))
            number = reader.line_num + 1
            for cells in reader:
                if cells:
                    yield rows.record(cells, number)
                number = reader.line_num + 1
        except (ValueError, csv.Error) as error:
            raise RefusedLineError(str(path), number, str(error)) from error


def _text(file: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(file):
        try:
            yield line.decode("utf-8" if number else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"it is not UTF-8 ({error.reason} at byte {error.start})") from error


class _Rows:
    """Makes records of rows."""

    def __init__(self, maker: RecordMaker, columns: CsvColumns, names: list[str]) -> None:
        self._maker, self._columns, self._names = maker, columns, names
        self._read_row = maker.value.form.read_row
        repeated = [name for at, name in enumerate(names) if name in names[:at]]
        if repeated:
            raise ValueError(f"there are two columns {repeated[0]!r}")
        for name in (columns.time, columns.key, columns.value):
            if isinstance(name, str) and name not in names:
                raise ValueError(f"there is no column {name!r}; the columns are: {', '.join(names) or 'none'}")
        if columns.value is None and self._read_row is None:
            raise ValueError("a row is an object of its columns, and the topic's values are not; use --value COLUMN")

    def record(self, cells: list[str], number: int) -> InputRecord:
        if len(cells) != len(self._names):
            raise ValueError(
                f"the row has {counted(len(cells), 'cell')}, and the header has {counted(len(self._names), 'column')}"
            )
        null, columns, maker = self._columns.null, self._columns, self._maker
        row = {name: None if cell == null else cell for name, cell in zip(self._names, cells, strict=True)}
        key = Given(maker.key.form.read_cell, None if columns.key is None else row[columns.key])
        if columns.value is not None:
            value = Given(maker.value.form.read_cell, row[columns.value])
        elif self._read_row is not None:
            value = Given(self._read_row, row)
        return maker.record(self._time(row), number, key, value, [])

    def _time(self, row: dict[str, str | None]) -> int:
        column = self._columns.time
        return column if isinstance(column, int) else _milliseconds(row[column])


def _milliseconds(text: str | None) -> int:
    """Return the time that a cell says: ms since 1970, or a time of ISO 8601, which is in UTC unless it says."""
    if text is None:
        raise ValueError("the row has no time")
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time: give milliseconds since 1970, or a time such as 2013-01-31T12:00:00Z"
        ) from None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)
