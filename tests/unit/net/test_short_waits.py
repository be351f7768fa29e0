"""Waits in short pieces: what they return, and when."""

import queue
import threading
from concurrent.futures import Future

import pytest

from kafka_groups.net.short_waits import LONGEST_PIECE_S, in_short_pieces, joined, result_of, taken


class Asked:
    """A wait that succeeds at the n-th time, and takes no time."""

    def __init__(self, succeeds_at: int) -> None:
        self.pieces: list[float | None] = []
        self._succeeds_at = succeeds_at

    def __call__(self, timeout_s: float | None) -> bool:
        self.pieces.append(timeout_s)
        return len(self.pieces) == self._succeeds_at


def test_the_main_thread_waits_in_pieces_until_the_wait_succeeds() -> None:
    wait = Asked(3)
    assert in_short_pieces(wait, None)
    assert wait.pieces == [LONGEST_PIECE_S] * 3


def test_no_piece_is_longer_than_the_time_that_is_left() -> None:
    pause, wait = threading.Event(), Asked(0)
    assert not in_short_pieces(lambda piece_s: wait(piece_s) or pause.wait(piece_s), 0.3)
    assert len(wait.pieces) >= 2
    assert all(piece is not None and piece <= LONGEST_PIECE_S for piece in wait.pieces)


@pytest.mark.parametrize("timeout_s", [0, 0.001, LONGEST_PIECE_S])
def test_a_short_time_is_one_piece(timeout_s: float) -> None:
    wait = Asked(0)
    assert not in_short_pieces(wait, timeout_s)
    assert wait.pieces == [timeout_s]


@pytest.mark.parametrize("timeout_s", [None, 20])
def test_other_threads_wait_once(timeout_s: float | None) -> None:
    wait = Asked(1)
    thread = threading.Thread(target=in_short_pieces, args=(wait, timeout_s))
    thread.start()
    thread.join()
    assert wait.pieces == [timeout_s]


def test_a_thread_has_ended_or_not() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    assert not joined(thread, 0.01)
    over.set()
    assert joined(thread)


def test_a_future_has_a_result_an_error_or_neither() -> None:
    done, failed, other = Future[int](), Future[int](), Future[int]()
    done.set_result(5)
    failed.set_exception(TimeoutError("of the future itself"))
    assert result_of(done) == 5
    with pytest.raises(TimeoutError, match="of the future itself"):
        result_of(failed)
    with pytest.raises(TimeoutError):
        result_of(other, 0.01)


def test_an_item_is_taken_when_it_comes() -> None:
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    threading.Timer(0.01, items.put, (5,)).start()
    assert taken(items) == 5
