"""The end of a benchmark at SIGTERM: brokers and programs of others end with it, and its directories are removed."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def ending_at_sigterm() -> Iterator[None]:
    """Let SIGTERM leave the block by `SystemExit`, so that each context manager within it ends what it has started.

    Without it, programs that were started would end by themselves: when their standard input ends, and they have
    committed to brokers that have ended, too.
    """
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the end
    sys.exit(128 + number)
