"""Checks of the functions that a program hands over: a call must do the work, and not only prepare it."""

import functools
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import text_of

__all__ = [
    "ASYNC_GENERATOR_MANAGER",
    "GENERATOR_MANAGER",
    "called_by",
    "check_function",
    "has_wrong_arguments",
    "idle_kind",
    "mismatch",
    "name_of",
    "undecorated_generator",
    "undone_work",
    "without_partial",
]

_PACKAGE = __name__.partition(".")[0]

_OF_ARGUMENTS = re.compile(r"\b(takes|expected|missing)\b.*\barguments?\b")
"""The words of Python, and of functions written in C, about a call with too few or too many arguments."""


@contextmanager
def _plain() -> Iterator[None]:
    yield


@asynccontextmanager
async def _asynchronous() -> AsyncIterator[None]:
    yield


GENERATOR_MANAGER: Final = type(_plain())
"""The class of the context managers that `contextlib.contextmanager` makes."""

ASYNC_GENERATOR_MANAGER: Final = type(_asynchronous())
"""The class of the context managers that `contextlib.asynccontextmanager` makes."""


def check_function(
    name: str, function: object, form: str, *, arguments: int, remedy: str, fault: type[Exception] = ConfigurationError
) -> None:
    """Refuse a function that does nothing when it is called, or that cannot be called with its arguments.

    Args:
        name: The name of the argument, for the error.
        function: The argument to check.
        form: The expected argument, as in "a function of a ShareBatch".
        arguments: The number of positional arguments that it is called with.
        remedy: Advice on writing a function that does its work when it is called.
        fault: The class of the error.

    Raises:
        ConfigurationError: It is not a function that fits (or `fault`).
    """
    if not callable(function):
        raise fault(f"{name}={function!r} is not callable: give {form}")
    if isinstance(inner := without_partial(function), type):
        made = inner.__name__
        raise fault(
            f"{name}={made} is a class: calling it only makes an object; give an object, as in {name}={made}(…)"
        )
    if (kind := idle_kind(function)) is not None:
        raise fault(f"{name}={function!r} is {kind}: calling it does nothing; {remedy}")
    if (why := mismatch(function, arguments)) is not None:
        raise fault(f"{name}={function!r} cannot be called with {_number(arguments)} ({why}): give {form}")


def idle_kind(function: Callable[..., Any]) -> str | None:
    """Return what kind of function this is if a call runs none of its code; None for an ordinary function."""
    for code in (inspect.unwrap(without_partial(function)), inspect.unwrap(called_by(function))):
        if inspect.isgeneratorfunction(code):
            return "a generator function (it contains yield)"
        if inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code):
            return "declared with async def"
    return None


def undone_work(result: Any) -> str | None:
    """Return how a result of a function is work that is not done, to follow the result in an error; None if it isn't.

    Coroutines and generators are closed, or Python would warn that they were never awaited.
    """
    kind = type(result).__name__
    if inspect.isgenerator(result) or inspect.iscoroutine(result):
        result.close()
    if inspect.isawaitable(result) or inspect.isasyncgen(result):
        return f", a {kind}, which nobody awaits"
    if callable(getattr(result, "result", None)) and callable(getattr(result, "done", None)):
        return ", a future, which may not be done or may have failed: call its result()"
    if isinstance(result, Iterator):
        return f", a {kind}, which nobody iterates over"
    return None


def undecorated_generator(function: Callable[..., Any]) -> str | None:
    """Return the remedy for a function whose `yield` lacks the decorator of a context manager; None for others."""
    # Calling one of these works and returns an object that is no context manager, so the mistake would show only when
    # somebody uses what it should have made.
    called = called_by(function)
    if inspect.isgeneratorfunction(called):
        return "contains yield, but is not a context manager: decorate it with contextlib.contextmanager"
    if inspect.isasyncgenfunction(called):
        return "contains yield, but is not a context manager: decorate it with contextlib.asynccontextmanager"
    return None


def called_by(function: Any) -> Any:
    """Return the function or method that a call of an object runs."""
    inner = without_partial(function)
    return inner if inspect.isroutine(inner) else getattr(type(inner), "__call__", inner)  # noqa: B004


def name_of(function: Callable[..., object]) -> str:
    """Return the name of a function for an error."""
    return str(getattr(function, "__qualname__", None) or repr(function))


def without_partial(function: Any) -> Any:
    """Return the function inside of `functools.partial` objects."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def mismatch(function: Callable[..., Any], arguments: int) -> str | None:
    """Return why a function cannot be called with this number of arguments; None if it can, or if that is unknown."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions written in C need not tell
        return None
    try:
        signature.bind(*range(arguments))
    except TypeError as error:
        return str(error)
    return None


def has_wrong_arguments(error: BaseException) -> bool:
    """Return whether a call from this package to a program's function failed because of the number of arguments.

    The function has no frame in the traceback then. With one, the mistake is in a call that the function makes.
    """
    trace = error.__traceback__
    if not isinstance(error, TypeError) or trace is None or not _OF_ARGUMENTS.search(text_of(error)):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__")).startswith(f"{_PACKAGE}.")


def _number(arguments: int) -> str:
    return {0: "no argument", 1: "one argument"}.get(arguments, f"{arguments} arguments")
