"""The folders of tasks that nobody has open: what they have, and how long they stay."""

import logging
from collections.abc import Iterator
from pathlib import Path

from kafka_groups.streams.engines.generations import Generation, TaskFolder
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import Mark
from kafka_groups.streams.engines.opening_rules import reason_to_wipe
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.types import TaskId

__all__ = ["condemn_left_open", "positions_left", "task_folder", "wipe_all", "wipe_unused"]

_log = logging.getLogger(__name__)


def task_folder(application: Path, task_id: TaskId) -> TaskFolder:
    """Return the folder of a task in that of its application."""
    return TaskFolder(application / "tasks" / str(task_id), application / "trash")


def _left(application: Path) -> Iterator[tuple[TaskFolder, Generation]]:
    """Iterate over the folders of tasks that nobody has open. This process has each of them for one step."""
    tasks = application / "tasks"
    for path in sorted(tasks.iterdir()) if tasks.exists() else ():
        folder = TaskFolder(path, application / "trash")
        newest = folder.newest()
        if newest is not None and newest.own():
            try:
                yield folder, newest
            finally:
                newest.disown()


def condemn_left_open(application: Path) -> None:
    """Let the files that a process had open be restored: it was ended by a signal that damaged files can cause.

    Raises:
        OSError: A mark cannot be written.
    """
    for _, newest in _left(application):
        if newest.mark is not None and not newest.mark.is_clean:
            newest.note(is_damaged=True)


def positions_left(application: Path, boot: str) -> dict[TaskId, int]:
    """Return the sum of the positions of each task that has state which can be opened.

    The group assigns a task where it has the least to restore (KIP-1071, "Cumulative task changelog offsets").

    Raises:
        OSError: They cannot be read, or a mark cannot be written.
    """
    found: dict[TaskId, int] = {}
    for folder, newest in _left(application):
        subtopology, _, partition = folder.path.name.partition("_")
        mark = newest.mark
        if mark is not None and reason_to_wipe(mark, {}, boot) is None and partition.isdecimal():
            positions = mark.positions.values() if mark.is_clean else _read_positions(newest, mark)
            found[TaskId(subtopology, int(partition))] = sum(positions)
    return found


def _read_positions(generation: Generation, mark: Mark) -> list[int]:
    # Damaged files can end this process. They must not do so at each start, so that counts as an opening.
    generation.note(openings=mark.openings + 1)
    try:
        found = list(LmdbEngine.positions_in(generation.path / DATA_FOLDER).values())
    except StateFilesError as error:
        _log.warning("The positions of the stores in %s are not reported: %s", generation.path, error)
        found = []
    generation.note(openings=mark.openings)
    return found


def wipe_unused(application: Path, since_wall_ms: int) -> None:
    """Delete the folders of tasks that nobody has used since some time.

    Raises:
        OSError: One cannot be moved away.
    """
    for folder, newest in _left(application):
        if newest.used_ms() < since_wall_ms:
            _log.info("The stores of task %s are deleted: the task has been elsewhere for long.", folder.path.name)
            folder.wipe()


def wipe_all(application: Path) -> None:
    """Delete everything that an application keeps on disk, but for the id of its process.

    Raises:
        OSError: Something cannot be deleted.
    """
    tasks = application / "tasks"
    TaskFolder(tasks, application / "trash").wipe()
    (application / "format.json").unlink(missing_ok=True)
