"""The engine of a task with files in a generation of its own."""

import logging
from typing import Any, Final

from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import positions_text
from kafka_groups.streams.errors import StateDiskError, StateFilesError
from kafka_groups.streams.state.engine import NO_NOTES, NO_POSITIONS, Changes, Notes, Positions

__all__ = ["DATA_FOLDER", "DiskEngine"]

_log = logging.getLogger(__name__)

DATA_FOLDER: Final = "lmdb"
"""The folder of a generation with the files of LMDB."""


class DiskEngine(LmdbEngine):
    """An engine whose generation this process owns.

    Args:
        generation: It. Its mark says that it is open.

    Raises:
        CorruptedStateError: The files are damaged.
        StateDiskError: They cannot be read or written.
    """

    def __init__(self, generation: Generation) -> None:
        super().__init__(generation.path / DATA_FOLDER)
        self._generation = generation
        self._has_committed = False

    def commit(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Apply the changes of all tables, positions and notes at once, or nothing of them.

        Raises:
            StateDiskError: The disk is full, or cannot be written. The engine has what it had before.
            CorruptedStateError: The files are damaged.
        """
        if not self._changes_anything(changes, positions, notes):
            return  # which tells nothing about the files
        super().commit(changes, positions, notes)
        # Openings are counted to find files that end the process. These did not.
        if not self._has_committed:
            self._has_committed = True
            try:
                self._note(openings=0)
            except StateDiskError as error:
                _log.warning("%s", error)  # the commit has succeeded

    def close(self) -> None:
        """Give the engine up. The next opening finds it as it is, also after a crash of the machine."""
        if not self.is_open:
            return
        try:
            super().close()
            self._note(
                is_clean=not self.is_damaged, is_damaged=self.is_damaged, positions=positions_text(self.positions)
            )
        except StateFilesError as error:
            # Nothing is lost: without a clean mark, what a crash of the machine may damage is restored.
            _log.warning("%s", error)
        finally:
            self._generation.disown()

    def _note(self, **changes: Any) -> None:
        try:
            self._generation.note(**changes)
        except OSError as error:
            raise StateDiskError(f"The mark of {self._generation.path} cannot be written: {error}") from error
