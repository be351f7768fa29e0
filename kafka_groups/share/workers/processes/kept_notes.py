"""Keep the notes of a worker's processes: in memory, or in a directory in which its successor reads them."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences
from kafka_groups.net.spawned_process import SPAWN
from kafka_groups.share.workers.processes.directory_lock import DirectoryInUseError, DirectoryLock
from kafka_groups.share.workers.processes.notes import RunningNotes, RunningNotesLayout
from kafka_groups.share.workers.processes.notes_file import NotesFile, NotesOwner, UnusableNotesError, read_notes
from kafka_groups.share.workers.rules.named_suspects import MOST_NAMED, RunningRange, listed

__all__ = ["NotesInDirectory", "NotesInMemory", "NotesKeeper", "keeping_notes"]

_LOG = logging.getLogger("kafka_groups.worker")
_NAME = "notes"


class NotesKeeper:
    """Keeps the notes of all processes of a worker, and what some of them were running when they were killed.

    Args:
        notes: The notes.
        suspects: What processes of its predecessors were running when they were killed; the newest last.
    """

    def __init__(self, notes: RunningNotes, suspects: Iterable[RunningRange] = ()) -> None:
        self.notes = notes
        self._suspects = deque(suspects, maxlen=MOST_NAMED)

    @property
    def suspects(self) -> Sequence[RunningRange]:
        """The runs of processes that were killed; the newest last."""
        return tuple(self._suspects)

    def name(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what a process was running when it was killed."""
        self._suspects.extend(ranges)

    def forget(self) -> None:
        """Leave nothing to a successor: the worker has ended in order, and holds no records."""


class NotesInMemory(NotesKeeper):
    """Notes that end with the worker.

    Args:
        layout: The layout of a part.
        processes: How many processes run at a time.
    """

    def __init__(self, layout: RunningNotesLayout, processes: int) -> None:
        super().__init__(RunningNotes(layout, SPAWN.RawArray("B", RunningNotes.size(layout, processes))))


class NotesInDirectory(NotesKeeper):
    """Notes in a directory, which one worker uses at a time. Its predecessor's are read first.

    Args:
        directory: The directory; it is made if it does not exist.
        group_id: The group of the worker.
        layout: The layout of a part.
        processes: How many processes run at a time.

    Raises:
        ConfigurationError: Another worker uses the directory, or it cannot be written.
    """

    def __init__(self, directory: Path, group_id: str, layout: RunningNotesLayout, processes: int) -> None:
        self._directory = directory.absolute()
        owner = NotesOwner(group_id, layout, RunningNotes.size(layout, processes) // layout.size)
        self._lock = self._locked()
        try:
            suspects = self._inherited(owner)
            self._file = NotesFile(self._directory / _NAME, owner, suspects)
        except BaseException as error:
            # The lock would last as long as this process, whatever the reason is, so it is released in any case. Errors
            # of the disk are explained; others are raised as they are.
            self._lock.release()
            if isinstance(error, OSError):
                raise self._unusable(error) from error
            raise
        super().__init__(RunningNotes(layout, self._file.memory), suspects)
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<NotesInDirectory {self._directory}>"

    def _locked(self) -> DirectoryLock:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            return DirectoryLock(self._directory)
        except DirectoryInUseError as error:
            raise ConfigurationError(
                f"state_dir={str(self._directory)!r}: another worker uses this directory. Stop it, or give this one"
                " another state_dir"
            ) from error
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            sentences(
                f"state_dir={str(self._directory)!r}: the worker cannot keep its notes there: {error}",
                "Give a directory that this user may write to, on a disk with enough space",
            )
        )

    def _inherited(self, owner: NotesOwner) -> Sequence[RunningRange]:
        try:
            found = _newest(read_notes(self._directory / _NAME, owner))
        except FileNotFoundError:
            return ()
        except UnusableNotesError as error:
            # Notes that cannot be used must not keep the worker from starting: without them, records run as if there
            # had been none.
            _LOG.warning(
                "State directory %s: ignoring the notes of the previous worker, because %s. If that worker was killed,"
                " the records that it was running are unknown, and do not run alone",
                self._directory,
                error,
            )
            return ()
        if found:
            _LOG.warning(
                "State directory %s: previous workers were killed, or ended with an error, while they were running %s."
                " These records run alone when they are delivered again",
                self._directory,
                listed(found[::-1]),
            )
            _LOG.debug("State directory %s: all suspects: %s", self._directory, ", ".join(map(str, found)))
        return found

    def name(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what a process was running when it was killed."""
        super().name(ranges)
        self._file.keep(self._suspects)

    def forget(self) -> None:
        """Leave nothing to a successor: the worker has ended in order, and holds no records."""
        # The suspects go first: if this process is killed in between, the notes of the runs are still there.
        self._file.keep(())
        self.notes.clear_all()

    def close(self) -> None:
        """Let a successor have the directory. The second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._file.close()
            self._lock.release()


def _newest(ranges: Sequence[RunningRange]) -> Sequence[RunningRange]:
    """Return each range once, in the place where it is last, and no more than are remembered."""
    return list(dict.fromkeys(reversed(ranges)))[:MOST_NAMED][::-1]


@contextmanager
def keeping_notes(
    directory: Path | None, group_id: str, layout: RunningNotesLayout, processes: int
) -> Iterator[NotesKeeper]:
    """Keep the notes of several processes in a directory; without one, in memory.

    Raises:
        ConfigurationError: Another worker uses the directory, or it cannot be written.
    """
    if directory is None:
        yield NotesInMemory(layout, processes)
        return
    kept = NotesInDirectory(directory, group_id, layout, processes)
    try:
        yield kept
    finally:
        kept.close()
