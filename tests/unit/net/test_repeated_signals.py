"""Signals that are sent again until their handler has run."""

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from kafka_groups.net.repeated_signals import RepeatedSignals, signals_interrupting
from tests.support.conditions import wait_until

OURS, OTHER = signal.SIGUSR1, signal.SIGUSR2


class CameError(Exception):
    """What the handler raises."""


def raise_came(*_: object) -> None:
    raise CameError


def struck(block: Callable[[], object]) -> None:
    """Run a block that a signal is to end."""
    with signals_interrupting((OURS,), raise_came):
        block()


def strike() -> None:
    os.kill(os.getpid(), OURS)
    threading.Event().wait()


@pytest.fixture
def own_pipe() -> Iterator[int]:
    """The pipe that the program, or its event loop, has set to hear of signals."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    before = signal.set_wakeup_fd(writing)
    yield reading
    assert signal.set_wakeup_fd(before) == writing
    os.close(reading)
    os.close(writing)


def test_a_signal_is_sent_again_until_its_handler_has_run() -> None:
    came: list[int] = []
    repeated = RepeatedSignals((OURS,))

    def handle(number: int, _frame: object) -> None:
        came.append(number)
        if len(came) == 3:  # as if Python had not come to run it before
            repeated.ran()

    before = signal.signal(OURS, handle)
    try:
        repeated.start()
        os.kill(os.getpid(), OURS)
        wait_until(lambda: len(came) == 3, 30)
    finally:
        repeated.close()
        signal.signal(OURS, before)
    assert came == [OURS] * 3


def test_a_handler_raises_out_of_a_block_once_and_the_threads_end() -> None:
    threads = threading.active_count()
    with pytest.raises(CameError):
        struck(strike)
    assert threading.active_count() == threads
    with signals_interrupting((OURS,), raise_came):
        pass
    assert threading.active_count() == threads


def test_the_second_signal_does_not_disturb_what_the_first_began() -> None:
    steps: list[str] = []

    def cleans_up() -> None:
        try:
            strike()
        finally:
            signal.raise_signal(OURS)
            steps.append("cleaned up")

    with pytest.raises(CameError):
        struck(cleans_up)
    assert steps == ["cleaned up"]


def test_without_signals_nothing_is_started() -> None:
    threads = threading.active_count()
    with signals_interrupting((), raise_came):
        assert threading.active_count() == threads


def test_the_program_still_hears_of_other_signals(own_pipe: int) -> None:
    before = signal.signal(OTHER, lambda *_: None)
    try:
        with signals_interrupting((OURS,), lambda *_: None):
            os.kill(os.getpid(), OTHER)
            os.kill(os.getpid(), OURS)
            heard = bytearray()

            def has_heard() -> bool:
                try:
                    heard.extend(os.read(own_pipe, 10))
                except BlockingIOError:
                    return False
                return OTHER in heard

            wait_until(has_heard, 30)
        assert bytes(heard) == bytes([OTHER])
    finally:
        signal.signal(OTHER, before)


def test_a_forked_child_does_not_send_its_signals_to_its_parent() -> None:
    came: list[int] = []
    with signals_interrupting((OURS,), lambda number, _: came.append(number)):
        child = os.fork()
        if child == 0:
            signal.signal(OURS, signal.SIG_DFL)
            os._exit(signal.set_wakeup_fd(-1) != -1)
        assert os.waitpid(child, 0)[1] == 0
    assert came == []
