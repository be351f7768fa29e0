"""Signals that stop a worker: while it runs, and while its start waits for a lifespan or for brokers."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from kafka_groups.net.repeated_signals import signals_interrupting
from kafka_groups.net.signal_handlers import put_back

__all__ = ["StartInterrupted", "StopSignals"]


class StartInterrupted(BaseException):
    """A signal came while a lifespan was being entered. Like `KeyboardInterrupt`, it is not an `Exception`."""


class StopSignals:
    """Calls a function on the running loop for each signal, from the beginning of a `with` block until `close`.

    Then the program's own handlers are in place again, which asyncio would replace by Python's default ones.
    Does nothing on threads other than the main one, as Python handles signals only there.

    Args:
        numbers: The signals.
        on_signal: The function.
    """

    def __init__(self, numbers: Sequence[signal.Signals], on_signal: Callable[[], None]) -> None:
        self._numbers = numbers if threading.current_thread() is threading.main_thread() else ()
        self._on_signal = on_signal
        self._before: dict[signal.Signals, Any] = {}
        self._loop = asyncio.get_running_loop()
        self._entering: asyncio.Task[Any] | None = None
        self._was_cancelled = False

    def __repr__(self) -> str:
        return f"<StopSignals {', '.join(number.name for number in self._numbers) or 'none'}>"

    def __enter__(self) -> Self:
        for number in self._numbers:
            self._before[number] = signal.getsignal(number)
            self._loop.add_signal_handler(number, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Handle signals no longer."""
        for number in self._before:
            self._loop.remove_signal_handler(number)
        put_back(self._before)
        self._numbers, self._before = (), {}

    def _came(self) -> None:
        self._on_signal()
        # Only the first signal cancels the start. A second one in the middle of the cleanup would interrupt that.
        if self._entering is not None and not self._was_cancelled:
            self._was_cancelled = True
            self._entering.cancel()

    @contextmanager
    def interrupting_awaits(self) -> Iterator[None]:
        """Cancel the block's task if a signal comes.

        Raises:
            StartInterrupted: A signal has come.
        """
        task = self._entering = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            # A cancellation by someone else, such as a timeout around the whole program, is passed on as it is.
            if self._was_cancelled:
                raise StartInterrupted from None
            raise
        finally:
            self._entering = None
            # The task goes on to close what the start has opened, and must not count as cancelled for the awaits of
            # that.
            if task is not None and self._was_cancelled:
                task.uncancel()

    @contextmanager
    def interrupting_code(self) -> Iterator[None]:
        """Raise an exception in the block if a signal comes. The loop cannot call anything while the block runs.

        Raises:
            StartInterrupted: A signal has come.
        """
        with signals_interrupting(self._numbers, self._interrupt):
            yield

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._on_signal()
        raise StartInterrupted
