import os
import signal

import pytest

from kafka_groups.cli.records.interruption import InterruptedCommandError, Interruption


def strike(number: signal.Signals = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_wakes_and_the_second_one_raises(number: signal.Signals) -> None:
    before, woken = signal.getsignal(number), list[str]()
    with Interruption() as interruption:
        interruption.on_strike = lambda: woken.append("up")
        assert not interruption.has_struck
        strike(number)
        assert (interruption.has_struck, woken) == (True, ["up"])
        with pytest.raises(KeyboardInterrupt):
            strike(number)
    assert signal.getsignal(number) is before


def test_a_signal_ends_what_blocks() -> None:
    with Interruption() as interruption:
        with pytest.raises(InterruptedCommandError), interruption.blocking():
            strike()
        with pytest.raises(InterruptedCommandError), interruption.blocking():
            pytest.fail("a signal came before")
