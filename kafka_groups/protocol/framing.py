"""Frames on a byte stream: four bytes of length, then the payload."""

import struct
from collections.abc import Iterator

from kafka_groups.errors import MalformedFrameError

__all__ = ["DEFAULT_MAX_FRAME_BYTES", "FrameDecoder", "frame"]

DEFAULT_MAX_FRAME_BYTES = 100 * 1024 * 1024
"""Kafka's `socket.request.max.bytes`."""

_LENGTH = struct.Struct(">i")


def frame(payload: bytes) -> bytes:
    """The payload with its length in front."""
    return _LENGTH.pack(len(payload)) + payload


class FrameDecoder:
    """Cuts a byte stream into frames.

    Memory grows with the bytes that came, never with the length that was announced.

    Args:
        max_frame_bytes: Longest payload that is accepted.
    """

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._needed = _LENGTH.size

    def feed(self, chunk: bytes) -> Iterator[memoryview]:
        """The payloads that this chunk completes, as read-only views.

        Raises:
            MalformedFrameError: A length is negative or above the limit; the stream cannot be read any further.
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
            raise MalformedFrameError(f"a frame of {length} bytes; the limit is {self._max_frame_bytes}")
        return position + _LENGTH.size + length

    def _keep(self, rest: memoryview, needed: int) -> None:
        self._chunks = [bytes(rest)] if rest else []
        self._buffered = len(rest)
        self._needed = needed
