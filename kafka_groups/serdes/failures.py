"""Errors about values and bytes that a serde refuses. They show the value shortened, its type and the serde."""

from kafka_groups.errors import DeserializationError, SerializationError

__all__ = ["cannot_deserialize", "cannot_serialize", "described"]

_SHOWN = 80
"""The most characters or bytes of a value that an error shows."""


def cannot_serialize(serde: str, value: object, reason: str) -> SerializationError:
    """Return the error for a value that a serde cannot serialise."""
    return SerializationError(f"{serde} cannot serialise {_shown(value)} ({type(value).__name__}): {reason}")


def cannot_deserialize(serde: str, data: object, reason: str) -> DeserializationError:
    """Return the error for bytes that a serde cannot deserialise."""
    return DeserializationError(f"{serde} cannot deserialise {_shown(data)} ({_measured(data)}): {reason}")


def described(error: Exception) -> str:
    """Return the class and the text of an exception that a function raised."""
    return f"{type(error).__name__}: {error}"


def _shown(value: object) -> str:
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}…"
    try:
        text = repr(value)
    except Exception:
        return "a value without a valid repr"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _measured(data: object) -> str:
    if not isinstance(data, bytes):
        return type(data).__name__
    return "1 byte" if len(data) == 1 else f"{len(data)} bytes"
