"""Ctrl-C at every instant of a call at which the interpreter could let it in."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["interrupted_at"]


def interrupted_at(instant: int, call: Callable[[], object], *, spared: str = "") -> bool:
    """Call a function and raise KeyboardInterrupt at an instant of it, counted from 0; returns whether it came to that.

    Instants in the functions of the module `spared` do not count.

    The interpreter looks for signals when a Python function begins and after the call of one that is written in C. So
    none strikes between the moment at which a `with` has taken a lock written in C and its first instruction.
    """
    interrupter = _Interrupter(instant, spared)
    before = sys.getprofile()
    sys.setprofile(interrupter)
    try:
        call()
    except (KeyboardInterrupt, RuntimeError):  # Python's `Condition` may turn the one into the other
        if not interrupter.has_struck:
            raise
    finally:
        sys.setprofile(before)
    return interrupter.has_struck


class _Interrupter:
    """A profiler that raises an exception once."""

    def __init__(self, instant: int, spared: str) -> None:
        self._left = instant
        self._spared = spared
        self.has_struck = False

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event not in {"call", "c_return"} or self.has_struck or frame.f_globals.get("__name__") == self._spared:
            return
        self._left -= 1
        if self._left < 0:
            self.has_struck = True
            raise KeyboardInterrupt
