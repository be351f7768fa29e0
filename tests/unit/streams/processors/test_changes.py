"""Changes of tables on repartition topics, as Java writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.errors import DeserializationError
from kafka_groups.streams.processors.changes import change_deserializer, change_serializer

WRITE = change_serializer(serdes.string, "t")
READ = change_deserializer(serdes.string, "t")
TEXTS = st.text(max_size=200)


@pytest.mark.parametrize(
    ("new", "old", "data"), [("b", None, b"b\x01"), (None, "b", b"b\x00"), ("ab", "c", b"\x04abc\x02")]
)
def test_the_bytes_are_those_of_java(new: str | None, old: str | None, data: bytes) -> None:
    assert WRITE(new, old, []) == data
    assert READ(data, ()) == (new, old)


@given(st.one_of(st.tuples(TEXTS, st.one_of(TEXTS, st.none())), st.tuples(st.none(), TEXTS)))
def test_what_is_written_is_read(change: tuple[str | None, str | None]) -> None:
    assert READ(WRITE(*change, []), ()) == change


@pytest.mark.parametrize("data", [b"x\x03", b"\xff\xff\xff\xff\xff\x02", b""])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DeserializationError, match="change of a table"):
        READ(data, ())
