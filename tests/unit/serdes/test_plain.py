"""Serdes of plain values: what they refuse, and what their errors show. The bytes are tested against Java's."""

import enum
import math
from typing import Any
from uuid import UUID

import pytest

from kafka_groups import serdes
from kafka_groups.errors import DeserializationError, SerializationError
from kafka_groups.serdes import Serde
from tests.recording.java_serdes import SERDES, hexadecimal, recorded, shown
from tests.unit.serdes.calling import read, write

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("serde", "value", "data"),
    [
        (serdes.string, "", b""),
        (serdes.string, "Zürich ✈", b"Z\xc3\xbcrich \xe2\x9c\x88"),
        (serdes.string, Colour.RED, b"red"),
        (serdes.int32, -1, b"\xff\xff\xff\xff"),
        (serdes.int32, Level.HIGH, b"\0\0\0\x03"),
        (serdes.int64, 258, b"\0\0\0\0\0\0\x01\x02"),
        (serdes.float64, 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
        (serdes.float64, 2, b"\x40\0\0\0\0\0\0\0"),
        (serdes.bytes_, b"", b""),
        (serdes.bytes_, b"\0\xff", b"\0\xff"),
        (serdes.bool_, True, b"\x01"),
        (serdes.bool_, False, b"\0"),
        (serdes.uuid, ID, b"00112233-4455-6677-8899-aabbccddeeff"),
    ],
    ids=repr,
)
def test_values_become_bytes_and_come_back(serde: Serde[Any], value: object, data: bytes) -> None:
    assert write(serde, value) == data
    assert read(serde, data) == value
    assert type(write(serde, value)) is bytes


@pytest.mark.parametrize(
    ("serde", "value", "message"),
    [
        (serdes.string, 5, "serdes.string cannot serialise 5 (int): expected a str"),
        (serdes.string, b"a", "serdes.string cannot serialise b'a' (bytes): expected a str"),
        (serdes.string, "\ud800", "it cannot be written as UTF-8 (surrogates not allowed)"),
        (serdes.int32, 2**31, "serdes.int32 cannot serialise 2147483648 (int): expected a number from -2147483648 to"),
        (serdes.int64, -(2**63) - 1, "expected a number from -9223372036854775808 to 9223372036854775807"),
        (serdes.int64, True, "serdes.int64 cannot serialise True (bool): expected an int"),
        (serdes.int64, "7", "serdes.int64 cannot serialise '7' (str): expected an int"),
        (serdes.int64, 7.0, "serdes.int64 cannot serialise 7.0 (float): expected an int"),
        (serdes.float64, "7", "serdes.float64 cannot serialise '7' (str): expected a float"),
        (serdes.float64, False, "serdes.float64 cannot serialise False (bool): expected a float"),
        (serdes.float64, 2**53 + 1, "(int): a float cannot hold all digits of the number"),
        (serdes.float64, 10**400, "… (int): the number is too large for a float"),
        (serdes.bytes_, "a", "serdes.bytes_ cannot serialise 'a' (str): expected bytes"),
        (serdes.bytes_, bytearray(b"a"), "(bytearray): expected bytes"),
        (serdes.bool_, 1, "serdes.bool_ cannot serialise 1 (int): expected a bool"),
        (serdes.uuid, str(ID), "(str): expected a uuid.UUID"),
        (serdes.string, None, "serdes.string cannot serialise None (NoneType): expected a str"),
    ],
)
def test_values_that_do_not_fit_are_refused(serde: Serde[Any], value: object, message: str) -> None:
    with pytest.raises(SerializationError) as raised:
        write(serde, value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("serde", "data", "message"),
    [
        (serdes.string, b"a\xff", r"serdes.string cannot deserialise b'a\xff' (2 bytes): invalid UTF-8"),
        (serdes.string, "a", "serdes.string cannot deserialise 'a' (str): expected bytes"),
        (serdes.int32, b"", "serdes.int32 cannot deserialise b'' (0 bytes): expected 4 bytes"),
        (serdes.int64, b"\x01", r"serdes.int64 cannot deserialise b'\x01' (1 byte): expected 8 bytes"),
        (serdes.int64, bytes(9), "(9 bytes): expected 8 bytes"),
        (serdes.float64, bytes(4), "(4 bytes): expected 8 bytes"),
        (serdes.bool_, b"", "(0 bytes): expected one byte, 0 or 1"),
        (serdes.bool_, b"\x02", "(1 byte): expected one byte, 0 or 1"),
        (serdes.bool_, b"\0\0", "(2 bytes): expected one byte, 0 or 1"),
        (serdes.uuid, b"00112233", "(8 bytes): expected a UUID as text of 36 characters"),
        (serdes.uuid, b"\xff" * 36, "(36 bytes): expected a UUID as text of 36 characters"),
        (serdes.uuid, ID.bytes, "(16 bytes): expected a UUID as text of 36 characters"),
        (serdes.uuid, ID.hex.encode(), "(32 bytes): expected a UUID as text of 36 characters"),
        (serdes.uuid, b"{00112233445566778899aabbccddeeff}--", "(36 bytes): expected a UUID as text"),
    ],
)
def test_bytes_that_are_not_a_value_are_refused(serde: Serde[Any], data: Any, message: str) -> None:
    with pytest.raises(DeserializationError) as raised:
        read(serde, data)
    assert message in str(raised.value)


def test_java_reads_and_writes_uuids_in_lower_case_and_reads_upper_case() -> None:
    assert read(serdes.uuid, str(ID).upper().encode()) == ID


def test_nan_and_infinity_come_back() -> None:
    assert math.isnan(read(serdes.float64, write(serdes.float64, math.nan)))
    assert read(serdes.float64, write(serdes.float64, -math.inf)) == -math.inf


def test_errors_show_the_beginning_of_a_long_value() -> None:
    with pytest.raises(SerializationError) as raised:
        write(serdes.int64, "x" * 10_000)  # type: ignore[misc]
    assert len(str(raised.value)) < 200
    with pytest.raises(DeserializationError) as refused:
        read(serdes.int64, bytes(10_000))
    assert len(str(refused.value)) < 500
    assert "(10000 bytes)" in str(refused.value)


class Silent:
    def __repr__(self) -> str:
        raise ValueError("half made")


def test_errors_about_a_value_that_cannot_be_shown_are_about_the_value() -> None:
    with pytest.raises(SerializationError, match=r"a value without a valid repr \(Silent\): expected an int"):
        write(serdes.int64, Silent())  # type: ignore[misc]


def test_plain_values_cannot_change() -> None:
    plain: list[Serde[Any]] = [
        serdes.string, serdes.int32, serdes.int64, serdes.float64, serdes.bytes_, serdes.bool_, serdes.uuid,
    ]  # fmt: skip
    assert all(serde.is_immutable for serde in plain)
    assert [repr(serde) for serde in plain[:2]] == ["serdes.string", "serdes.int32"]


@pytest.mark.parametrize(("name", "value", "data"), recorded())
def test_bytes_are_those_of_java(name: str, value: str, data: str) -> None:
    """Windowed keys, too: they are in the same recording."""
    serde = SERDES[name]
    found = read(serde, bytes.fromhex(data[1:]))
    assert shown(name, found) == value
    assert hexadecimal(write(serde, found)) == data
