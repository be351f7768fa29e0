"""Java's modified UTF-8."""

import pytest

from kafka_groups.protocol.modified_utf8 import modified_utf8, text_of_modified_utf8


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("topic-1", b"topic-1"),
        ("ü€", b"\xc3\xbc\xe2\x82\xac"),
        ("a\0b", b"a\xc0\x80b"),
        ("\U0001f600", b"\xed\xa0\xbd\xed\xb8\x80"),
        ("half \ud83d", b"half \xed\xa0\xbd"),
        ("\ude00\ud83d", b"\xed\xb8\x80\xed\xa0\xbd"),
    ],
)
def test_bytes_are_those_of_java(text: str, data: bytes) -> None:
    assert modified_utf8(text) == data
    assert text_of_modified_utf8(data) == text


def test_a_plain_zero_is_read_as_java_reads_it() -> None:
    assert text_of_modified_utf8(b"a\0b") == "a\0b"
    assert text_of_modified_utf8(b"\xc3\xbc\0") == "ü\0"


@pytest.mark.parametrize("data", [b"\xf0\x9f\x98\x80", b"\xff", b"\xc3", b"\x80", b"\xe2\x82"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnicodeError):
        text_of_modified_utf8(data)
