"""Layouts of values in stores. They are Java's."""

import struct
from typing import Protocol

__all__ = ["NO_TIMESTAMP", "PLAIN", "TIMESTAMPED", "ValueFormat", "after_prefix"]

NO_TIMESTAMP = -1

_TIMESTAMP = struct.Struct(">q")
_TIMESTAMP_BYTES = _TIMESTAMP.size


class ValueFormat(Protocol):
    """Lays out a value and its timestamp as bytes."""

    def join(self, value: bytes, timestamp_ms: int) -> bytes:
        """Return the stored bytes."""

    def split(self, stored: bytes) -> tuple[bytes, int]:
        """Return value and timestamp; -1 if the format has none."""


class _Plain:
    def join(self, value: bytes, timestamp_ms: int) -> bytes:
        del timestamp_ms
        return value

    def split(self, stored: bytes) -> tuple[bytes, int]:
        return stored, NO_TIMESTAMP


class _Timestamped:
    def join(self, value: bytes, timestamp_ms: int) -> bytes:
        return _TIMESTAMP.pack(timestamp_ms) + value

    def split(self, stored: bytes) -> tuple[bytes, int]:
        return stored[_TIMESTAMP_BYTES:], _TIMESTAMP.unpack_from(stored)[0]


PLAIN: ValueFormat = _Plain()
TIMESTAMPED: ValueFormat = _Timestamped()


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the smallest key after all keys that begin with a prefix, or None if there is no such key."""
    shortened = prefix.rstrip(b"\xff")
    return shortened[:-1] + bytes([shortened[-1] + 1]) if shortened else None
