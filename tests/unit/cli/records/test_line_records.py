import pytest

from kafka_groups.cli.records.line_records import LineForm
from kafka_groups.records.confirmed_writer import RecordToWrite

JSON = LineForm(topic="orders", is_json=True)


def test_a_line_is_a_value() -> None:
    form = LineForm(topic="orders", key=b"k", headers=(("h", b"x"),), partition=1)
    assert form.record(b"tea\r") == RecordToWrite("orders", b"k", b"tea\r", (("h", b"x"),), None, 1)
    assert LineForm(topic="orders").record(b"") == RecordToWrite("orders", None, b"")


def test_a_delimiter_ends_the_key() -> None:
    form = LineForm(topic="orders", delimiter=b"::")
    assert form.record(b"a:b::c::d") == RecordToWrite("orders", b"a:b", b"c::d")
    with pytest.raises(ValueError, match="it does not have the delimiter '::'"):
        form.record(b"a:b")


def test_lines_of_json() -> None:
    line = b'{"key": "a", "value": {"base64": "/w=="}, "timestamp_ms": 5, "headers": [["h", null]], "offset": 3}'
    form = LineForm(topic="orders", is_json=True, headers=(("i", b"x"),))
    assert form.record(line) == RecordToWrite("orders", b"a", b"\xff", (("h", None), ("i", b"x")), 5)
    assert JSON.record(b"{}") == RecordToWrite("orders", None, None)
    assert JSON.record(b" \r") is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"tea", "it is not JSON"),
        (b"[1]", "[1] is not an object"),
        (b'{"vale": "tea"}', "unknown field 'vale'; the fields are key, value, timestamp_ms, headers"),
        (b'{"value": 1}', 'value: 1 stands for no bytes: give text, or {"base64": text}'),
        (b'{"key": {"base64": "x"}}', "key: 'x' is not base64"),
        (b'{"value": "\\ud800"}', "value: 'utf-8' codec can't encode"),
        (b'{"timestamp_ms": -1}', "timestamp_ms: -1 is not a time in milliseconds since 1970"),
        (b'{"timestamp_ms": true}', "timestamp_ms: True is not a time"),
        (b'{"timestamp_ms": 9223372036854775808}', "is not a time"),
        (b'{"headers": {"a": "b"}}', "headers: {'a': 'b'} is not a list"),
        (b'{"value": "\xff"}', "it is not UTF-8"),
    ],
)
def test_lines_that_are_refused(line: bytes, said: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is compared below
        JSON.record(line)
    assert said in str(refused.value)
