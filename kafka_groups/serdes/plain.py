"""Serdes of plain values, with the bytes of Kafka's Java client."""

import struct
from collections.abc import Sequence
from uuid import UUID

from attrs import frozen

from kafka_groups.serdes.failures import cannot_deserialize, cannot_serialize
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer, Serde, T
from kafka_groups.types import Header

__all__ = ["bool_", "bytes_", "float64", "int32", "int64", "string", "uuid"]


@frozen(repr=False)
class PlainSerde(Serde[T]):
    """A serde of two functions that are the same for all topics."""

    _serialize: BoundSerializer[T]
    _deserialize: BoundDeserializer[T]

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[T]:
        """Return the function that serialises."""
        return self._serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[T]:
        """Return the function that deserialises."""
        return self._deserialize


def _string() -> Serde[str]:
    name, encode, decode = "serdes.string", str.encode, bytes.decode

    def serialize(value: str, _: list[Header]) -> bytes:
        try:
            return encode(value)
        except TypeError:
            raise cannot_serialize(name, value, "expected a str") from None
        except UnicodeEncodeError as error:
            raise cannot_serialize(name, value, f"it cannot be written as UTF-8 ({error.reason})") from error

    def deserialize(data: bytes, _: Sequence[Header]) -> str:
        try:
            return decode(data)
        except UnicodeDecodeError as error:
            raise cannot_deserialize(name, data, f"invalid UTF-8 ({error.reason} at {error.start})") from error
        except TypeError:
            raise cannot_deserialize(name, data, "expected bytes") from None

    return PlainSerde(name, is_immutable=True, serialize=serialize, deserialize=deserialize)


def _integer(name: str, code: str) -> Serde[int]:
    form = struct.Struct(code)
    pack, unpack = form.pack, form.unpack
    limit = 1 << (8 * form.size - 1)

    def serialize(value: object, _: list[Header]) -> bytes:
        if type(value) is int or (isinstance(value, int) and not isinstance(value, bool)):
            try:
                return pack(value)
            except struct.error:
                raise cannot_serialize(name, value, f"expected a number from {-limit} to {limit - 1}") from None
        raise cannot_serialize(name, value, "expected an int")

    def deserialize(data: bytes, _: Sequence[Header]) -> int:
        try:
            value: int = unpack(data)[0]
        except (struct.error, TypeError):
            raise cannot_deserialize(name, data, f"expected {form.size} bytes") from None
        return value

    return PlainSerde(name, is_immutable=True, serialize=serialize, deserialize=deserialize)


def _float() -> Serde[float]:
    name, form = "serdes.float64", struct.Struct(">d")
    pack, unpack = form.pack, form.unpack

    def serialize(value: object, _: list[Header]) -> bytes:
        if isinstance(value, float):
            return pack(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise cannot_serialize(name, value, "expected a float")
        try:
            data = pack(value)
        except struct.error:
            raise cannot_serialize(name, value, "the number is too large for a float") from None
        if unpack(data) != (value,):
            raise cannot_serialize(name, value, "a float cannot hold all digits of the number")
        return data

    def deserialize(data: bytes, _: Sequence[Header]) -> float:
        try:
            value: float = unpack(data)[0]
        except (struct.error, TypeError):
            raise cannot_deserialize(name, data, "expected 8 bytes") from None
        return value

    return PlainSerde(name, is_immutable=True, serialize=serialize, deserialize=deserialize)


def _bytes() -> Serde[bytes]:
    name = "serdes.bytes_"

    def serialize(value: object, _: list[Header]) -> bytes:
        if isinstance(value, bytes):
            return value
        raise cannot_serialize(name, value, "expected bytes")

    def deserialize(data: bytes, _: Sequence[Header]) -> bytes:
        return data

    return PlainSerde(name, is_immutable=True, serialize=serialize, deserialize=deserialize)


def _bool() -> Serde[bool]:
    name = "serdes.bool_"

    def serialize(value: object, _: list[Header]) -> bytes:
        if value is True:
            return b"\x01"
        if value is False:
            return b"\x00"
        raise cannot_serialize(name, value, "expected a bool")

    def deserialize(data: bytes, _: Sequence[Header]) -> bool:
        if data == b"\x01":
            return True
        if data == b"\x00":
            return False
        raise cannot_deserialize(name, data, "expected one byte, 0 or 1")

    return PlainSerde(name, is_immutable=True, serialize=serialize, deserialize=deserialize)


def _uuid() -> Serde[UUID]:
    name = "serdes.uuid"

    def serialize(value: object, _: list[Header]) -> bytes:
        if isinstance(value, UUID):
            return str(value).encode()
        raise cannot_serialize(name, value, "expected a uuid.UUID")

    def deserialize(data: bytes, _: Sequence[Header]) -> UUID:
        try:
            text = data.decode()
            value = UUID(text)
        except (AttributeError, ValueError):
            raise cannot_deserialize(name, data, "expected a UUID as text of 36 characters") from None
        if str(value) != text.lower():  # UUID also reads braces, URNs and text without hyphens
            raise cannot_deserialize(name, data, "expected a UUID as text of 36 characters")
        return value

    return PlainSerde(name, is_immutable=True, serialize=serialize, deserialize=deserialize)


string = _string()
"""Text, as UTF-8."""

int32 = _integer("serdes.int32", ">i")
"""Integers of 4 bytes, big-endian: Java's `Integer`."""

int64 = _integer("serdes.int64", ">q")
"""Integers of 8 bytes, big-endian: Java's `Long`."""

float64 = _float()
"""Floats of 8 bytes, big-endian: Java's `Double`."""

bytes_ = _bytes()
"""Bytes, as they are."""

bool_ = _bool()
"""Booleans, as the byte 1 or 0."""

uuid = _uuid()
"""UUIDs, as text of 36 characters."""
