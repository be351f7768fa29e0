"""Interfaces for the durations of client operations. A worker finds them among its middleware."""

import sys
from functools import lru_cache
from typing import Protocol, runtime_checkable

__all__ = ["ClientOperations", "MeasuresOperations", "error_type"]

_OURS = __name__.partition(".")[0]


class ClientOperations(Protocol):
    """Takes the operations of a client; `MessagingMeters` makes metrics of them. Any thread may call it."""

    def operation(
        self, kind: str, seconds: float, *, topic: str, group: str | None = None, error_type: str | None = None
    ) -> None:
        """Note how long an operation took: `receive`, `settle` or `send`."""
        ...

    def sent(self, count: int, *, topic: str, error_type: str | None = None) -> None:
        """Count messages that were sent."""
        ...


@runtime_checkable
class MeasuresOperations(Protocol):
    """A middleware that also measures operations which are not attempts."""

    @property
    def meters(self) -> ClientOperations:
        """Takes the operations."""
        ...


def error_type(error: BaseException) -> str:
    """Return the class of an error with its module, unless that is Python's own.

    A class of kafka_groups has the path by which programs import it, such as `kafka_groups.Reject`. Where it is defined
    may change with any release.
    """
    cls = type(error)
    return _path_of(cls.__module__, cls.__qualname__)


@lru_cache(maxsize=256)  # programs may make classes without end
def _path_of(module: str, name: str) -> str:
    if module == "builtins":
        return name
    parts = module.split(".")
    packages = (".".join(parts[:end]) for end in range(1, len(parts) + 1)) if parts[0] == _OURS else ()
    public = (package for package in packages if _exports(package, name))
    return f"{next(public, module)}.{name}"


def _exports(package: str, name: str) -> bool:
    """Return whether a package or module exports a name. All around a class that exists are imported already."""
    return name in getattr(sys.modules.get(package), "__all__", ())
