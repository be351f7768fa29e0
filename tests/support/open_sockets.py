"""Where sockets were opened that are collected as garbage while they are open.

Python reports these without a word about their origin, and perhaps thousands of tests later.
"""

import socket
import sys
import traceback
from functools import wraps
from types import SimpleNamespace
from typing import Any

__all__ = ["follow_sockets"]

_FRAMES = 12

_opened: dict[int, traceback.StackSummary] = {}
"""By identity, as weak references to garbage are gone when it is reported. Later sockets replace earlier ones."""


def follow_sockets() -> None:
    """Note where each socket is opened from now on, and say it in reports of errors that cannot be raised."""
    made, report = socket.socket.__init__, sys.unraisablehook

    @wraps(made)
    def noted(self: socket.socket, *arguments: Any, **keywords: Any) -> None:
        made(self, *arguments, **keywords)
        stack = traceback.walk_stack(None)
        _opened[id(self)] = traceback.StackSummary.extract(stack, limit=_FRAMES, lookup_lines=False)

    def with_origin(unraisable: Any) -> None:
        stack = _opened.get(id(unraisable.object)) if isinstance(unraisable.object, socket.socket) else None
        report(unraisable if stack is None else _told(unraisable, stack))

    socket.socket.__init__ = noted  # type: ignore[method-assign]
    sys.unraisablehook = with_origin


def _told(unraisable: Any, stack: traceback.StackSummary) -> SimpleNamespace:
    message = f"{unraisable.err_msg or 'Exception ignored in'} a socket that was opened at\n{''.join(stack.format())}"
    told = ("exc_type", "exc_value", "exc_traceback", "object")
    return SimpleNamespace(err_msg=message, **{name: getattr(unraisable, name) for name in told})
