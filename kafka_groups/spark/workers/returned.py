"""Refuse a `process` that does not finish its work: its records would be accepted without being stored.

By returning None, `process` says that the records are stored. Whatever else it returns may be work that nobody has
done: `map(store, batch)` stores nothing, a Future may fail later, and False may mean that it failed.
"""

import inspect
import reprlib
from collections.abc import Iterator
from typing import Any

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import check_function

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
    problem = _problem(result)
    if inspect.isgenerator(result) or inspect.iscoroutine(result):
        result.close()  # or Python warns that it was never awaited
    raise ProcessResultError(
        f"process returned {_SHORT.repr(result)}{problem}. Records are accepted only if process returns None, so these"
        f" were released: {_REMEDY}"
    )


def _problem(result: Any) -> str:
    if inspect.isawaitable(result) or inspect.isasyncgen(result):
        return f", a {type(result).__name__}, which nobody awaits"
    if callable(getattr(result, "result", None)) and callable(getattr(result, "done", None)):
        return ", a future, which may not be done or may have failed: call its result() in process"
    if isinstance(result, Iterator):
        return f", a {type(result).__name__}, which nobody iterates over, so its work is not done"
    if callable(result):
        return ", a function, which nobody calls"
    return ""


class _Short(reprlib.Repr):
    """Shows values in an error: long enough to recognise them, and never with an error of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.maxother = self.maxstring = 80


_SHORT = _Short()
