"""Copies a generation into the next one, while the worker does something else."""

import threading

from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER

__all__ = ["GenerationCopy"]


class GenerationCopy:
    """A copy in a thread: it may be large, and the worker has other tasks.

    Args:
        source: What is copied.
        target: An unfinished generation of this process. It gets the files.

    Attributes:
        source: What is copied.
        is_dropped: Whether another process has deleted the target.
    """

    def __init__(self, source: Generation, target: Generation) -> None:
        self.source, self._target = source, target
        self.is_dropped = False
        self._error: Exception | None = None
        self._lock = threading.Lock()
        self._is_done = self._is_given_up = False
        self._thread = threading.Thread(target=self._main, name=f"copy-{target.path}", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<GenerationCopy of {self.source.path}>"

    @property
    def is_alive(self) -> bool:
        """True while it copies."""
        return self._thread.is_alive()

    def result(self) -> Generation:
        """Return the copy, which is not published yet.

        Raises:
            OSError: It failed.
            StateFilesError: It failed.
        """
        if self._error is not None:
            self._target.delete()
            raise self._error
        return self._target

    def give_up(self) -> None:
        """Delete the copy, and let the source go, as soon as it is finished."""
        with self._lock:
            self._is_given_up = True
            if self._is_done:
                self._let_go()

    def _main(self) -> None:
        try:
            folder = self._target.path / DATA_FOLDER
            folder.mkdir()
            LmdbEngine.copy(self.source.path / DATA_FOLDER, folder)
        except Exception as error:  # the worker's thread raises it
            self._error = error
            self.is_dropped = not self._target.path.exists()
        with self._lock:
            self._is_done = True
            if self._is_given_up:
                self._let_go()

    def _let_go(self) -> None:
        self._target.delete()
        self.source.disown()
