"""Layouts of values in stores. They are Java's."""

import enum
import struct
from collections.abc import Callable
from typing import Any, Final

from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer

__all__ = ["NO_TIMESTAMP", "PLAIN", "TIMESTAMPED", "ValueFormat", "after_prefix", "decoder", "encoder", "value_reader"]

NO_TIMESTAMP = -1

_TIMESTAMP = struct.Struct(">q")
_TIMESTAMP_BYTES = _TIMESTAMP.size


class ValueFormat(enum.Enum):
    """The layout of a value and its timestamp."""

    PLAIN = 0
    TIMESTAMPED = _TIMESTAMP.size

    @property
    def before_value(self) -> int:
        """Return the number of bytes before the value."""
        return self.value

    def join(self, value: bytes, timestamp_ms: int) -> bytes:
        """Return the stored bytes."""
        return value if self is PLAIN else _TIMESTAMP.pack(timestamp_ms) + value


PLAIN: Final = ValueFormat.PLAIN
TIMESTAMPED: Final = ValueFormat.TIMESTAMPED


def decoder(layout: ValueFormat, read: BoundDeserializer[Any]) -> Callable[[bytes], tuple[Any, int]]:
    """Return the function that reads value and timestamp from stored bytes (-1 in a format without timestamps)."""
    if layout is PLAIN:
        return lambda stored: (read(stored, ()), NO_TIMESTAMP)
    unpack = _TIMESTAMP.unpack_from
    return lambda stored: (read(stored[_TIMESTAMP_BYTES:], ()), unpack(stored)[0])


def value_reader(layout: ValueFormat, read: BoundDeserializer[Any]) -> Callable[[bytes | None], Any]:
    """Return the function that reads the value in stored bytes, and returns None for None."""
    before_value = layout.before_value
    return lambda stored: None if stored is None else read(stored[before_value:], ())


def encoder(layout: ValueFormat, write: BoundSerializer[Any]) -> Callable[[Any, int], bytes]:
    """Return the function that makes stored bytes of value and timestamp."""
    if layout is PLAIN:
        return lambda value, _timestamp_ms: write(value, [])
    pack = _TIMESTAMP.pack
    return lambda value, timestamp_ms: pack(timestamp_ms) + write(value, [])


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the smallest key after all keys that begin with a prefix, or None if there is no such key."""
    # A byte of 255 cannot be raised, so the one before it is (ByteUtils.increment in Kafka).
    shortened = prefix.rstrip(b"\xff")
    return shortened[:-1] + bytes([shortened[-1] + 1]) if shortened else None
