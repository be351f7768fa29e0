"""Work that pauses: generators that yield nothing and return something."""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


def ended(steps: Generator[None, None, T]) -> tuple[T, int]:
    """What a generator returns in the end, and after how many pauses."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, pauses
        pauses += 1
