"""The surroundings of handlers, checked when they are given to a worker: middleware, lifespan, state directory."""

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import called_by, name_of, undecorated_generator
from kafka_groups.share.workers.dependencies import check_injects_nothing
from kafka_groups.share.workers.handlers import HandlerSpec, is_of_a_class
from kafka_groups.share.workers.running.attempts import Middleware

__all__ = [
    "Lifespan",
    "check_middleware",
    "checked_lifespan",
    "checked_middleware",
    "checked_processes",
    "checked_state_dir",
]

_MOST_PROCESSES = 200
"""Kafka's default of `group.share.max.size`: the members of a group."""

Lifespan = Callable[[], AbstractContextManager[object] | AbstractAsyncContextManager[object]]
"""Returns a context manager that is entered before the first record is fetched, and left when all handlers have
ended: for the connections that handlers share."""


def checked_middleware(middleware: object) -> tuple[Middleware, ...]:
    """Return the middleware of a worker.

    Raises:
        ConfigurationError: It is not a list, or one of them is not a function of an attempt.
    """
    if isinstance(middleware, str) or not isinstance(middleware, Sequence):
        raise ConfigurationError(
            f"middleware={middleware!r}: give a list of functions of an Attempt that return context managers"
        )
    for number, each in enumerate(middleware):
        _check_makes_managers(f"middleware[{number}]", each, "a function of an Attempt", arguments=1)
    return tuple(middleware)


def checked_lifespan(lifespan: Lifespan | None) -> Lifespan | None:
    """Return the lifespan of a worker.

    Raises:
        ConfigurationError: It is not a function without arguments.
    """
    if lifespan is not None:
        _check_makes_managers("lifespan", lifespan, "a function without arguments", arguments=0)
    return lifespan


def _check_makes_managers(label: str, function: Any, form: str, *, arguments: int) -> None:
    """Check that a call with so many arguments can return a context manager."""
    form = f"{form} that returns a context manager, such as one decorated with contextlib.contextmanager"
    # Many context managers can be entered only once, so the worker needs a function that makes one for each attempt.
    if not isinstance(function, type) and _is_manager(function):
        raise ConfigurationError(f"{label}={function!r} is a context manager already: give {form}, without calling it")
    if not callable(function):
        raise ConfigurationError(f"{label}={function!r}: give {form}")
    if isinstance(function, type) and not _is_manager(function):
        raise ConfigurationError(f"{label}={function.__name__} is a class without __enter__: give {form}")
    if (remedy := _undecorated(function)) is not None:
        raise ConfigurationError(f"{label}={name_of(function)} {remedy}")
    _check_fits(label, function, form, arguments)


def _is_manager(made: object) -> bool:
    return hasattr(made, "__enter__") or hasattr(made, "__aenter__")


def _undecorated(function: Callable[..., object]) -> str | None:
    """Return the remedy for a function whose call returns no context manager; None for others."""
    if (remedy := undecorated_generator(function)) is not None:
        return remedy
    if inspect.iscoroutinefunction(called_by(function)):
        return (
            "is declared with async def, and calling it returns a coroutine: write yield where the work is done, and"
            " decorate it with contextlib.asynccontextmanager"
        )
    return None


def _check_fits(label: str, function: Callable[..., object], form: str, arguments: int) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions written in C need not tell
        return
    if is_of_a_class(signature):
        raise ConfigurationError(
            f"{label}={name_of(function)}{signature} is a method of a class: give the method of an object"
        )
    check_injects_nothing(label, function, signature)
    try:
        signature.bind(*range(arguments))
    except TypeError as error:
        raise ConfigurationError(f"{label}={name_of(function)}{signature}: give {form} ({error})") from None


def check_middleware(middleware: Sequence[Callable[..., object]], specs: Sequence[HandlerSpec]) -> None:
    """Refuse asynchronous middleware around handlers that run in threads.

    Raises:
        ConfigurationError: A middleware is asynchronous, and a handler is a `def`.
    """
    names = [name_of(each) for each in middleware if _is_async(each)]
    plain = [spec.name for spec in specs if not spec.is_async]
    if names and plain:
        raise ConfigurationError(
            f"middleware {names[0]} is asynchronous, and the handler {plain[0]} runs in threads: decorate the"
            " middleware with contextlib.contextmanager, or declare the handler with async def"
        )


def _is_async(middleware: Callable[..., object]) -> bool:
    if isinstance(middleware, type):
        return not hasattr(middleware, "__enter__")
    return inspect.isasyncgenfunction(inspect.unwrap(middleware))


def checked_state_dir(state_dir: object) -> Path | None:
    """Return the directory for the notes of a worker.

    Raises:
        ConfigurationError: It is not a path, or the platform has no locks for it.
    """
    if state_dir is None:
        return None
    path = os.fspath(state_dir) if isinstance(state_dir, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise ConfigurationError(f"state_dir={state_dir!r}: give the path of a directory, such as '/var/lib/shop'")
    if sys.platform == "win32":
        raise ConfigurationError(
            f"state_dir={path!r} is not supported on Windows, which lacks POSIX locks: leave it out"
        )
    return Path(path)


def checked_processes(processes: object) -> int:
    """Return the number of processes of a worker.

    Raises:
        ConfigurationError: It is not a number from 1 to 200.
    """
    if isinstance(processes, bool) or not isinstance(processes, int) or not 1 <= processes <= _MOST_PROCESSES:
        raise ConfigurationError(f"processes={processes!r}: give a whole number from 1 to {_MOST_PROCESSES}")
    return processes
