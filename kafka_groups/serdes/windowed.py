"""Windowed keys, with the bytes of Kafka Streams in Java."""

import struct
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import ClassVar, Generic, NamedTuple, TypeVar

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes.failures import cannot_deserialize, cannot_serialize
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer, Serde, check_serde
from kafka_groups.types import Header

__all__ = ["Window", "Windowed", "WindowedSerde", "session_windowed", "time_windowed", "window_writer"]

K = TypeVar("K")

_MAX_MS = 2**63 - 1
_TIME = struct.Struct(">q")
_TIMES = struct.Struct(">qq")


class Window(NamedTuple):
    """A span of time, in milliseconds since 1970.

    Attributes:
        start_ms: The first millisecond.
        end_ms: The first millisecond after a time window; the time of the last record of a session.
    """

    start_ms: int
    end_ms: int


class Windowed(NamedTuple, Generic[K]):
    """A key in a window.

    Attributes:
        key: The key of the records.
        window: The window that they fall into.
    """

    key: K
    window: Window

    def __str__(self) -> str:
        return f"[{self.key}@{self.window.start_ms}/{self.window.end_ms}]"


@frozen
class TimeWindowBytes:
    """The start of a window of known size, after the key.

    Windows that would end after the last time that Java knows end there, as in Java.
    """

    size_ms: int
    length: ClassVar = 8

    def write(self, window: Window) -> bytes:
        """Return the bytes of a window's start."""
        start_ms, end_ms = window
        if start_ms < 0:
            raise _invalid(window)
        if end_ms - start_ms != self.size_ms and end_ms != min(start_ms + self.size_ms, _MAX_MS):
            raise ValueError(f"the window has not the size of {self.size_ms} ms")
        return _TIME.pack(start_ms)

    def read(self, times: bytes) -> Window:
        """Return the window that starts at this time."""
        (start_ms,) = _TIME.unpack(times)
        window = Window(start_ms, min(start_ms + self.size_ms, _MAX_MS))
        if start_ms < 0:
            raise _invalid(window)
        return window


@frozen
class SessionWindowBytes:
    """The end and the start of a session, after the key."""

    length: ClassVar = 16

    def write(self, window: Window) -> bytes:
        """Return the bytes of a session's end and start."""
        start_ms, end_ms = window
        if not 0 <= start_ms <= end_ms:
            raise _invalid(window)
        return _TIMES.pack(end_ms, start_ms)

    def read(self, times: bytes) -> Window:
        """Return the session with this end and start."""
        end_ms, start_ms = _TIMES.unpack(times)
        window = Window(start_ms, end_ms)
        if not 0 <= start_ms <= end_ms:
            raise _invalid(window)
        return window


def _invalid(window: Window) -> ValueError:
    start_ms, end_ms = window
    return ValueError(f"invalid window from {start_ms} to {end_ms}")


@frozen(repr=False)
class WindowedSerde(Serde[Windowed[K]]):
    """A serde of windowed keys.

    Attributes:
        inner: The serde of the keys without windows. Their bytes alone decide about the partition of a record.
    """

    inner: Serde[K]
    _times: TimeWindowBytes | SessionWindowBytes

    def inner_bytes(self, data: bytes) -> bytes:
        """Return the bytes of a windowed key without those of its window."""
        return data[: -self._times.length]

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[Windowed[K]]:
        """Return the function that serialises windowed keys of a topic."""
        name, write, inner = self.name, self._times.write, self.inner.serializer(topic, is_key=is_key)

        def serialize(value: Windowed[K], headers: list[Header]) -> bytes:
            if not isinstance(value, Windowed):
                raise cannot_serialize(name, value, "expected a Windowed")
            key, window = value
            try:
                times = write(window)
            except (TypeError, ValueError, struct.error) as error:
                raise cannot_serialize(name, value, str(error)) from error
            return inner(key, headers) + times

        return serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[Windowed[K]]:
        """Return the function that deserialises windowed keys of a topic."""
        name, read, length = self.name, self._times.read, self._times.length
        inner = self.inner.deserializer(topic, is_key=is_key)

        def deserialize(data: bytes, headers: Sequence[Header]) -> Windowed[K]:
            try:
                window = read(data[-length:])
            except ValueError as error:
                raise cannot_deserialize(name, data, str(error)) from error
            except (TypeError, struct.error) as error:
                raise cannot_deserialize(name, data, f"expected a key and {length} bytes") from error
            return Windowed(inner(data[:-length], headers), window)

        return deserialize


def window_writer(serde: WindowedSerde[K]) -> Callable[[Windowed[K]], bytes]:
    """Return the function that serialises the windows of keys, for one who serialises the keys themselves.

    It raises the errors of the serde.
    """
    name, write = serde.name, serde._times.write
    last = (Window(-1, -1), b"")  # this object is in no key

    def written(value: Windowed[K]) -> bytes:
        nonlocal last
        if not isinstance(value, Windowed):
            raise cannot_serialize(name, value, "expected a Windowed")
        # Many records in a row have the same window. It is compared by identity, as a value that equals a window may
        # be something that cannot be written.
        window, times = last
        if value.window is window:
            return times
        try:
            times = write(value.window)
        except (TypeError, ValueError, struct.error) as error:
            raise cannot_serialize(name, value, str(error)) from error
        if type(value.window) is Window:  # something else may change
            last = (value.window, times)
        return times

    return written


def time_windowed(inner: Serde[K], size_ms: int | timedelta) -> WindowedSerde[K]:
    """Return the serde of keys in time windows: the key and the start of its window.

    Args:
        inner: The serde of the keys.
        size_ms: The size of the windows, which their bytes do not tell: milliseconds, or a timedelta.

    Raises:
        ConfigurationError: `inner` is not a serde, or the size is not at least one whole millisecond.
    """
    check_serde("time_windowed", "inner", inner)
    times = TimeWindowBytes(_size_ms(size_ms))
    name = f"serdes.time_windowed({inner.name}, size_ms={times.size_ms})"
    return WindowedSerde(name, inner.is_immutable, inner, times)


def session_windowed(inner: Serde[K]) -> WindowedSerde[K]:
    """Return the serde of keys in session windows: the key, the end and the start of its window.

    Args:
        inner: The serde of the keys.

    Raises:
        ConfigurationError: `inner` is not a serde.
    """
    check_serde("session_windowed", "inner", inner)
    return WindowedSerde(f"serdes.session_windowed({inner.name})", inner.is_immutable, inner, SessionWindowBytes())


def _size_ms(size: object) -> int:
    """Return a size in milliseconds."""
    if isinstance(size, timedelta):
        whole, rest = divmod(size, timedelta(milliseconds=1))
        size_ms: object = None if rest else whole
    else:
        size_ms = size
    if not isinstance(size_ms, int) or isinstance(size_ms, bool) or not 0 < size_ms <= _MAX_MS:
        raise ConfigurationError(
            f"serdes.time_windowed: size_ms={size!r} is not the size of a window."
            " Give milliseconds as a positive int, or a timedelta of whole milliseconds."
        )
    return size_ms
