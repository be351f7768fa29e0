"""Errors about values and bytes that a serde refuses. They show the value shortened, its type and the serde."""

from kafka_groups.errors import DeserializationError, SerializationError
from kafka_groups.errors.causes import causes_of
from kafka_groups.errors.texts import named

__all__ = ["cannot_deserialize", "cannot_serialize", "deserializer_raised", "serializer_raised"]

_SHOWN = 80
"""The most characters or bytes of a value that an error shows."""


def cannot_serialize(serde: str, value: object, reason: str) -> SerializationError:
    """Return the error for a value that a serde cannot serialise."""
    return SerializationError(f"{serde} cannot serialise {_shown(value)} ({type(value).__name__}): {reason}")


def cannot_deserialize(serde: str, data: object, reason: str) -> DeserializationError:
    """Return the error for bytes that a serde cannot deserialise."""
    return DeserializationError(f"{serde} cannot deserialise {_shown(data)} ({_measured(data)}): {reason}")


def serializer_raised(serde: str, value: object, error: Exception) -> SerializationError:
    """Return the error for a value with which a function raised."""
    failure = cannot_serialize(serde, value, named(error))
    failure.retriable = _may_pass(error)
    return failure


def deserializer_raised(serde: str, data: object, error: Exception) -> DeserializationError:
    """Return the error for bytes with which a function raised."""
    failure = cannot_deserialize(serde, data, named(error))
    failure.retriable = _may_pass(error)
    return failure


def _may_pass(error: Exception) -> bool:
    """Return True if an error of the operating system is behind it: a schema registry could not be reached."""
    # Clients of registries hide the error of the socket: "from None".
    return any(isinstance(each, OSError) for each in causes_of(error, hidden=True))


def _shown(value: object) -> str:
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}…"
    try:
        text = repr(value)
    except Exception:  # of the user's class: the error that is being explained matters more
        return "a value without a valid repr"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _measured(data: object) -> str:
    if not isinstance(data, bytes):
        return type(data).__name__
    return "1 byte" if len(data) == 1 else f"{len(data)} bytes"
