"""The engine of a task with files in a generation of its own."""

import logging
from pathlib import Path
from typing import Any, Final

from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import positions_text
from kafka_groups.streams.engines.status_file import StatusWriter
from kafka_groups.streams.errors import StateDiskError, StateFilesError
from kafka_groups.streams.state.engine import EngineStatus

__all__ = ["DATA_FILE", "DATA_FOLDER", "DiskEngine"]

_log = logging.getLogger(__name__)

DATA_FOLDER: Final = "lmdb"
"""The folder of a generation with the files of LMDB."""

DATA_FILE: Final = "data.mdb"
"""The file in it that has the rows."""


class DiskEngine(LmdbEngine):
    """An engine whose generation this process owns.

    Args:
        generation: It. Its mark says that it is open.

    Raises:
        CorruptedStateError: The files are damaged.
        StateDiskError: They cannot be read or written.
    """

    def __init__(self, generation: Generation) -> None:
        try:
            self._status_file = StatusWriter(generation.path)
        except OSError as error:
            raise _cannot_tell(generation, error) from error
        try:
            self._tell(generation, EngineStatus.RESTORING)  # before anybody reads what the owner before has left
            super().__init__(generation.path / DATA_FOLDER)
        except BaseException:
            self._status_file.close()
            raise
        self._generation = generation

    @property
    def place(self) -> tuple[Path, int] | None:
        """The folder of its environment, and the inode of the file with its status."""
        return self._generation.path / DATA_FOLDER, self._status_file.inode

    def set_status(self, status: EngineStatus) -> None:
        """Note what the owner does with the engine, for processes that read its files, too.

        Raises:
            StateDiskError: It cannot be written.
        """
        super().set_status(status)
        self._tell(self._generation, status)

    def close(self) -> None:
        """Give the engine up. The next opening finds it as it is, also after a crash of the machine."""
        if not self.is_open:
            return
        try:
            self._tell(self._generation, EngineStatus.CLOSED)
        except StateDiskError as error:
            _log.warning("%s", error)  # whoever reads them is also told that this process does not have them
        try:
            super().close()
            self._note(
                is_clean=not self.is_damaged, is_damaged=self.is_damaged, positions=positions_text(self.positions)
            )
        except StateFilesError as error:
            # Nothing is lost: without a clean mark, what a crash of the machine may damage is restored.
            _log.warning("%s", error)
        finally:
            self._status_file.close()
            self._generation.disown()

    def _tell(self, generation: Generation, status: EngineStatus) -> None:
        try:
            self._status_file.write(status)
        except OSError as error:
            raise _cannot_tell(generation, error) from error

    def _note(self, **changes: Any) -> None:
        try:
            self._generation.note(**changes)
        except OSError as error:
            raise StateDiskError(f"The mark of {self._generation.path} cannot be written: {error}") from error


def _cannot_tell(generation: Generation, error: OSError) -> StateDiskError:
    return StateDiskError(f"The status of {generation.path} cannot be written: {error}")
