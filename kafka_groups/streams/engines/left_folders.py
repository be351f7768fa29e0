"""The folders of tasks and global stores that nobody has open: what they have, and how long they stay."""

import logging
from collections.abc import Callable, Iterator, MutableMapping
from itertools import chain
from pathlib import Path
from typing import Final

from kafka_groups.streams.engines.commit_counts import counted_since_commit
from kafka_groups.streams.engines.generations import Generation, GenerationsFolder
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import Mark
from kafka_groups.streams.engines.opening_rules import reason_to_wipe
from kafka_groups.streams.engines.owned_engine import DATA_FILE, DATA_FOLDER
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.types import TaskId

__all__ = [
    "CLAIMS_FOLDER",
    "GLOBAL_FOLDER",
    "TASKS_FOLDER",
    "condemn_left_open",
    "global_folder",
    "positions_left",
    "task_folder",
    "wipe_all",
    "wipe_unused",
]

_log = logging.getLogger(__name__)

TASKS_FOLDER: Final = "tasks"
"""The folder with a folder for each task."""

GLOBAL_FOLDER: Final = "global"
"""The folder with a folder for the global stores of each worker."""

CLAIMS_FOLDER: Final = "claims"
"""The folder with a file for each task, which a worker locks that names the task's state to its group."""


def task_folder(application: Path, task_id: TaskId) -> GenerationsFolder:
    """Return the folder of a task in that of its application."""
    return GenerationsFolder(application / TASKS_FOLDER / str(task_id), application / "trash")


def global_folder(application: Path, number: int) -> GenerationsFolder:
    """Return the folder of the global stores of a worker in that of its application.

    Args:
        application: The folder of the application.
        number: Which worker of the process it is, from 1.
    """
    return GenerationsFolder(application / GLOBAL_FOLDER / str(number), application / "trash")


def _left(
    application: Path, kind: str, *, wants: Callable[[str], bool] = lambda _name: True
) -> Iterator[tuple[GenerationsFolder, Generation]]:
    """Iterate over the folders of a kind that nobody has open. This process has each of them for one step.

    Args:
        application: The folder of the application.
        kind: The name of the folder with all folders of the kind.
        wants: Returns whether to look at a folder, by its name. Called before this process has it.
    """
    kept = application / kind
    for path in sorted(kept.iterdir()) if kept.exists() else ():
        if not wants(path.name):
            continue
        folder = GenerationsFolder(path, application / "trash")
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
    for _, newest in chain(_left(application, TASKS_FOLDER), _left(application, GLOBAL_FOLDER)):
        if newest.mark is not None and not newest.mark.is_clean:
            newest.note(is_damaged=True)


def positions_left(
    application: Path,
    boot: str,
    wants: Callable[[TaskId], bool] = lambda _task: True,
    known: MutableMapping[tuple[Path, str], int] | None = None,
) -> dict[TaskId, int]:
    """Return the sum of the positions of each task that has state which can be opened.

    The group assigns a task where it has the least to restore (KIP-1071, "Cumulative task changelog offsets").

    Args:
        application: The folder of the application.
        boot: The boot of the machine, as `machine.boot_id` tells it.
        wants: Returns whether to look at the state of a task. Called before anything of it is locked or read.
        known: Sums of files that were not closed cleanly, by their folder and the opening that wrote them. Those that
            are read now are added, so that the next call need not open the files.

    Raises:
        OSError: They cannot be read, or a mark cannot be written.
    """
    found: dict[TaskId, int] = {}
    for folder, newest in _left(application, TASKS_FOLDER, wants=lambda name: _is_wanted(name, wants)):
        mark = _counted(newest)
        task = _task_of(folder.path.name)
        if task is not None and mark is not None and reason_to_wipe(mark, {}, boot) is None:
            found[task] = _sum_left(newest, mark, {} if known is None else known)
    return found


def _is_wanted(name: str, wants: Callable[[TaskId], bool]) -> bool:
    task = _task_of(name)
    return task is not None and wants(task)


def _task_of(name: str) -> TaskId | None:
    """Return the task whose folder has a name; None if it is another folder."""
    subtopology, _, partition = name.partition("_")
    return TaskId(subtopology, int(partition)) if partition.isdecimal() else None


def _sum_left(newest: Generation, mark: Mark, known: MutableMapping[tuple[Path, str], int]) -> int:
    if mark.is_clean:
        return sum(mark.positions.values())
    # Nobody writes to files that nobody has open, and each opening has another owner.
    opening = newest.path, mark.owner
    if opening not in known:
        known[opening] = sum(_read_positions(newest, mark))
    return known[opening]


def _counted(generation: Generation) -> Mark | None:
    mark = generation.mark
    return None if mark is None else counted_since_commit(mark, generation.path / DATA_FOLDER / DATA_FILE)


def _read_positions(generation: Generation, mark: Mark) -> list[int]:
    # Damaged files can end this process. They must not do so at each start, so that counts as an opening.
    generation.note(openings=mark.openings + 1, transaction=mark.transaction)
    try:
        found = list(LmdbEngine.positions_in(generation.path / DATA_FOLDER).values())
    except StateFilesError as error:
        _log.warning("The positions of the stores in %s are not reported: %s", generation.path, error)
        found = []
    generation.note(openings=mark.openings)
    return found


def wipe_unused(application: Path, since_wall_ms: int) -> None:
    """Delete the folders of tasks and global stores that nobody has used since some time.

    Raises:
        OSError: One cannot be moved away.
    """
    for kind, text in (
        (TASKS_FOLDER, "The stores of task %s are deleted: the task has been elsewhere for long."),
        (GLOBAL_FOLDER, "The global stores of worker %s are deleted: there has been no such worker for long."),
    ):
        for folder, newest in _left(application, kind):
            if newest.used_ms() < since_wall_ms:
                _log.info(text, folder.path.name)
                folder.wipe_until(newest)


def wipe_all(application: Path) -> None:
    """Delete everything that an application keeps on disk, but for the id of its process.

    Raises:
        OSError: Something cannot be deleted.
    """
    for kind in (TASKS_FOLDER, GLOBAL_FOLDER, CLAIMS_FOLDER):
        GenerationsFolder(application / kind, application / "trash").wipe()
    (application / "format.json").unlink(missing_ok=True)
