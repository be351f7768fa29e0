"""Handlers of signals that are in place for a while, in programs that may have their own."""

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["put_back", "signals_handled"]


@contextmanager
def signals_handled(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Handle signals during a block, and put the program's own handlers back then. On the main thread only."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        put_back(before)


def put_back(handlers: Mapping[signal.Signals, Any]) -> None:
    """Set handlers that `signal.signal` or `signal.getsignal` returned earlier.

    None stands for a handler of C code, such as of the program that Python is embedded in. Python cannot set it
    again, so the present one stays.
    """
    for number, handler in handlers.items():
        if handler is not None:
            signal.signal(number, handler)
