"""Tells whether other processes hold the locks of an application and of its environments, without taking them.

A process that starts takes its locks without waiting, and gives up if somebody has them. So a look must not take one,
not even a shared one for a moment.
"""

import fcntl
import os
import struct
import sys
from pathlib import Path
from typing import Final

from kafka_groups.streams.engines.machine import mount_of

__all__ = ["has_environment_open", "holds_lock"]

_LOCKS: Final = Path("/proc/locks")
_OTHER_DEVICES: Final = frozenset({"btrfs", "overlay"})
"""File systems whose files have another device in `/proc/locks` than `stat` tells."""

_FIRST_BYTE: Final = (0, 1)
"""Everybody who has an environment open has a lock on the first byte of its `lock.mdb`."""


def holds_lock(path: Path, locks: Path = _LOCKS) -> bool | None:
    """Return whether a process has an exclusive `flock` on a file.

    The system lists the locks of processes in this PID namespace and in those below it.

    Args:
        path: The file.
        locks: The list of the system.

    Returns:
        None: the system has no list, as on macOS.

    Raises:
        OSError: The file or the list cannot be read.
    """
    if not locks.exists():
        return None
    if not path.exists():
        return False
    found = path.stat()
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    mount = mount_of(path)
    is_any = mount is not None and mount.kind in _OTHER_DEVICES
    held = [line.split() for line in locks.read_text(encoding="ascii").splitlines() if " FLOCK " in f"{line} "]
    # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:9980524 0 EOF. A line about a process that waits has an arrow at the front.
    places = [words[5] for words in held if words[1] == "FLOCK" and words[3] == "WRITE"]
    return any(
        place == f"{device}:{found.st_ino}" or (is_any and place.endswith(f":{found.st_ino}")) for place in places
    )


def has_environment_open(folder: Path) -> bool:
    """Return whether another process has an environment of LMDB open, as a writer or a reader, in any PID namespace.

    Do not call this in a process that has it open itself: closing a file drops the locks of the process on it.

    Raises:
        OSError: Its files cannot be read.
    """
    try:
        opened = os.open(folder / "lock.mdb", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # It asks for the lock that would be in the way of an exclusive one, and takes none.
        found = fcntl.fcntl(opened, fcntl.F_GETLK, _packed(fcntl.F_WRLCK))
    finally:
        os.close(opened)
    return _kind_of(found) != fcntl.F_UNLCK


def _packed(kind: int) -> bytes:
    """Return the system's structure of a lock on the first byte."""
    if sys.platform == "darwin":
        return struct.pack("qqihh", *_FIRST_BYTE, 0, kind, os.SEEK_SET)
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, *_FIRST_BYTE, 0)


def _kind_of(lock: bytes) -> int:
    kind: int = struct.unpack_from("h", lock, struct.calcsize("qqi") if sys.platform == "darwin" else 0)[0]
    return kind
