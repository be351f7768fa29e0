"""Transports that a test left open when it closed their event loop.

asyncio warns of one when it is collected as garbage, which may be thousands of tests later, and without a word about
where it was opened.
"""

import traceback
import weakref
from asyncio import selector_events
from functools import wraps
from typing import Any

__all__ = ["follow_transports", "left_open"]

_FRAMES = 8

_open: "weakref.WeakKeyDictionary[Any, traceback.StackSummary]" = weakref.WeakKeyDictionary()


def follow_transports() -> None:
    """Note each transport that an event loop opens from now on, and where."""
    made = selector_events._SelectorTransport.__init__  # type: ignore[attr-defined]

    @wraps(made)
    def noted(self: Any, *arguments: Any, **keywords: Any) -> None:
        made(self, *arguments, **keywords)
        _open[self] = traceback.StackSummary.extract(traceback.walk_stack(None), limit=_FRAMES, lookup_lines=False)

    selector_events._SelectorTransport.__init__ = noted  # type: ignore[attr-defined]


def left_open() -> list[str]:
    """Return descriptions of transports that are open and whose loop is closed, each of them once."""
    found = []
    for transport, stack in list(_open.items()):
        if transport._sock is None:
            del _open[transport]
        elif transport._loop is not None and transport._loop.is_closed():
            found.append(f"{transport!r} of {transport._protocol!r}, opened at\n{''.join(stack.format())}")
            transport._sock.close()
            transport._sock = None
            del _open[transport]
    return found
