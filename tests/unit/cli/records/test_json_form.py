import json

import attrs
from jsonschema import Draft202012Validator

from kafka_groups.cli.documents.document import line_schema_of
from kafka_groups.cli.documents.records import DeliveredRecordEntry, RecordEntry
from kafka_groups.cli.records.json_form import JsonLines
from kafka_groups.cli.records.line_records import LineForm
from kafka_groups.cli.records.record_columns import ReadColumns
from kafka_groups.records.confirmed_writer import RecordToWrite
from kafka_groups.types import RecordRow

ROWS: list[RecordRow] = [
    (3, b"ann", "tea\n\u2028\x00".encode(), 1_700, (("h", b"x"), ("i", None), ("j", b"\xff"))),
    (5, None, None, -1, ()),
    (6, b"", b"\xff\xfe", 0, ()),
]


class Delivered(ReadColumns):
    def delivery_counts(self) -> list[int]:
        return [2] * len(self)


def test_lines_have_the_fields_of_their_documents() -> None:
    for form, kind, columns in (
        (JsonLines(counts_deliveries=False), RecordEntry, ReadColumns("orders", 2, ROWS)),
        (JsonLines(counts_deliveries=True), DeliveredRecordEntry, Delivered("orders", 2, ROWS)),
    ):
        lines = form.text(columns).splitlines()
        assert len(lines) == len(ROWS)
        for line in lines:
            found = json.loads(line)
            assert list(found) == [each.name for each in attrs.fields(kind)]
            Draft202012Validator(line_schema_of(kind)).validate(found)
    assert found["delivery_count"] == 2


def test_lines_are_the_records_again() -> None:
    lines = JsonLines(counts_deliveries=False).text(ReadColumns("orders", 2, ROWS)).split(b"\n")
    assert lines.pop() == b""
    found = [LineForm(topic="copy", is_json=True).record(line) for line in lines]
    assert found == [
        RecordToWrite("copy", ROWS[0][1], ROWS[0][2], ROWS[0][4], 1_700),
        RecordToWrite("copy", None, None, (), None),
        RecordToWrite("copy", b"", b"\xff\xfe", (), 0),
    ]


def test_nothing_is_no_line() -> None:
    assert JsonLines(counts_deliveries=False).text(ReadColumns("orders", 2, [])) == b""
