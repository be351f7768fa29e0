"""Tells how often files were opened since their last commit, without opening them: damaged ones can end the process."""

import struct
from pathlib import Path
from typing import Final

from attrs import evolve

from kafka_groups.streams.engines.marks import Mark

__all__ = ["counted_since_commit", "last_transaction"]

_META: Final = struct.Struct("@N4H2IPN" + 2 * "I2H5N" + "2N")
"""The beginning of each of the first two pages of LMDB's file (`MDB_page`, `MDB_meta` in `mdb.c`)."""
_MAGIC, _VERSION, _PAGE_BYTES, _TRANSACTION = 5, 6, 9, 26
"""The places of its fields. A page is as large as the table of free pages says."""
_IS_LMDB: Final = (0xBEEFC0DE, 1)


def last_transaction(data: Path) -> int:
    """Return the number of the last transaction in a file of LMDB. 0: there is none, or it has another format.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        with data.open("rb") as file:
            first = _meta(file.read(_META.size))
            if first is None:
                return 0
            file.seek(first[_PAGE_BYTES])
            second = _meta(file.read(_META.size))
    except FileNotFoundError:
        return 0
    # Commits write the two pages in turn.
    return max(first[_TRANSACTION], 0 if second is None else second[_TRANSACTION])


def _meta(page: bytes) -> tuple[int, ...] | None:
    found = _META.unpack(page) if len(page) == _META.size else None
    return found if found is not None and (found[_MAGIC], found[_VERSION]) == _IS_LMDB else None


def counted_since_commit(mark: Mark, data: Path) -> Mark:
    """Return a mark whose openings are those since the last commit.

    LMDB's own file tells whether there was one: a process that was killed after it had no time to note that.

    Args:
        mark: The mark of the files.
        data: LMDB's file.

    Raises:
        OSError: The file cannot be read.
    """
    last = last_transaction(data)
    return mark if last <= mark.transaction else evolve(mark, openings=0, transaction=last)
