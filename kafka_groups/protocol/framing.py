"""Frames on a byte stream: four bytes of length, then the payload."""

import struct
from collections.abc import Iterator

from kafka_groups.errors import FrameLengthError

__all__ = ["DEFAULT_KEPT_BYTES", "DEFAULT_MAX_FRAME_BYTES", "FrameBuffer", "FrameDecoder", "frame"]

DEFAULT_MAX_FRAME_BYTES = 100 * 1024 * 1024
"""Kafka's `socket.request.max.bytes`."""

_LENGTH = struct.Struct(">i")
_INITIAL_BYTES = 64 * 1024
DEFAULT_KEPT_BYTES = 1024 * 1024
"""Larger receive buffers shrink again once a connection has handed over what it received."""


def frame(payload: bytes) -> bytes:
    """Return the payload, preceded by its length."""
    return _LENGTH.pack(len(payload)) + payload


class FrameBuffer:
    """A buffer that a connection receives into, and that is split into frames in place.

    The buffer is reused for the next frames, so that a busy connection allocates nothing. It grows with the received
    bytes, never with the announced length.

    Args:
        max_frame_bytes: Maximum size of a payload.
        initial_bytes: Initial size of the buffer. It also shrinks to this size after exceeding `kept_bytes`.
        kept_bytes: Maximum size that an empty buffer keeps.
    """

    def __init__(
        self,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        *,
        initial_bytes: int = _INITIAL_BYTES,
        kept_bytes: int = DEFAULT_KEPT_BYTES,
    ) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._initial_bytes = initial_bytes
        self._kept_bytes = kept_bytes
        self._use(initial_bytes)
        self._filled = 0

    def _use(self, size: int) -> None:
        self._view = memoryview(bytearray(size))
        self._readable = self._view.toreadonly()

    def space(self) -> memoryview:
        """The free space for the next bytes. Never empty."""
        return self._view[self._filled :]

    def received(self, count: int) -> Iterator[memoryview]:
        """Add received bytes and return the payloads that are now complete, as read-only views.

        A view is valid until the next step of the iteration. Iterate to the end before you use `space` again.

        Raises:
            FrameLengthError: A length is negative or above the limit. The stream cannot be read any further.
        """
        self._filled += count
        start = 0
        while (end := start + self._size_at(start)) <= self._filled:
            yield self._readable[start + _LENGTH.size : end]
            start = end
        self._keep_from(start)

    def _size_at(self, start: int) -> int:
        """Return the size of the frame at a position. Without its length, return a size that cannot be complete."""
        if self._filled - start < _LENGTH.size:
            return len(self._view) + 1
        length: int = _LENGTH.unpack_from(self._readable, start)[0]
        if not 0 <= length <= self._max_frame_bytes:
            raise FrameLengthError(length, self._max_frame_bytes)
        return _LENGTH.size + length

    def _keep_from(self, start: int) -> None:
        """Move the start of the next frame to the front. Grow for a larger frame; shrink after a large one."""
        rest = self._filled - start
        full, view = rest == len(self._view), self._view
        if full or (len(view) > self._kept_bytes and rest < self._initial_bytes):
            self._use(2 * rest if full else self._initial_bytes)
        if rest and (start or view is not self._view):
            self._view[:rest] = view[start : self._filled]
        self._filled = rest


class FrameDecoder:
    """Splits a byte stream into frames that stay valid, from chunks received elsewhere.

    Memory grows with the received bytes, never with the announced length.

    Args:
        max_frame_bytes: Maximum size of a payload.
    """

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._needed = _LENGTH.size

    def feed(self, chunk: bytes) -> Iterator[memoryview]:
        """Return the payloads that this chunk completes, as read-only views.

        Raises:
            FrameLengthError: A length is negative or above the limit. The stream cannot be read any further.
        """
        self._chunks.append(chunk)
        self._buffered += len(chunk)
        if self._buffered < self._needed:
            return
        data = memoryview(chunk if len(self._chunks) == 1 else b"".join(self._chunks)).toreadonly()
        position = 0
        while (end := self._frame_end(data, position)) <= len(data):
            yield data[position + _LENGTH.size : end]
            position = end
        self._keep(data[position:], end - position)

    def _frame_end(self, data: memoryview, position: int) -> int:
        if len(data) - position < _LENGTH.size:
            return position + max(_LENGTH.size, len(data) - position + 1)
        length: int = _LENGTH.unpack_from(data, position)[0]
        if not 0 <= length <= self._max_frame_bytes:
            raise FrameLengthError(length, self._max_frame_bytes)
        return position + _LENGTH.size + length

    def _keep(self, rest: memoryview, needed: int) -> None:
        self._chunks = [bytes(rest)] if rest else []
        self._buffered = len(rest)
        self._needed = needed
