"""`functools.cache` for functions whose arguments are classes, which its own type does not allow."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

__all__ = ["cached"]

P = ParamSpec("P")
R = TypeVar("R")


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """The function, remembering its result for every combination of arguments for ever."""
    return cast(Callable[P, R], functools.cache(function))
