"""Refuse a `process` that does not finish its work: its records would be accepted without being stored.

By returning None, `process` says that the records are stored. Anything else that it returns may be unfinished work:
`map(store, batch)` stores nothing, a Future may fail later, and False may mean that it failed.
"""

import reprlib

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import check_function, undone_work

__all__ = ["ProcessResultError", "check_process", "check_result"]

_REMEDY = "write an ordinary function that returns None when the records are stored, and raises when they are not"


class ProcessResultError(ConfigurationError):
    """`process` returned something other than None, so it is unknown whether the records are stored."""


def check_process(process: object) -> None:
    """Refuse a function whose call runs none of its code, or that does not take a batch.

    Raises:
        ConfigurationError: It is a class, a generator function, is declared with `async def`, does not take one
            argument, or is not callable.
    """
    check_function("process", process, "a function of a ShareBatch", arguments=1, remedy=_REMEDY)


def check_result(result: object) -> None:
    """Refuse what `process` returned, unless it is None.

    Raises:
        ProcessResultError: It is anything else.
    """
    if result is None:
        return
    raise ProcessResultError(
        f"process returned {_SHORT.repr(result)}{_problem(result)}. Records are accepted only if process returns None,"
        f" so these were released: {_REMEDY}"
    )


def _problem(result: object) -> str:
    uncalled = ", a function, which nobody calls" if callable(result) else ""
    return undone_work(result) or uncalled


class _Short(reprlib.Repr):
    """Shows values in an error: long enough to recognise them, and never with an error of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.maxother = self.maxstring = 80


_SHORT = _Short()
