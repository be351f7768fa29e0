"""Opens the files of LMDB, which are mapped: in less address space than usual, if the process may have little of it."""

import logging
from pathlib import Path
from types import ModuleType
from typing import Any, Final

__all__ = ["MAP_BYTES", "opened_environment"]

_log = logging.getLogger(__name__)

MAP_BYTES: Final = 64 << 30
"""The address space of an environment. Its file is as large as what it has."""

_LEAST_BYTES: Final = 1 << 20

_warned: set[int] = set()
"""The sizes that this process has warned about."""


def opened_environment(lmdb: ModuleType, folder: Path, map_bytes: int = MAP_BYTES, **settings: Any) -> Any:
    """Return the environment of a folder.

    Args:
        lmdb: The package.
        folder: The folder.
        map_bytes: The address space that it may take. If there is not so much, it is halved until there is.
        **settings: Other arguments of `lmdb.open`.

    Raises:
        lmdb.Error: It cannot be opened.
    """
    size = map_bytes
    while True:
        try:
            env = lmdb.open(str(folder), map_size=size, **settings)
        except lmdb.MemoryError:
            # The address space of a process may be limited (RLIMIT_AS). A smaller map grows when it is full.
            if size <= _LEAST_BYTES:
                raise
            size //= 2
        else:
            _warn(folder, size, map_bytes)
            return env


def _warn(folder: Path, size: int, wanted: int) -> None:
    if size < wanted and size not in _warned:
        _warned.add(size)
        _log.warning(
            "The store files in %s are mapped to %d MiB in place of %d MiB, because the address space of this process "
            "is limited (ulimit -v). A store that becomes larger cannot be kept then: raise the limit.",
            folder, size >> 20, wanted >> 20,
        )  # fmt: skip
