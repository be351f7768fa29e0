"""A look at what runs, whatever it is: lines for people, and objects for programs."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from attrs import frozen

__all__ = ["TopLook", "TopSource"]


@frozen
class TopLook:
    """The result of one look.

    Attributes:
        lines: Returns the lines of the view, given the width of the terminal; None for no limit.
        entries: The objects of the JSON form, one a line.
        has_failed: Whether something could not be seen.
    """

    lines: Callable[[int | None], Sequence[str]]
    entries: Sequence[Any]
    has_failed: bool


class TopSource(Protocol):
    """Something that `top` shows, such as workers."""

    async def look(self) -> TopLook:
        """Look at it now. Whatever fails is part of the result."""
        ...
