"""Signals that end blocking code of other programs, at whatever moment they come.

Code that is not ours may block without a limit: the lifespan of a worker, the loop of Spark's source runner, a module
that a worker process imports. A signal that comes just before its system call does not end that call (see
`short_waits`). So a thread sends the signal again until its handler has run.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from kafka_groups.net.short_waits import joined
from kafka_groups.net.signal_handlers import signals_handled

__all__ = ["RepeatedSignals", "signals_interrupting"]

_AGAIN_S = 0.1
"""The time that a handler has until its signal is sent again."""

_MOST_SIGNALS = 64

_STARTED: list["RepeatedSignals"] = []


class RepeatedSignals:
    """Sends a signal to the main thread again and again, until `ran` says that its handler has run.

    The pipe of `signal.set_wakeup_fd` tells a thread of every signal. What the program itself, or its event loop, had
    set there learns of all other signals.

    Args:
        numbers: The signals.
    """

    def __init__(self, numbers: Iterable[signal.Signals]) -> None:
        self._numbers = frozenset(numbers)
        self._ended = threading.Event()
        self._has_run = False
        self._others = -1
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._thread = threading.Thread(target=self._main, name="repeated-signals", daemon=True)

    def __repr__(self) -> str:
        return f"<RepeatedSignals of {', '.join(sorted(signal.Signals(number).name for number in self._numbers))}>"

    def start(self) -> None:
        """Begin. Call it on the main thread, after the handlers are in place."""
        self._thread.start()
        self._others = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        _STARTED.append(self)

    def ran(self) -> bool:
        """Note that a handler runs, which calls this first. Return False if one ran before."""
        is_first, self._has_run = not self._has_run, True
        return is_first

    def close(self) -> None:
        """End. Call it on the main thread, while the handlers are still in place: the last signal may come late."""
        signal.set_wakeup_fd(self._others, warn_on_full_buffer=False)
        _STARTED.remove(self)
        self._ended.set()
        os.close(self._writing)
        joined(self._thread)
        os.close(self._reading)

    def _main(self) -> None:
        while came := os.read(self._reading, _MOST_SIGNALS):
            is_ours = not self._numbers.isdisjoint(came)
            self._pass_on(bytes(number for number in came if number not in self._numbers))
            if not is_ours or self._ended.wait(_AGAIN_S) or self._has_run:
                continue
            self._send(next(number for number in came if number in self._numbers))

    def _pass_on(self, others: bytes) -> None:
        if others and self._others >= 0:
            with suppress(OSError):  # its reader is busy, or gone
                os.write(self._others, others)

    def _send(self, number: int) -> None:
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, number)  # which also fills the pipe again


def _let_go() -> None:
    """Forget the pipe in a forked child: its signals would be sent to the parent."""
    if _STARTED:
        _STARTED.clear()
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_let_go)


@contextmanager
def signals_interrupting(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Handle the first of some signals during a block, by a handler that raises an exception.

    The exception reaches also a block that waits in a system call. On the main thread only.
    """
    numbers = tuple(numbers)
    if not numbers:
        yield
        return
    repeated = RepeatedSignals(numbers)

    def handle(number: int, frame: FrameType | None) -> None:
        if repeated.ran():
            handler(number, frame)

    with signals_handled(numbers, handle):
        repeated.start()
        try:
            yield
        finally:
            repeated.close()
