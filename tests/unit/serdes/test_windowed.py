"""Windowed keys: which windows are refused. The bytes are tested against Java's."""

from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError, DeserializationError, SerializationError
from kafka_groups.serdes import Serde, Window, Windowed
from kafka_groups.serdes.windowed import WindowedSerde, window_writer
from tests.unit.serdes.calling import read, write

MAX_MS = 2**63 - 1
MINUTE = serdes.time_windowed(serdes.string, timedelta(minutes=1))
SESSION = serdes.session_windowed(serdes.int32)


def test_a_time_window_is_the_key_and_its_start() -> None:
    key = Windowed("ann", Window(120_000, 180_000))
    assert write(MINUTE, key) == b"ann" + (120_000).to_bytes(8, "big")
    assert read(MINUTE, write(MINUTE, key)) == key


def test_a_session_is_the_key_its_end_and_its_start() -> None:
    key = Windowed(7, Window(5, 258))
    assert write(SESSION, key) == b"\0\0\0\x07" + (258).to_bytes(8, "big") + (5).to_bytes(8, "big")
    assert read(SESSION, write(SESSION, key)) == key


def test_a_session_of_one_record_ends_when_it_starts() -> None:
    key = Windowed(7, Window(5, 5))
    assert read(SESSION, write(SESSION, key)) == key


def test_windows_end_with_the_last_time_that_java_knows() -> None:
    unlimited = serdes.time_windowed(serdes.string, MAX_MS)
    for start_ms in (0, 10):
        key = Windowed("a", Window(start_ms, MAX_MS))
        assert read(unlimited, write(unlimited, key)) == key


def test_keys_may_have_no_bytes() -> None:
    key = Windowed("", Window(0, 60_000))
    assert read(MINUTE, write(MINUTE, key)) == key


def test_the_inner_serde_sees_topic_headers_and_field() -> None:
    seen: list[object] = []

    def encode(value: int, context: serdes.SerializationContext) -> bytes:
        context.headers.append(("schema", b"1"))
        seen.append((context.topic, context.field))
        return bytes([value])

    def decode(data: bytes, context: serdes.DeserializationContext) -> int:
        seen.append((context.topic, context.field, list(context.headers)))
        return data[0]

    serde = serdes.session_windowed(serdes.of(int, encode, decode))
    headers: list[tuple[str, bytes | None]] = []
    data = write(serde, Windowed(3, Window(1, 2)), headers, is_key=True)
    assert read(serde, data, headers, is_key=True).key == 3
    assert seen == [("t", "key"), ("t", "key", [("schema", b"1")])]


@pytest.mark.parametrize(
    ("serde", "value", "message"),
    [
        (MINUTE, "ann", "cannot serialise 'ann' (str): expected a Windowed"),
        (MINUTE, ("ann", (0, 60_000)), "(tuple): expected a Windowed"),
        (MINUTE, Windowed("ann", Window(0, 59_999)), "the window has not the size of 60000 ms"),
        (MINUTE, Windowed("ann", Window(-1, 59_999)), "invalid window from -1 to 59999"),
        (MINUTE, Windowed("ann", Window(2**63, 2**63 + 60_000)), "(Windowed): int too large to convert"),
        (MINUTE, Windowed("ann", Window(0.5, 60_000.5)), "required argument is not an integer"),  # type: ignore[arg-type]
        (MINUTE, Windowed(5, Window(0, 60_000)), "serdes.string cannot serialise 5 (int): expected a str"),
        (MINUTE, Windowed("ann", None), "(Windowed): cannot unpack"),  # type: ignore[arg-type]
        (SESSION, Windowed(7, Window(2, 1)), "invalid window from 2 to 1"),
    ],
)
def test_what_is_not_a_windowed_key_is_refused(serde: Serde[Any], value: object, message: str) -> None:
    with pytest.raises(SerializationError) as raised:
        write(serde, value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("serde", "data", "message"),
    [
        (MINUTE, bytes(7), "serdes.time_windowed(serdes.string, size_ms=60000) cannot deserialise"),
        (MINUTE, bytes(7), "(7 bytes): expected a key and 8 bytes"),
        (MINUTE, b"a" + b"\xff" * 8, "invalid window from -1 to 59999"),
        (MINUTE, b"\xff" + bytes(8), "serdes.string cannot deserialise"),
        (SESSION, bytes(15), "serdes.session_windowed(serdes.int32) cannot deserialise"),
        (SESSION, bytes(15), "(15 bytes): expected a key and 16 bytes"),
        (SESSION, bytes(16), "serdes.int32 cannot deserialise b'' (0 bytes): expected 4 bytes"),
        (SESSION, bytes(4) + bytes(8) + bytes(7) + b"\x01", "invalid window from 1 to 0"),
    ],
)
def test_bytes_that_are_not_a_windowed_key_are_refused(serde: Serde[Any], data: bytes, message: str) -> None:
    with pytest.raises(DeserializationError) as raised:
        read(serde, data)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "size", [0, -1, True, 1.5, "5", None, 2**63, timedelta(0), timedelta(microseconds=1500), timedelta(days=-1)]
)
def test_sizes_are_positive_and_in_whole_milliseconds(size: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not the size of a window"):
        serdes.time_windowed(serdes.string, size)


def test_the_inner_serde_must_be_one() -> None:
    with pytest.raises(ConfigurationError, match="inner=<class 'str'> is not a serde"):
        serdes.session_windowed(str)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"serdes\.time_windowed: inner='a' is not a serde"):
        serdes.time_windowed("a", 5)  # type: ignore[arg-type]


def test_windowed_serdes_are_equal_if_they_write_the_same_bytes() -> None:
    assert serdes.time_windowed(serdes.string, 60_000) == MINUTE
    assert serdes.time_windowed(serdes.string, 60_001) != MINUTE
    other: Serde[Any] = serdes.time_windowed(serdes.int64, 60_000)
    assert other != MINUTE
    assert serdes.session_windowed(serdes.int32) == SESSION
    assert MINUTE.inner is serdes.string


def test_windowed_keys_change_as_little_as_their_keys() -> None:
    assert MINUTE.is_immutable
    assert not serdes.session_windowed(serdes.of(list, bytes, list)).is_immutable


def test_windowed_keys_look_as_in_java() -> None:
    assert str(Windowed("ann", Window(0, 60_000))) == "[ann@0/60000]"


SESSIONS = [Window(5, 258), Window(5, 5), Window(6, 258)]
MINUTES = [Window(0, 60_000), Window(60_000, 120_000)]


@pytest.mark.parametrize(("serde", "key", "windows"), [(SESSION, 7, SESSIONS), (MINUTE, "ann", MINUTES)])
def test_windows_alone_have_the_bytes_that_they_have_in_keys(
    serde: WindowedSerde[Any], key: Any, windows: list[Window]
) -> None:
    written = window_writer(serde)
    for window in (*windows, windows[0], windows[0], *reversed(windows)):
        whole = write(serde, Windowed(key, window))
        assert write(serde.inner, key) + written(Windowed(key, window)) == whole


def test_a_window_that_is_no_window_is_written_as_it_is_now() -> None:
    written, changing = window_writer(MINUTE), [0, 60_000]
    for start_ms in (0, 60_000):
        changing[:] = start_ms, start_ms + 60_000
        assert written(Windowed("ann", changing)) == start_ms.to_bytes(8, "big")  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["ann", None, Windowed("ann", Window(0, 1)), Windowed("ann", Window(-60_000, 0))])
def test_windows_that_are_refused_in_keys_are_refused_alone(key: Any) -> None:
    with pytest.raises(SerializationError) as in_keys:
        write(MINUTE, key)
    written = window_writer(MINUTE)
    for _ in range(2):
        with pytest.raises(SerializationError) as alone:
            written(key)
        assert str(alone.value) == str(in_keys.value)
