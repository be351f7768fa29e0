"""Errors of LMDB and of the operating system, as those of this package: damage, or a disk that cannot be used."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import disk_usage
from types import ModuleType

from kafka_groups.errors.texts import sentences
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError, StateFilesError

__all__ = ["errors_of_files", "files_error"]


@contextmanager
def errors_of_files(lmdb: ModuleType, error_of: Callable[[Exception], StateFilesError]) -> Iterator[None]:
    """Raise errors of LMDB and of the operating system as those that a function returns for them.

    Args:
        lmdb: The package.
        error_of: Returns the error to raise.

    Raises:
        StateFilesError: The block has raised such an error.
    """
    try:
        yield
    except (OSError, lmdb.Error) as error:
        raise error_of(error) from error


def files_error(lmdb: ModuleType, path: Path, error: Exception, needed: int | None = None) -> StateFilesError:
    """Return an error of LMDB or the operating system as one that tells damage from a disk that cannot be used.

    Args:
        lmdb: The package.
        path: The folder of the files.
        error: The error.
        needed: The bytes of what could not be written; None if nothing was written.
    """
    damage = (
        lmdb.CorruptedError,
        lmdb.PageNotFoundError,
        lmdb.PanicError,
        lmdb.InvalidError,
        lmdb.VersionMismatchError,
        lmdb.IncompatibleError,
    )
    if isinstance(error, damage):
        return CorruptedStateError(f"the store files in {path} are damaged: {error}")
    free = disk_usage(path).free if path.exists() else 0
    text = f"The store files in {path} cannot be used: {error}"
    # Pages that change are written anew, so that a commit takes more room than what it changes.
    more = "" if needed is None else f", and the commit needs more than {needed:,}"
    return StateDiskError(sentences(text, f"{free:,} bytes are free there{more}", "Free some space, or check the disk"))
