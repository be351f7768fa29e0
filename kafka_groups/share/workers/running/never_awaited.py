"""Coroutines that a handler makes and drops: its work is not done, so its record must not be accepted.

Python notices such a coroutine when nothing refers to it any more. For all but parts of a reference cycle that is at
once: in the thread, the task and the frame that have dropped it. There it calls `warnings._warn_unawaited_coroutine`,
whatever the program's filters for warnings are. A function installed before that one checks whether a handler
runs there.
"""

import asyncio
import functools
import gc
import inspect
import sys
import threading
import warnings
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from types import CoroutineType, FrameType
from typing import Any, Self

from kafka_groups.share.workers.rules.failures.signals import NeverAwaitedError

__all__ = ["DroppedCoroutines", "module_of"]

_OWN_MODULES = (
    "kafka_groups.share.workers.running.handler_calls",
    "kafka_groups.share.workers.running.result_records",
)
"""A coroutine in a variable of the handler is dropped when its frame ends: then the caller's frame is on top."""


class DroppedCoroutines:
    """The coroutines that a handler drops while it runs in this thread, or in a task. One object for each run.

    Tasks and threads that the handler starts may outlast it, so what they drop is not noted.

    Args:
        module: The module of the handler.
        task: Its task; None if it runs in a thread.

    Attributes:
        names: The names of what the attempt under way has dropped.
    """

    def __init__(self, module: object, task: "asyncio.Task[Any] | None" = None) -> None:
        self._modules = (module, *_OWN_MODULES)
        self._task = task
        self._thread = threading.get_ident()
        self.names: list[str] = []

    def __enter__(self) -> Self:
        _WATCHED.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _WATCHED.set(None)

    def clear(self) -> None:
        """Forget what an attempt has dropped that failed for another reason."""
        self.names.clear()

    def error(self) -> NeverAwaitedError:
        """Take what was dropped, and return the error for it."""
        error = NeverAwaitedError(tuple(self.names))
        self.names.clear()
        return error

    def note(self, coroutine: "CoroutineType[Any, Any, Any]", frame: FrameType) -> None:
        """Note a coroutine that a frame of this thread has dropped, if it is one of the handler's module."""
        thread, module = threading.get_ident(), frame.f_globals.get("__name__")
        is_here = thread == self._thread and (self._task is None or self._task is asyncio.current_task())
        if is_here and module in self._modules and thread not in _COLLECTING:
            place = "" if module in _OWN_MODULES else f" ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
            self.names.append(f"{coroutine.__qualname__}{place}")


_WATCHED: ContextVar[DroppedCoroutines | None] = ContextVar("kafka_groups_dropped", default=None)
_COLLECTING: set[int] = set()
"""The threads that collect garbage. What is collected there may have been dropped anywhere."""
_installing = threading.Lock()


def module_of(function: Any) -> object:
    """Return the module of a handler, and have its dropped coroutines noted."""
    _install()
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(inspect.unwrap(function), "__module__", None)


def _install() -> None:
    with _installing:
        before = getattr(warnings, "_warn_unawaited_coroutine", None)
        # `_warn_unawaited_coroutine` is not a public function, so a Python without it only has no such check. Installed
        # twice, it would note each coroutine twice.
        if before is None or getattr(before, "notes_drops", False):
            return

        def warn_unawaited(coroutine: "CoroutineType[Any, Any, Any]") -> None:
            watched = _WATCHED.get()
            if watched is not None:
                watched.note(coroutine, sys._getframe(1))
            if coroutine.cr_origin is None:  # Python's text, for the frame that Python would name
                text = f"coroutine '{coroutine.__qualname__}' was never awaited"
                warnings.warn(text, RuntimeWarning, stacklevel=2, source=coroutine)
            else:
                before(coroutine)  # the text shows where the coroutine was made, so its place matters less

        warn_unawaited.notes_drops = True  # type: ignore[attr-defined]
        warnings._warn_unawaited_coroutine = warn_unawaited  # type: ignore[attr-defined]
        gc.callbacks.append(_collects)


def _collects(phase: str, _: Mapping[str, int]) -> None:
    if phase == "start":
        _COLLECTING.add(threading.get_ident())
    else:
        _COLLECTING.discard(threading.get_ident())
