"""An operator's report that the sink works again: by a method, or by touching a file from another shell."""

import threading
from pathlib import Path

__all__ = ["GoOn"]


class GoOn:
    """Counts the requests to end the waits.

    Args:
        path: A file whose change means the same as `ask`; it need not exist. None for no file.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._changed_ns = self._change_ns()
        self._asked = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["GoOn"], tuple[str | None]]:
        return GoOn, (None if self._path is None else str(self._path),)

    def ask(self) -> None:
        """End the waits now."""
        with self._lock:
            self._asked += 1

    @property
    def asked(self) -> int:
        """The number of requests to try again so far. Reading this checks the file."""
        with self._lock:
            changed_ns = self._change_ns()
            # A file that is removed is no request.
            if changed_ns is not None and changed_ns != self._changed_ns:
                self._asked += 1
            self._changed_ns = changed_ns
            return self._asked

    def _change_ns(self) -> int | None:
        try:
            return None if self._path is None else self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return None
