"""A thread that waits for another one, and Ctrl-C at every instant of it."""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count

from kafka_groups.net.wake_up import WakeUp
from tests.support.interrupting import interrupted_at

PATIENCE_S = 10.0


def on_a_thread(action: Callable[[], object]) -> bool:
    """Whether the action ends on a thread of its own."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()


def test_a_wait_ends_when_it_is_set_before_or_meanwhile() -> None:
    wake_up = WakeUp()
    assert not wake_up.wait(0)
    wake_up.set()
    assert wake_up.wait()
    assert not wake_up.wait(0.001)
    threading.Timer(0.01, wake_up.set).start()
    assert wake_up.wait(PATIENCE_S)


def test_a_cleared_signal_is_forgotten_and_many_are_one() -> None:
    wake_up = WakeUp()
    for _ in range(3):
        wake_up.set()
    assert wake_up.wait(0)
    assert not wake_up.wait(0)
    wake_up.set()
    wake_up.clear()
    assert not wake_up.wait(0)


def waits_and_clears(wake_up: WakeUp | threading.Event) -> None:
    wake_up.wait(0.001)
    wake_up.set()
    wake_up.wait(0)
    wake_up.clear()


def test_ctrl_c_at_no_instant_blocks_the_thread_that_sets_it() -> None:
    for instant in count():
        wake_up = WakeUp()
        if not interrupted_at(instant, partial(waits_and_clears, wake_up)):
            break
        assert on_a_thread(wake_up.set), instant
        wake_up.wait(PATIENCE_S)
        wake_up.clear()
    assert instant > 5


def test_such_an_interrupt_blocks_an_event() -> None:
    """What the class is for; should Python mend it one day, `WakeUp` can go."""

    def is_locked_for_good(instant: int) -> bool:
        event = threading.Event()
        with suppress(RuntimeError):  # it may also release a lock that it has not taken
            interrupted_at(instant, lambda: waits_and_clears(event))
        return not event._cond.acquire(blocking=False)  # type: ignore[attr-defined]

    assert any(map(is_locked_for_good, range(60)))
