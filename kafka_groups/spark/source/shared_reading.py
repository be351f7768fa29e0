"""Detects a second query of the same Spark application on the same group with the same options.

Two queries on one `load()` look like one, but each has its own source, and the group splits the records between them.
Spark does not tell a source about the other, so both try to lock the same file.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

if sys.platform != "win32":  # there the other query is not noticed
    import fcntl

__all__ = ["SharedReading"]

_PATIENCE_MS = 10_000
"""The process of a query that was stopped or failed may take five seconds to end."""


class SharedReading:
    """Notices another source with the same options and the same driver.

    Args:
        options: The query's options.
        driver: Process id of Spark's driver.
        now_ms: Now.
    """

    def __init__(self, options: Mapping[str, str], driver: int, now_ms: int) -> None:
        text = repr(sorted((name.lower(), value) for name, value in options.items()))
        name = hashlib.sha256(f"{driver} {text}".encode()).hexdigest()[:24]
        self._path = Path(tempfile.gettempdir()) / f"kafka-groups-{name}.lock"
        self._since_ms = now_ms
        self._file: int | None = None
        self._is_alone = self._locks()

    def is_shared(self, now_ms: int) -> bool:
        """Return whether another source is still running after the time in which a stopped one ends."""
        # A query that was stopped or has failed keeps its lock until its process has ended, so the first look proves
        # nothing.
        if not self._is_alone and now_ms - self._since_ms >= _PATIENCE_MS:
            self._is_alone = self._locks()
            return not self._is_alone
        return False

    def close(self) -> None:
        """Release the lock and remove the file."""
        if self._file is not None:
            if self._is_alone:
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def _locks(self) -> bool:
        if sys.platform == "win32":
            return True
        if self._file is None:
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return self._is_current() or self._locks_anew()

    def _is_current(self) -> bool:
        """Return whether the locked file is the one that others find: an earlier holder removes it at the end."""
        try:
            return self._file is not None and os.path.samestat(self._path.stat(), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def _locks_anew(self) -> bool:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        return self._locks()
