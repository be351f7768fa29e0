"""Shorthand for serialising and deserialising one value."""

from collections.abc import Sequence
from typing import TypeVar

from kafka_groups.serdes import Serde
from kafka_groups.types import Header

__all__ = ["read", "write"]

T = TypeVar("T")


def write(serde: Serde[T], value: T, headers: list[Header] | None = None, *, is_key: bool = False) -> bytes:
    """The bytes of a value."""
    return serde.serializer("t", is_key=is_key)(value, [] if headers is None else headers)


def read(serde: Serde[T], data: bytes, headers: Sequence[Header] = (), *, is_key: bool = False) -> T:
    """The value of bytes."""
    return serde.deserializer("t", is_key=is_key)(data, headers)
