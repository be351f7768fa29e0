"""Garbage collection in a process that a worker owns."""

import gc

__all__ = ["collect_less_often"]

_YOUNG = 10_000


def collect_less_often() -> None:
    """Let the young generation grow before it is collected, unless the program has set that already.

    A worker has thousands of records in hand at times. With Python's default of 700 to 2,000 objects, the collector
    runs several times for each run of records, finds all of them alive, and takes as long as the rest of the worker.
    """
    young, *others = gc.get_threshold()
    if 0 < young < _YOUNG:
        gc.set_threshold(_YOUNG, *others)
