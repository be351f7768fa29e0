"""Rows of CSV: the records that they are, and the rows that are refused."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_groups import serdes
from kafka_groups.cli.topologies.csv_rows import CsvColumns, read_csv_rows
from kafka_groups.cli.topologies.input_records import InputRecord, RefusedLineError
from kafka_groups.serdes import Serde
from tests.unit.cli.topologies.makers import maker


@dataclass(frozen=True)
class Order:
    total: int
    note: str | None


ORDERS = serdes.json(Order)


def columns(time: str | int = "at", *, key: str | None = None, value: str | None = None, null: str = "") -> CsvColumns:
    return CsvColumns(time=time, key=key, value=value, null=null)


def read(
    folder: Path, text: str | bytes, given: CsvColumns, serde: "Serde[Order] | Serde[int]" = ORDERS
) -> list[InputRecord]:
    path = folder / "orders.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_csv_rows(path, maker(value=serde), given))


def test_rows_are_objects_of_their_columns(tmp_path: Path) -> None:
    text = '\ufeffid,total,note,at\no1,5,"two\nlines",1000\n\no2,6,,2000\n'
    first, second = read(tmp_path, text, columns(key="id"))
    assert (first.key, first.timestamp_ms, first.line) == (b"o1", 1000, 2)
    assert (second.key, second.timestamp_ms, second.line) == (b"o2", 2000, 5)
    assert [json.loads(each.value or b"") for each in (first, second)] == [
        {"total": 5, "note": "two\nlines"},
        {"total": 6, "note": None},
    ]


def test_cells_may_be_longer_than_those_of_pythons_reader(tmp_path: Path) -> None:
    note = "x" * 200_000
    (record,) = read(tmp_path, f"at,total,note\n1,5,{note}\n", columns())
    assert json.loads(record.value or b"")["note"] == note


def test_a_column_can_be_the_value(tmp_path: Path) -> None:
    records = read(tmp_path, "id,total\no1,5\nNA,NA\n", columns(7, key="id", value="total", null="NA"), serdes.int64)
    assert records == [InputRecord(7, 2, b"o1", (5).to_bytes(8, "big")), InputRecord(7, 3, None, None)]


@pytest.mark.parametrize(
    ("cell", "timestamp_ms"),
    [
        ("1500", 1500),
        ("-1", -1),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01 01:00:01+01:00", 1000),
        ("1970-01-02", 86_400_000),
        ("1969-12-31T23:59:59.9999", -1),
    ],
)
def test_times_are_integers_or_iso_8601(tmp_path: Path, cell: str, timestamp_ms: int) -> None:
    (record,) = read(tmp_path, f"total,at\n5,{cell}\n", columns(value="total"), serdes.int64)
    assert record.timestamp_ms == timestamp_ms


@pytest.mark.parametrize(
    ("text", "given", "line", "message"),
    [
        ("", columns(), 1, "there is no column 'at'; the columns are: none"),
        ("total,note\n", columns(), 1, "there is no column 'at'; the columns are: total, note"),
        ("total,at\n", columns(key="id"), 1, "there is no column 'id'"),
        ("total,at,at\n", columns(), 1, "there are two columns 'at'"),
        ("total,note,at\n1,a,1\n\n1,1\n", columns(), 4, "the row has 2 cells, and the header has 3 columns"),
        ("total,note,at\n1,a,soon\n", columns(), 2, "'soon' is not a time: give milliseconds since 1970, or"),
        ("total,note,at\n1,a,\n", columns(), 2, "the row has no time"),
        ("total,note,at\nmany,a,1\n", columns(), 2, "value: serdes.json(Order) cannot deserialise"),
        ('total,note,at\n1,a,1\n1,"a,1\n', columns(), 3, "unexpected end of data"),
        (b"total,note,at\n1,a,1\n1,\xff,1\n", columns(), 3, "it is not UTF-8"),
    ],
)
def test_rows_that_are_refused(tmp_path: Path, text: str | bytes, given: CsvColumns, line: int, message: str) -> None:
    with pytest.raises(RefusedLineError) as refused:
        read(tmp_path, text, given)
    assert refused.value.message.startswith(f"{tmp_path / 'orders.csv'}:{line}: ")
    assert message in refused.value.message


def test_values_that_are_no_objects_need_a_column(tmp_path: Path) -> None:
    with pytest.raises(RefusedLineError, match="use --value COLUMN"):
        read(tmp_path, "total,at\n1,1\n", columns(), serdes.int64)
