"""Limits of the frame decoder."""

import struct
import tracemalloc

import pytest

from kafka_groups.errors import MalformedFrameError
from kafka_groups.protocol.framing import DEFAULT_MAX_FRAME_BYTES, FrameBuffer, FrameDecoder, frame


def test_an_empty_frame_is_a_frame() -> None:
    assert [bytes(view) for view in FrameDecoder().feed(frame(b"") + frame(b"a"))] == [b"", b"a"]


@pytest.mark.parametrize("length", [-1, -(2**31), 11, 2**31 - 1])
def test_a_length_outside_the_limit_is_refused_before_its_bytes_come(length: int) -> None:
    with pytest.raises(MalformedFrameError, match=f"a frame of {length} bytes; the limit is 10"):
        list(FrameDecoder(10).feed(struct.pack(">i", length)))


def test_a_frame_at_the_limit_passes() -> None:
    assert [len(view) for view in FrameDecoder(10).feed(frame(b"x" * 10))] == [10]


def test_an_announced_length_allocates_nothing() -> None:
    decoder = FrameDecoder()
    tracemalloc.start()
    try:
        assert list(decoder.feed(struct.pack(">i", DEFAULT_MAX_FRAME_BYTES) + b"start")) == []
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak_bytes < 100_000


def test_frames_before_a_bad_length_still_come() -> None:
    frames = FrameDecoder(10).feed(frame(b"good") + struct.pack(">i", -5))

    assert bytes(next(frames)) == b"good"
    with pytest.raises(MalformedFrameError):
        next(frames)


def test_a_large_frame_in_small_chunks_is_joined_once() -> None:
    payload = bytes(range(256)) * 400
    stream = frame(payload)
    decoder = FrameDecoder()
    views = [view for i in range(0, len(stream), 97) for view in decoder.feed(stream[i : i + 97])]

    assert [bytes(view) for view in views] == [payload]


def _fill(buffer: FrameBuffer, chunk: bytes) -> list[bytes]:
    frames: list[bytes] = []
    while chunk:
        space = buffer.space()
        taken, chunk = chunk[: len(space)], chunk[len(space) :]
        space[: len(taken)] = taken
        for view in buffer.received(len(taken)):
            assert view.readonly
            frames.append(bytes(view))
    return frames


@pytest.mark.parametrize("length", [-1, -(2**31), 11, 2**31 - 1])
def test_a_buffer_refuses_a_length_outside_the_limit_before_its_bytes_come(length: int) -> None:
    with pytest.raises(MalformedFrameError, match=f"a frame of {length} bytes; the limit is 10"):
        _fill(FrameBuffer(10), struct.pack(">i", length))


def test_a_buffer_grows_with_what_came_and_not_with_what_was_announced() -> None:
    buffer = FrameBuffer(initial_bytes=16)

    assert _fill(buffer, struct.pack(">i", 1_000_000) + b"start") == []
    assert len(buffer.space()) == 16 - 9
    assert _fill(buffer, b"x" * 100) == []
    assert len(buffer.space()) + 109 == 128


def test_a_buffer_that_had_to_be_large_is_given_back_when_its_frame_is_done() -> None:
    buffer = FrameBuffer(initial_bytes=16, kept_bytes=64)

    assert _fill(buffer, frame(b"x" * 500)) == [b"x" * 500]
    assert len(buffer.space()) == 16
    assert _fill(buffer, frame(b"y" * 40)) == [b"y" * 40]
    assert len(buffer.space()) == 64
