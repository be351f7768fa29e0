"""Refuse functions that run nothing when they are called: their records would be accepted without being processed."""

import functools
import inspect
from typing import Any

from kafka_groups.errors import ConfigurationError

__all__ = ["ProcessResultError", "check_process", "check_result"]

_REMEDY = "write an ordinary function that returns when the records are stored"


class ProcessResultError(ConfigurationError):
    """`process` returned a generator or an awaitable, so nothing was processed."""


def check_process(process: object) -> None:
    """Refuse a function whose call runs none of its code.

    Raises:
        ConfigurationError: It is a generator function, is declared with `async def`, or is not callable.
    """
    if not callable(process):
        raise ConfigurationError(f"process={process!r} is not callable: give a function of a ShareBatch")
    kind = _lazy_kind(process)
    if kind is not None:
        raise ConfigurationError(f"process={process!r} is {kind}: calling it processes nothing; {_REMEDY}")


def _lazy_kind(process: Any) -> str | None:
    while isinstance(process, functools.partial):
        process = process.func
    called = process if inspect.isroutine(process) else getattr(type(process), "__call__", process)  # noqa: B004
    for function in (inspect.unwrap(process), inspect.unwrap(called)):
        if inspect.isgeneratorfunction(function):
            return "a generator function (it contains yield)"
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return "declared with async def"
    return None


def check_result(result: object) -> None:
    """Refuse what `process` returned if it is work that has not been done.

    Raises:
        ProcessResultError: It is a generator or an awaitable.
    """
    if not (inspect.isgenerator(result) or inspect.isawaitable(result) or inspect.isasyncgen(result)):
        return
    if inspect.isgenerator(result) or inspect.iscoroutine(result):
        result.close()  # or Python warns that it was never awaited
    raise ProcessResultError(
        f"process returned a {type(result).__name__}, which nobody runs, so nothing was processed and all records were"
        f" released; {_REMEDY}"
    )
