"""Defects planted on purpose, which tests must find: each is a function that patches the package."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest

__all__ = ["Patch", "Plant", "by_name"]

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]


def by_name(*plants: Plant) -> Mapping[str, Plant]:
    """Defects by the names of their functions."""
    return MappingProxyType({plant.__name__: plant for plant in plants})
