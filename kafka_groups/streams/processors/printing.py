"""Prints records."""

import sys
from collections.abc import Callable
from typing import IO, Any

__all__ = ["printer"]


def printer(label: str, file: IO[str] | None) -> Callable[[Any, Any], None]:
    """Return a function that writes key and value of a record. None: to standard output, wherever that is by then."""

    def write(key: Any, value: Any) -> None:
        out = sys.stdout if file is None else file
        out.write(f"[{label}]: {key}, {value}\n")
        out.flush()

    return write
