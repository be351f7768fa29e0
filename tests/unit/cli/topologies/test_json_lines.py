"""Lines of JSON: the records that they are, and the lines that are refused."""

from pathlib import Path

import pytest

from kafka_groups import serdes
from kafka_groups.cli.topologies.input_records import InputRecord, RefusedLineError
from kafka_groups.cli.topologies.json_lines import read_json_lines
from tests.unit.cli.topologies.makers import maker


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "orders.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_records_of_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"key": "a", "value": 1, "timestamp_ms": 5, "topic": "orders"}\n\n'
        '{"timestamp_ms": -1, "headers": [["h", "text"], ["h", null], ["i", {"base64": "/w=="}]]}',
    )
    headers = (("h", b"text"), ("h", None), ("i", b"\xff"))
    assert list(read_json_lines(path, maker())) == [
        InputRecord(5, 1, b"a", (1).to_bytes(8, "big")),
        InputRecord(-1, 3, None, None, headers),
    ]


def test_fields_of_a_record_that_was_read_are_ignored(tmp_path: Path) -> None:
    line = '{"topic": "orders", "partition": 1, "offset": 7, "timestamp_ms": 5, "key": "a", "value": 1, "headers": []'
    path = write(tmp_path, f'{line}}}\n{line}, "delivery_count": 2}}\n')
    one = (1).to_bytes(8, "big")
    assert list(read_json_lines(path, maker())) == [InputRecord(5, 1, b"a", one), InputRecord(5, 2, b"a", one)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "[1] is not an object"),
        ("{", "it is not JSON"),
        ('{"timestamp": 1}', "unknown field 'timestamp'; the fields are topic, key, value, timestamp_ms, headers"),
        ('{"key": "a"}', "timestamp_ms: it is missing"),
        ('{"timestamp_ms": 1.5}', "timestamp_ms: 1.5 is not an integer"),
        ('{"timestamp_ms": true}', "timestamp_ms: True is not an integer"),
        ('{"timestamp_ms": 9223372036854775808}', "has more than 64 bits"),
        ('{"timestamp_ms": 1, "topic": "others"}', "topic: 'others' is not 'orders'"),
        ('{"timestamp_ms": 1, "key": 5}', "key: serdes.string cannot serialise 5 (int): expected a str"),
        ('{"timestamp_ms": 1, "value": "5"}', "value: serdes.int64 cannot serialise '5' (str): expected an int"),
        ('{"timestamp_ms": 1, "headers": {"a": "b"}}', "headers: {'a': 'b'} is not a list"),
        ('{"timestamp_ms": 1, "headers": [["a"]]}', "headers: ['a'] is not a header"),
        ('{"timestamp_ms": 1, "headers": [["a", 1]]}', "headers: 1 stands for no bytes"),
        ('{"timestamp_ms": 1, "headers": [["\\ud800", ""]]}', "headers: 'utf-8' codec can't encode"),
        ('{"timestamp_ms": 1, "key": "\\ud800"}', "key: serdes.string cannot serialise"),
        (b'{"key": "\xff"}', "it is not UTF-8"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str | bytes, message: str) -> None:
    good = b'{"timestamp_ms": 1}\n'
    path = write(tmp_path, good + (line if isinstance(line, bytes) else line.encode()) + b"\n" + good)
    with pytest.raises(RefusedLineError) as refused:
        list(read_json_lines(path, maker()))
    assert refused.value.message.startswith(f"{path}:2: ")
    assert message in refused.value.message


def test_a_file_that_is_no_json_may_be_csv(tmp_path: Path) -> None:
    with pytest.raises(
        RefusedLineError, match=r"posts\.tsv:1: it is not JSON .* Only a file whose name ends with \.csv"
    ):
        list(read_json_lines(write(tmp_path, "at\ttext\n1\tx\n").rename(tmp_path / "posts.tsv"), maker()))
    with pytest.raises(RefusedLineError) as refused:
        list(read_json_lines(write(tmp_path, '{"timestamp_ms": 1}\nx\n'), maker()))
    assert ".csv" not in str(refused.value.message)


def test_serialisers_may_add_headers(tmp_path: Path) -> None:
    def tagged(value: str, context: serdes.SerializationContext) -> bytes:
        context.headers.append(("kind", context.field.encode()))
        return value.encode()

    path = write(tmp_path, '{"value": "x", "timestamp_ms": 1, "headers": [["a", "b"]]}')
    texts = serdes.of(str, tagged, bytes.decode)
    (record,) = read_json_lines(path, maker(value=texts))
    assert record.headers == (("a", b"b"), ("kind", b"value"))
