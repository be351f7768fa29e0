"""`functools.cache` for functions whose arguments are classes, which its own type does not allow."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

__all__ = ["cached"]

P = ParamSpec("P")
R = TypeVar("R")


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that it caches its result for every combination of arguments, without a limit."""
    return cast(Callable[P, R], functools.cache(function))
