"""The engine of a task with files in a generation of its own."""

import logging
from typing import Any, Final

from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import positions_text
from kafka_groups.streams.errors import StateDiskError, StateFilesError

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
        super().__init__(generation.path / DATA_FOLDER)
        self._generation = generation

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
