"""The lock of a directory that one process uses at a time.

It is a POSIX lock, which ends with its process: processes that a handler has forked do not hold it, unlike one of
`flock`. Such a lock does not exclude its own process, so the directories that this process has are remembered.
"""

import errno
import fcntl
import os
import threading
from pathlib import Path

__all__ = ["DirectoryInUseError", "DirectoryLock"]

_NAME = "lock"
_TAKING = threading.Lock()
_TAKEN: set[tuple[int, int]] = set()
"""Device and inode of the files that this process has locked."""


class DirectoryInUseError(Exception):
    """Another process, or another user in this process, has the directory."""


class DirectoryLock:
    """Holds a directory until it is released.

    Args:
        directory: The directory, which exists.

    Raises:
        DirectoryInUseError: It is in use.
        OSError: The file of the lock cannot be made or locked.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / _NAME
        with _TAKING:
            self._check_not_taken_here()
            self._file: int | None = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            try:
                _lock(self._file)
                self._key = _key_of(os.fstat(self._file))
            except BaseException:
                # Anything, also Ctrl-C: an open file would keep the lock for as long as this process lives, and no
                # object would be there to release it.
                os.close(self._file)
                raise
            _TAKEN.add(self._key)

    def __repr__(self) -> str:
        return f"<DirectoryLock {self._path}>"

    def _check_not_taken_here(self) -> None:
        """Look before the file is opened: closing any descriptor of a file ends the locks of its process."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return
        if _key_of(found) in _TAKEN:
            raise DirectoryInUseError

    def release(self) -> None:
        """Let others use the directory. The second call does nothing."""
        with _TAKING:
            if self._file is not None:
                os.close(self._file)
                self._file = None
                _TAKEN.discard(self._key)


def _key_of(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _lock(file: int) -> None:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # POSIX allows either of the two for a lock that another process holds.
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise DirectoryInUseError from error
        raise
