"""Lines of pieces of any size, and how far the input is read ahead."""

import io
import os
import threading
from collections.abc import Callable

import pytest

from kafka_groups.cli.records.input_lines import InputLine, InputLines, LineTooLongError

WAIT_S = 20


def nobody() -> None:
    raise AssertionError("This input always has something.")


async def all_lines(lines: InputLines) -> list[InputLine]:
    found: list[InputLine] = []
    while (some := await lines.next(WAIT_S)) is not None:
        found += some
    return found


def in_pieces(data: bytes, size: int) -> Callable[[int], bytes]:
    stream = io.BytesIO(data)
    return lambda most: stream.read(min(size, most))


@pytest.mark.parametrize("size", [1, 3, 100])
async def test_lines_are_whole_and_counted(size: int) -> None:
    data = b"one\n\ntwo three\r\nfour"
    found = await all_lines(InputLines(in_pieces(data, size), nobody))
    assert found == [(1, b"one"), (2, b""), (3, b"two three\r"), (4, b"four")]


async def test_input_may_be_empty_or_end_with_a_line() -> None:
    assert await all_lines(InputLines(in_pieces(b"", 5), nobody)) == []
    assert await all_lines(InputLines(in_pieces(b"a\n", 5), nobody)) == [(1, b"a")]


async def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    read = 0

    def endless(most: int) -> bytes:
        nonlocal read
        read += most
        return b"a\n" + b"x" * (most - 2) if read == most else b"x" * most

    lines = InputLines(endless, nobody, longest=1_000_000)
    assert await lines.next(WAIT_S) == [(1, b"a")]
    with pytest.raises(LineTooLongError, match="line 2 is longer than 1,000,000 bytes"):
        await lines.next(WAIT_S)
    assert read < 1_200_000


async def test_a_few_pieces_are_read_ahead_and_no_more() -> None:
    read, is_blocked = 0, threading.Event()

    def endless(_most: int) -> bytes:
        nonlocal read
        read += 1
        if read == 5:
            is_blocked.set()
        return b"line\n"

    lines = InputLines(endless, nobody)
    assert is_blocked.wait(WAIT_S)
    assert read == 5  # four are there, and the thread holds one that has no room
    assert await lines.next(WAIT_S) == [(1, b"line")]


async def test_time_runs_out_while_nothing_comes() -> None:
    reading, writing = os.pipe()
    stream = os.fdopen(reading, "rb", buffering=0)
    with os.fdopen(writing, "wb", buffering=0) as input_:
        lines = InputLines(stream.read, nobody)
        assert await lines.next(0) == ()
        input_.write(b"a\nb")
        assert await lines.next(WAIT_S) == [(1, b"a")]
    assert await all_lines(lines) == [(2, b"b")]
    stream.close()


async def test_an_input_that_has_nothing_now_is_waited_for() -> None:
    answers: list[bytes | None] = [None, b"a\n", None, b""]
    waits: list[int] = []
    lines = InputLines(lambda _most: answers.pop(0), lambda: waits.append(1))
    assert await all_lines(lines) == [(1, b"a")]
    assert len(waits) == 2


async def test_an_input_that_fails_says_so() -> None:
    def broken(_most: int) -> bytes:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await InputLines(broken, nobody).next(WAIT_S)
