"""Interfaces for the durations of client operations. A worker finds them among its middleware."""

from typing import Protocol, runtime_checkable

__all__ = ["ClientOperations", "MeasuresOperations", "error_type"]


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
    """Return the class of an error with its module, unless that is Python's own."""
    cls = type(error)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
