"""The file next to a task's files that tells other processes what their owner does with them.

It is apart from LMDB's file: a status is written where a disk is full, too, and is not a commit of the task's, by whose
number damaged files are found (`commit_counts`).
"""

import os
import struct
from pathlib import Path
from typing import Final

from kafka_groups.streams.state.engine import EngineStatus

__all__ = ["StatusReader", "StatusWriter"]

_NAME: Final = "status"
_WORD: Final = struct.Struct("<Q")
"""The number of changes, and the code of the status in the last byte. The system writes these eight bytes at once."""

_CODES: Final = {
    EngineStatus.RESTORING: 1,
    EngineStatus.ACTIVE: 2,
    EngineStatus.STANDBY: 3,
    EngineStatus.CLOSED: 4,
}
_STATUSES: Final = {code: status for status, code in _CODES.items()}
_CODE_BITS: Final = 8


class StatusWriter:
    """Writes the status of a generation that this process owns.

    Args:
        folder: The folder of the generation.

    Raises:
        OSError: The file cannot be written.

    Attributes:
        inode: The number by which the file system knows the file.
    """

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self.inode = os.fstat(self._file).st_ino
            before = os.pread(self._file, _WORD.size, 0)
            self._changes = _WORD.unpack(before)[0] >> _CODE_BITS if len(before) == _WORD.size else 0
        except BaseException:
            os.close(self._file)
            raise

    def write(self, status: EngineStatus) -> None:
        """Write another status.

        Raises:
            OSError: It cannot be written.
        """
        self._changes += 1
        os.pwrite(self._file, _WORD.pack(self._changes << _CODE_BITS | _CODES[status]), 0)

    def close(self) -> None:
        """Close the file. Call it once."""
        os.close(self._file)


class StatusReader:
    """Reads the status of a generation, which another process owns.

    Args:
        folder: The folder of the generation.

    Raises:
        OSError: There is no such file, or it cannot be read.

    Attributes:
        inode: The number by which the file system knows the file.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self.inode = os.fstat(self._file).st_ino

    @property
    def is_there(self) -> bool:
        """True if the file is still where it was, so that the others in the folder belong to it.

        Raises:
            OSError: The file system does not tell.
        """
        try:
            return self._path.stat().st_ino == self.inode
        except FileNotFoundError:
            return False

    def read(self) -> tuple[int, EngineStatus]:
        """Return how often the status has changed, and the status.

        Raises:
            OSError: It cannot be read.
        """
        word = os.pread(self._file, _WORD.size, 0)
        if len(word) < _WORD.size:  # the owner has not written the first one yet
            return 0, EngineStatus.RESTORING
        number: int = _WORD.unpack(word)[0]
        return number >> _CODE_BITS, _STATUSES[number & ((1 << _CODE_BITS) - 1)]

    def close(self) -> None:
        """Close the file. Call it once."""
        os.close(self._file)
