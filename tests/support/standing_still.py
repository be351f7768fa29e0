"""Processes that stand still for a while."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["standing_still"]


@contextmanager
def standing_still(*processes: int) -> Iterator[None]:
    """Stop processes during the block. A parent comes before its children."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        # Children first: a parent that goes on looks after those that have died, and then nobody has their numbers.
        for process in reversed(processes):
            os.kill(process, signal.SIGCONT)
