"""Reads environments of LMDB in another process, which damaged ones may end."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

from kafka_groups.net.spawned_process import SpawnedProcess
from kafka_groups.streams.engines.lock_holders import has_environment_open
from kafka_groups.streams.engines.page_reader import FoundState, found_state
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError, StateFilesError

__all__ = ["FileReader", "read_in_process"]

_OF_DAMAGE: Final = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})
"""The signals that end a process which follows damaged pages. Others come from outside."""

FileReader = Callable[[Path, bool], FoundState]
"""Reads a folder, and all rows in it if wished."""


def _found(folder: Path, check: bool) -> FoundState:  # noqa: FBT001 - a `FileReader`
    return found_state(folder, check=check)


def read_in_process(
    folders: Sequence[Path], *, check: bool, reader: FileReader = _found
) -> Iterator[FoundState | StateFilesError]:
    """Iterate over the content of each folder, or the error that reading it has raised.

    Args:
        folders: The folders of environments.
        check: Whether to read all rows.
        reader: Reads a folder in the other process.
    """
    done, looked_again = 0, -1
    while done < len(folders):
        with _reading(folders[done:], reader, check=check) as process:
            for answer in _answers(process):
                done += 1
                yield answer
            status = process.exit_status or 0
        if done == len(folders):
            return
        # A process that has begun to write may have written over what was read, without knowing of the reader. A second
        # reader tells it.
        if looked_again != done and has_environment_open(folders[done]):
            looked_again = done
        else:
            yield _death(folders[done], status)
            done += 1


@contextmanager
def _reading(folders: Sequence[Path], reader: FileReader, *, check: bool) -> Iterator[SpawnedProcess]:
    """Have a process that reads folders. It ends with the block."""
    process = SpawnedProcess(_read, lambda pipe: (pipe, folders, reader, check), "state-reader", daemon=True)
    try:
        yield process
    finally:
        _end(process)


def _answers(process: SpawnedProcess) -> Iterator[FoundState | StateFilesError]:
    while process.is_connected:
        wait(process.watched)
        yield from process.received()
    # Its end. The system closes what the process had open a moment before it tells the status.
    while process.exit_status is None:
        wait(process.watched)


def _end(process: SpawnedProcess) -> None:
    if process.exit_status is None and process.pid is not None:  # after Ctrl-C, for example
        os.kill(process.pid, signal.SIGTERM)
        while process.exit_status is None:
            wait(process.watched)
            list(process.received())
    process.close()


def _read(pipe: Connection, folders: Sequence[Path], reader: FileReader, check: bool) -> None:  # noqa: FBT001 - pickled
    # It leaves LMDB's list of readers before it ends: an entry that stays lets the file of a running application grow.
    # Ctrl-C is blocked, and the parent sends SIGTERM then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for folder in folders:
            pipe.send(_answer(folder, reader, check=check))
    except (KeyboardInterrupt, BrokenPipeError):
        return  # nobody wants to know any more


def _answer(folder: Path, reader: FileReader, *, check: bool) -> FoundState | StateFilesError:
    try:
        return reader(folder, check)
    except StateFilesError as error:
        return error


def _death(folder: Path, status: int) -> StateFilesError:
    if status < 0 and -status in _OF_DAMAGE:
        name = signal.Signals(-status).name
        return CorruptedStateError(
            f"the store files in {folder} are damaged: {name} has ended the process that read them"
        )
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    return StateDiskError(f"The process that read the store files in {folder} has ended with {how}. Try again.")
