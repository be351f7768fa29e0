"""Frames come out of a stream as they went in, however the network cuts it."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import MalformedFrameError
from kafka_groups.protocol.framing import FrameBuffer, FrameDecoder, frame


@st.composite
def _cut_streams(draw: st.DrawFn) -> tuple[list[bytes], list[bytes]]:
    payloads = draw(st.lists(st.binary(max_size=30), max_size=6))
    stream = b"".join(frame(payload) for payload in payloads)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    return payloads, [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(_cut_streams())
def test_chunks_of_any_size_give_the_frames_back(cut: tuple[list[bytes], list[bytes]]) -> None:
    payloads, chunks = cut
    decoder = FrameDecoder()

    assert [bytes(view) for chunk in chunks for view in decoder.feed(chunk)] == payloads


@given(_cut_streams())
def test_a_frame_comes_with_the_chunk_that_completes_it(cut: tuple[list[bytes], list[bytes]]) -> None:
    payloads, chunks = cut
    decoder = FrameDecoder()
    received = came = 0
    ends = [sum(4 + len(payload) for payload in payloads[: i + 1]) for i in range(len(payloads))]
    for chunk in chunks:
        received += len(chunk)
        came += len(list(decoder.feed(chunk)))
        assert came == sum(end <= received for end in ends)


@given(st.binary(max_size=80), st.integers(0, 40))
def test_random_bytes_are_frames_within_the_limit_or_an_error(stream: bytes, limit: int) -> None:
    try:
        views = list(FrameDecoder(limit).feed(stream))
    except MalformedFrameError:
        return
    assert all(len(view) <= limit and view.readonly for view in views)
    assert sum(len(frame(bytes(view))) for view in views) <= len(stream)


@given(_cut_streams(), st.integers(1, 40), st.integers(1, 80))
def test_a_buffer_that_is_used_again_gives_the_frames_back(
    cut: tuple[list[bytes], list[bytes]], initial_bytes: int, kept_bytes: int
) -> None:
    payloads, chunks = cut
    buffer = FrameBuffer(initial_bytes=initial_bytes, kept_bytes=kept_bytes)
    came: list[bytes] = []
    for chunk in chunks:
        rest = chunk
        while rest:
            space = buffer.space()
            count = min(len(space), len(rest))
            assert count > 0
            space[:count], rest = rest[:count], rest[count:]
            came += [bytes(view) for view in buffer.received(count)]

    assert came == payloads
