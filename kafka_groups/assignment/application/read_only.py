"""The input of an assignor cannot be changed, and the error of one that tries names the attribute."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar

__all__ = ["ReadOnlyMapping", "read_only"]

C = TypeVar("C", bound=type[Any])
K = TypeVar("K")
V = TypeVar("V")

_CHANGING: Final = ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update")


class ReadOnlyMapping(dict[K, V]):
    """A mapping that cannot be changed.

    A subclass of `dict`, as assignors look up thousands of tasks. `dict()` of it, or its `copy`, can be changed.

    Args:
        name: The attribute that it is.
        items: Its items.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str, items: Mapping[K, V]) -> None:
        super().__init__(items)
        self._name = name

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return type(self), (self._name, dict(self))


def _refuse_change(self: ReadOnlyMapping[Any, Any], *_given: object, **_more: object) -> NoReturn:
    raise TypeError(f"{self._name} is read-only. Change a copy of it: dict(…).")


for _method in _CHANGING:
    setattr(ReadOnlyMapping, _method, _refuse_change)


def read_only(kind: C) -> C:
    """Let a frozen class name the attribute that a program tries to set or to delete."""

    def refuse(self: object, name: str, *_value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} is read-only.")

    kind.__setattr__ = kind.__delattr__ = refuse  # type: ignore[assignment]
    return kind
