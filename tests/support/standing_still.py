"""Processes that stand still for a while."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["standing_still"]


@contextmanager
def standing_still(*processes: int) -> Iterator[None]:
    """Stop processes during the block."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
