"""The end of a command by Ctrl-C or SIGTERM, also while standard output takes nothing."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, Self

__all__ = ["InterruptedCommandError", "Interruption", "nobody"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class InterruptedCommandError(Exception):
    """A signal has ended the command."""


class Interruption:
    """Hears of the first signal that ends the command. A second one raises `KeyboardInterrupt` wherever it strikes.

    Use it in a `with` statement, in the main thread.

    Attributes:
        has_struck: Whether a signal has come.
        on_strike: Called by the first signal, between any two steps of the program: it may only wake somebody.
    """

    def __init__(self) -> None:
        self.has_struck = False
        self.on_strike: Callable[[], object] = nobody
        self._is_blocking = False
        self._before: dict[int, Any] = {}

    def __repr__(self) -> str:
        return f"<Interruption {'struck' if self.has_struck else 'waiting'}>"

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._strike) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _strike(self, _number: int, _frame: FrameType | None) -> None:
        if self.has_struck:
            raise KeyboardInterrupt
        self.has_struck = True
        self.on_strike()
        if self._is_blocking:
            raise InterruptedCommandError

    @contextmanager
    def blocking(self) -> Iterator[None]:
        """Raise an error out of the block, which waits for somebody else, when a signal comes.

        Raises:
            InterruptedCommandError: A signal came, now or before.
        """
        self._is_blocking = True
        try:
            if self.has_struck:
                raise InterruptedCommandError
            yield
        finally:
            self._is_blocking = False


def nobody() -> None:
    """Do nothing, as nobody waits who could be woken."""
