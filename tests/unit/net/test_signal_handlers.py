"""Handlers of signals that are in place for a while."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType

import pytest

from kafka_groups.net.signal_handlers import put_back, signals_handled

NUMBERS = [signal.SIGUSR1, signal.SIGUSR2]


class Came:
    """The signals that came."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.numbers.append(number)


@pytest.fixture
def own() -> Iterator[Came]:
    """The program's own handler."""
    came = Came()
    before = {number: signal.signal(number, came) for number in NUMBERS}
    yield came
    for number, handler in before.items():
        signal.signal(number, handler)


def test_own_handlers_are_put_back_after_the_block_and_after_an_error(own: Came) -> None:
    came = Came()
    with suppress(KeyError), signals_handled(NUMBERS, came):
        os.kill(os.getpid(), signal.SIGUSR2)
        raise KeyError
    os.kill(os.getpid(), signal.SIGUSR1)
    assert (came.numbers, own.numbers) == ([signal.SIGUSR2], [signal.SIGUSR1])


def test_a_handler_of_c_code_cannot_be_put_back(own: Came) -> None:
    put_back({signal.SIGUSR1: None, signal.SIGUSR2: signal.SIG_IGN})
    assert [signal.getsignal(number) for number in NUMBERS] == [own, signal.SIG_IGN]
