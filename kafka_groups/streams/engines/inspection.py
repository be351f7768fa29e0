"""Tells what applications have left in a `state.dir`, or have there while they run. Nothing is changed."""

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from attrs import evolve, field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import named
from kafka_groups.streams.engines.commit_counts import counted_since_commit
from kafka_groups.streams.engines.generations import Generation, GenerationsFolder
from kafka_groups.streams.engines.left_folders import GLOBAL_FOLDER, TASKS_FOLDER
from kafka_groups.streams.engines.lock_holders import has_environment_open, holds_lock
from kafka_groups.streams.engines.machine import boot_id
from kafka_groups.streams.engines.marks import FORMAT, Mark, read_json
from kafka_groups.streams.engines.opening_rules import reason_to_wipe
from kafka_groups.streams.engines.owned_engine import DATA_FILE, DATA_FOLDER
from kafka_groups.streams.engines.page_reader import FoundState, StoreSize
from kafka_groups.streams.engines.reading_process import read_in_process
from kafka_groups.streams.errors import CorruptedStateError, StateFilesError
from kafka_groups.types import TaskId, TopicPartition

__all__ = [
    "FilesHealth",
    "KeptApplication",
    "KeptTask",
    "OtherGeneration",
    "Trash",
    "application_folders",
    "inspected",
]

_FOLDER: Final = "app-"
_FILES: Final = ("format.json", "process-id")
"""Files of which the folder of an application has one."""


class FilesHealth(Enum):
    """The result of looking at the files of a task."""

    NOT_CHECKED = "not checked"
    """They can be opened. Not all rows were read."""
    OK = "ok"
    """All rows were read."""
    EMPTY = "empty"
    """There are none."""
    TO_BE_RESTORED = "to be restored"
    """The next start deletes them without opening them, so they were not opened."""
    DAMAGED = "damaged"
    """Reading them failed, or has ended a process."""
    UNREADABLE = "unreadable"
    """They could not be read, for another reason than damage."""


@frozen(kw_only=True)
class OtherGeneration:
    """A generation of a task other than the one that counts.

    Attributes:
        number: Its number.
        is_open: Whether a process has it open, such as one that has lost the task and was stopped.
        is_finished: False if it is a copy that was not completed.
    """

    number: int
    is_open: bool
    is_finished: bool


@frozen(kw_only=True)
class KeptTask:
    """The state of a task, or that of the global stores of a worker.

    Attributes:
        name: The task, such as `0_1`, or the number of the worker.
        is_global: Whether it is that of global stores.
        folder: Its folder.
        generation: The number of the newest generation; None if there is none.
        is_open: Whether a process has it open.
        is_clean: Whether it was closed, with everything on the disk; None if there is none.
        health: The result of looking at the files.
        reason: Why they are not well, or None.
        layouts: How each store is laid out.
        sizes: The sizes of the stores with rows; None if the files were not opened.
        positions: The next offset in each changelog. If the files were not opened, that at the clean end.
        file_bytes: The size of the file; None if it was not opened.
        others: The other generations.
    """

    name: str
    is_global: bool = False
    folder: Path
    generation: int | None = None
    is_open: bool = False
    is_clean: bool | None = None
    health: FilesHealth = FilesHealth.EMPTY
    reason: str | None = None
    layouts: Mapping[str, str] = field(factory=dict)
    sizes: Mapping[str, StoreSize] | None = None
    positions: Mapping[TopicPartition, int] = field(factory=dict)
    file_bytes: int | None = None
    others: Sequence[OtherGeneration] = ()

    @property
    def title(self) -> str:
        """The owner of the state, for texts."""
        return f"global stores of worker {self.name}" if self.is_global else f"task {self.name}"

    @property
    def stores(self) -> dict[str, StoreSize | None]:
        """The size of each store; None if the files were not opened."""
        if self.sizes is None:
            return dict.fromkeys(sorted(self.layouts))
        return {name: self.sizes.get(name, StoreSize()) for name in sorted({*self.layouts, *self.sizes})}

    @property
    def has_failed(self) -> bool:
        """True if the files are damaged or could not be read."""
        return self.health in {FilesHealth.DAMAGED, FilesHealth.UNREADABLE}


@frozen(kw_only=True)
class Trash:
    """The folders that an application has given up and not deleted yet.

    Attributes:
        folders: Their number.
        size: Their bytes.
    """

    folders: int
    size: int


@frozen(kw_only=True)
class KeptApplication:
    """The folder of an application.

    Attributes:
        application_id: The application.
        folder: Its folder.
        is_in_use: Whether a process of the application has its lock; None if the system does not tell.
        tasks: The tasks that have state on disk, and then the workers whose global stores have.
        trash: The folders that wait to be deleted.
    """

    application_id: str
    folder: Path
    is_in_use: bool | None
    tasks: Sequence[KeptTask]
    trash: Trash


def application_folders(directory: Path) -> list[Path]:
    """Return the folders of applications that a directory has, or the directory if it is one.

    Raises:
        OSError: It cannot be read.
    """
    if _is_application(directory):
        return [directory]
    return sorted(each for each in directory.iterdir() if each.name.startswith(_FOLDER) and _is_application(each))


def _is_application(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _FILES)


def inspected(folder: Path, *, check: bool) -> KeptApplication:
    """Return what is in the folder of an application.

    Args:
        folder: The folder.
        check: Whether to read all rows.

    Raises:
        ConfigurationError: The package lmdb is missing.
        OSError: The folder cannot be read.
    """
    tasks = [_task(each) for each in _task_folders(folder / TASKS_FOLDER)]
    tasks += [evolve(_task(each), is_global=True) for each in _numbered(folder / GLOBAL_FOLDER)]
    application = read_json(folder / _FILES[0]) or {}
    if (found := application.get("format", FORMAT)) != FORMAT:
        why = f"the folder has format {found}, and this release has format {FORMAT}"
        tasks = [evolve(each, health=FilesHealth.UNREADABLE, reason=why) for each in tasks]
    return KeptApplication(
        application_id=str(application.get("application") or unquote(folder.name.removeprefix(_FOLDER))),
        folder=folder,
        is_in_use=_is_in_use(folder, tasks),
        tasks=list(_read(tasks, check=check)),
        trash=_trash(folder / "trash"),
    )


def _task_folders(folder: Path) -> list[Path]:
    found = ((_task_id(each), each) for each in _folders_in(folder))
    known = [(task_id, each) for task_id, each in found if task_id is not None]
    return [each for _, each in sorted(known, key=lambda each: (len(each[0].subtopology_id), each[0]))]


def _numbered(folder: Path) -> list[Path]:
    found = [each for each in _folders_in(folder) if each.name.isdecimal()]
    return sorted(found, key=lambda each: int(each.name))


def _task_id(folder: Path) -> TaskId | None:
    try:
        return TaskId.parse(folder.name)
    except ValueError:
        return None


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if each.is_dir()]
    except FileNotFoundError:  # the application may wipe a task at any time
        return []


def _is_in_use(folder: Path, tasks: Sequence[KeptTask]) -> bool | None:
    found = holds_lock(folder / "lock")
    # The system does not list the locks of another container. LMDB's are seen from everywhere.
    return None if found is False and any(each.is_open for each in tasks) else found


def _trash(folder: Path) -> Trash:
    # Unlike `Path.rglob`, it continues if somebody deletes what it is looking at.
    files = [Path(parent) / name for parent, _, names in os.walk(folder) for name in names]
    return Trash(folders=len(_folders_in(folder)), size=sum(_size(each) for each in files))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # deleted since
        return 0


# ---------------------------------------------------------------------------------------------- generations


def _task(folder: Path) -> KeptTask:
    """Return what the marks of a task say."""
    try:
        generations = [Generation(each) for each in reversed(_numbered(folder))]
        newest = next((each for each in generations if each.mark is not None), None)
        unfinished = sorted(GenerationsFolder(folder, folder).unfinished(), key=lambda each: each.path)
        others = [_other(each) for each in (*unfinished, *generations) if each is not newest]
        if newest is not None and newest.mark is not None:
            return evolve(_marked(folder, newest, newest.mark), others=others)
        broken = next((each.path for each in generations if (each.path / "mark.json").exists()), None)
    except OSError as error:
        return KeptTask(name=folder.name, folder=folder, health=FilesHealth.UNREADABLE, reason=named(error))
    if broken is None:
        return KeptTask(name=folder.name, folder=folder, others=others)
    why = f"{broken / 'mark.json'} is not a mark"
    return KeptTask(name=folder.name, folder=folder, others=others, health=FilesHealth.DAMAGED, reason=why)


def _other(generation: Generation) -> OtherGeneration:
    return OtherGeneration(
        number=generation.number,
        is_open=has_environment_open(generation.path / DATA_FOLDER),
        is_finished=generation.mark is not None,
    )


def _marked(folder: Path, generation: Generation, mark: Mark) -> KeptTask:
    is_open = has_environment_open(generation.path / DATA_FOLDER)
    health, reason = _health(generation, mark)
    return KeptTask(
        name=folder.name,
        folder=folder,
        generation=generation.number,
        is_open=is_open,
        is_clean=mark.is_clean,
        health=health,
        reason=reason,
        layouts=mark.stores,
        positions=dict(_marked_position(*each) for each in mark.positions.items()),
    )


def _health(generation: Generation, mark: Mark) -> tuple[FilesHealth, str | None]:
    """Return whether the files may be opened."""
    # The stores that the topology has now are not known here, so none of them is another one than before.
    data = generation.path / DATA_FOLDER / DATA_FILE
    why = reason_to_wipe(counted_since_commit(mark, data), mark.stores, boot_id())
    if why is not None:
        return FilesHealth.DAMAGED if mark.is_damaged else FilesHealth.TO_BE_RESTORED, why
    # LMDB takes an empty file for none, and starts with a new environment.
    if not _size(data):
        return FilesHealth.TO_BE_RESTORED, "they lack data.mdb"
    return FilesHealth.NOT_CHECKED, None


def _marked_position(place: str, offset: int) -> tuple[TopicPartition, int]:
    topic, _, partition = place.rpartition("-")
    return TopicPartition(topic, int(partition)), offset


# ------------------------------------------------------------------------------------------------- content


def _read(tasks: Sequence[KeptTask], *, check: bool) -> Iterator[KeptTask]:
    """Add the content of the files that may be opened."""
    opened = [each for each in tasks if each.health is FilesHealth.NOT_CHECKED]
    if opened and importlib.util.find_spec("lmdb") is None:
        raise ConfigurationError(
            "Reading stores on disk needs the package lmdb. Install it: pip install 'kafka-groups[streams]'"
        )
    folders = [each.folder / str(each.generation) / DATA_FOLDER for each in opened]
    found = iter(read_in_process(folders, check=check))
    for task in tasks:
        yield _completed(task, next(found), check=check) if task.health is FilesHealth.NOT_CHECKED else task


def _completed(task: KeptTask, found: FoundState | StateFilesError, *, check: bool) -> KeptTask:
    if isinstance(found, FoundState):
        health = FilesHealth.OK if check else FilesHealth.NOT_CHECKED
        return evolve(task, health=health, sizes=found.stores, positions=found.positions, file_bytes=found.file_bytes)
    if not (task.folder / str(task.generation)).exists():
        why = "the application has just replaced or deleted them. Run the command again"
        return evolve(task, health=FilesHealth.UNREADABLE, reason=why)
    health = FilesHealth.DAMAGED if isinstance(found, CorruptedStateError) else FilesHealth.UNREADABLE
    return evolve(task, health=health, reason=str(found))
