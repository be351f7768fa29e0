"""Reads stores on disk in the parent of the workers that write them, without asking the workers."""

import threading
from collections.abc import Collection, Iterable
from pathlib import Path

from kafka_groups.streams.engines.environment_reader import EnvironmentReader
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer, found_in
from kafka_groups.streams.errors import StateFilesError, StateStoreMigratedError, StoreNotAvailableError
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.stores import StoreDefinition

__all__ = ["StateReaders"]


class StateReaders:
    """Opens the files of tasks when somebody asks for them, and keeps them open. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[Path, tuple[int, EnvironmentReader]] = {}
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<StateReaders of {len(self._readers)} tasks>"

    def answers(
        self, question: StoreQuestion, definition: StoreDefinition, told: Iterable[OpenFiles], left: Iterable[OpenFiles]
    ) -> list[TaskAnswer]:
        """Ask the files of each task that have a store. What a task answers is of one moment.

        Args:
            question: The question.
            definition: The store.
            told: The files that workers have open.
            left: Those of workers that have died. They are asked only if stale answers are allowed.

        Raises:
            InvalidStateStoreError: A task has just gone, or its files cannot be read.
        """
        if self._is_closed:
            return []
        having = [each for each in newest(told) if _is_asked(question, each)]
        try:
            answers = [self._answer(question, definition, each) for each in having]
            if question.allows_stale:
                here = {each.task_id for each in having}
                others = [each for each in newest(left) if each.task_id not in here and _is_asked(question, each)]
                answers += [self._answer(question, definition, each, is_left=True) for each in others]
        except StateFilesError as error:  # the task's worker finds that, too, and lets it begin again
            raise StoreNotAvailableError(str(error)) from error
        return [each for each in answers if each is not None]

    def _answer(
        self, question: StoreQuestion, definition: StoreDefinition, files: OpenFiles, *, is_left: bool = False
    ) -> TaskAnswer | None:
        """Return the answer of a task; None if it has just gone, or is not restored.

        A worker leaves such tasks out, too. A view that has read one notices that.
        """
        try:
            reader = self._reader(files)
            if is_left and not reader.is_there:
                return None
            found = found_in(question, definition, reader)
        except (StateStoreMigratedError, StoreNotAvailableError):
            return None
        if not question.allows_stale:
            return TaskAnswer(files.task_id, files.token, found, files.partitions)
        # A view that takes copies goes on with what a worker has left, and with the next worker.
        is_restoring = reader.status is EngineStatus.RESTORING
        return TaskAnswer(files.task_id, (0, files.inode), found, files.partitions, is_restoring)

    def _reader(self, files: OpenFiles) -> EnvironmentReader:
        with self._lock:
            if self._is_closed:
                raise StateStoreMigratedError("The application was closed. Its stores cannot be read any more.")
            inode, reader = self._readers.get(files.folder, (None, None))
            if reader is not None and inode == files.inode:
                return reader
            # A process has the files in a folder open once.
            if reader is not None:
                del self._readers[files.folder]
                reader.close()
            made = EnvironmentReader(files)
            self._readers[files.folder] = files.inode, made
            return made

    def keep(self, known: Collection[OpenFiles]) -> None:
        """Close the files that nobody needs any more."""
        folders = {each.folder: each.inode for each in known}
        with self._lock:
            gone = [folder for folder, (inode, _) in self._readers.items() if folders.get(folder) != inode]
            for folder in gone:
                self._readers.pop(folder)[1].close()

    def close(self) -> None:
        """Close all files. Nothing can be asked any more."""
        with self._lock:
            self._is_closed = True
        self.keep(())


def _is_asked(question: StoreQuestion, files: OpenFiles) -> bool:
    return question.store in files.stores and question.partition in {None, files.task_id.partition}


def newest(files: Iterable[OpenFiles]) -> list[OpenFiles]:
    """Return the last generation of each task: a worker that has lost a task may not know it yet.

    Global stores have a generation for each worker.
    """
    found: dict[object, OpenFiles] = {}
    for each in files:
        whose = each.task_id, each.folder.parent.parent
        known = found.get(whose)
        if known is None or known.generation < each.generation:
            found[whose] = each
    return list(found.values())
