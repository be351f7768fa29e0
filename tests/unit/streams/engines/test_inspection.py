"""What applications have left on disk, and what they have there while they run."""

import importlib.util
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.engines import inspection
from kafka_groups.streams.engines.inspection import (
    FilesHealth,
    KeptApplication,
    KeptTask,
    OtherGeneration,
    Trash,
    application_folders,
    inspected,
)
from kafka_groups.streams.engines.marks import Mark, write_json, write_mark
from kafka_groups.streams.engines.page_reader import FoundState, found_state
from kafka_groups.streams.engines.reading_process import read_in_process
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.streams.workers.state_directory import StateDirectory
from kafka_groups.types import TopicPartition
from tests.support.kept_state import (
    APPLICATION,
    CHANGELOG,
    ROWS,
    changed_mark,
    lmdb_folder,
    running_application,
    written,
)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in this process, which is faster."""

    def read(folders: Sequence[Path], *, check: bool) -> Iterator[FoundState | StateFilesError]:
        for each in folders:
            try:
                yield found_state(each, check=check)
            except StateFilesError as error:
                yield error

    monkeypatch.setattr(inspection, "read_in_process", read)


def look(state_dir: Path, *, check: bool = False) -> KeptApplication:
    (folder,) = application_folders(state_dir)
    return inspected(folder, check=check)


def task_in(state_dir: Path, *, check: bool = False) -> KeptTask:
    (task,) = look(state_dir, check=check).tasks
    return task


def files(folder: Path) -> dict[Path, tuple[int, int]]:
    """The time of the last change, and the size, of all files."""
    return {each: (each.stat().st_mtime_ns, each.stat().st_size) for each in folder.rglob("*")}


# ---------------------------------------------------------------------------------------------- applications


def test_folders_are_those_of_applications(tmp_path: Path) -> None:
    for name in ("b", "a"):
        StateDirectory(str(tmp_path), name).close()
    (tmp_path / "app-empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "app-file").touch()
    assert application_folders(tmp_path) == [tmp_path / "app-a", tmp_path / "app-b"]
    assert application_folders(tmp_path / "app-b") == [tmp_path / "app-b"]
    assert application_folders(tmp_path / "other") == []


@pytest.mark.usefixtures("here")
def test_an_application_is_named_by_its_file_or_its_folder(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert look(tmp_path).application_id == APPLICATION
    moved = folder.rename(tmp_path / "backup")
    assert inspected(moved, check=False).application_id == APPLICATION
    (moved / "format.json").unlink()
    moved.rename(tmp_path / "app-a%2Fb")
    assert look(tmp_path).application_id == "a/b"


def test_an_application_without_stores_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    StateDirectory(str(tmp_path), "shop").close()
    found = look(tmp_path)
    assert (found.application_id, found.is_in_use, found.tasks) == ("shop", False, [])
    assert found.trash == Trash(folders=0, size=0)


def test_reading_needs_lmdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'kafka-groups\[streams\]'"):
        look(tmp_path)


def test_a_running_application(tmp_path: Path) -> None:
    with running_application(tmp_path) as process:
        found, task = look(tmp_path, check=True), task_in(tmp_path, check=True)
        assert process.poll() is None
    assert found.is_in_use
    assert (task.is_open, task.is_clean, task.health) == (True, False, FilesHealth.OK)
    assert task.sizes is not None
    assert (task.sizes["counts"].rows, task.positions) == (len(ROWS), {CHANGELOG: 7})
    after = task_in(tmp_path)
    assert process.returncode == 0
    assert (after.is_open, after.is_clean, after.health) == (False, True, FilesHealth.NOT_CHECKED)


def test_an_application_is_perhaps_in_use_if_only_its_files_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in another container, whose locks the system does not list."""
    monkeypatch.setattr(inspection, "holds_lock", lambda _path: False)
    with running_application(tmp_path):
        assert look(tmp_path).is_in_use is None
    assert look(tmp_path).is_in_use is False


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("check", [False, True])
def test_nothing_changes(tmp_path: Path, check: bool) -> None:
    written(tmp_path)
    before = files(tmp_path)
    assert look(tmp_path, check=check).tasks[0].sizes
    assert files(tmp_path) == before


@pytest.mark.usefixtures("here")
def test_trash(tmp_path: Path) -> None:
    trash = written(tmp_path) / "trash"
    for name in ("0_1-a", "0_2-b"):
        (trash / name / "1").mkdir(parents=True)
        (trash / name / "1" / "data.mdb").write_bytes(b"1234")
    assert look(tmp_path).trash == Trash(folders=2, size=8)


@pytest.mark.usefixtures("here")
def test_tasks_are_in_order(tmp_path: Path) -> None:
    folder = written(tmp_path)
    for name in ("10_0", "2_0", "0_10", "0_2", "other"):
        (folder / "tasks" / name).mkdir()
    assert [each.name for each in look(tmp_path).tasks] == ["0_1", "0_2", "0_10", "2_0", "10_0"]


# --------------------------------------------------------------------------------------------------- health


def other_boot(state_dir: Path) -> None:
    changed_mark(state_dir, is_clean=False, boot_id="before")


def too_many_openings(state_dir: Path) -> None:
    changed_mark(state_dir, is_clean=False, openings=2)


def newer_format(state_dir: Path) -> None:
    changed_mark(state_dir, format=2)


def dead_of_damage(state_dir: Path) -> None:
    changed_mark(state_dir, is_damaged=True)


def no_data(state_dir: Path) -> None:
    (lmdb_folder(state_dir) / "data.mdb").unlink()


def empty_data(state_dir: Path) -> None:
    (lmdb_folder(state_dir) / "data.mdb").write_bytes(b"")


def broken_mark(state_dir: Path) -> None:
    lmdb_folder(state_dir).with_name("mark.json").write_text("{")


def newer_application(state_dir: Path) -> None:
    write_json(next(state_dir.glob("app-*")) / "format.json", {"format": 2, "application": APPLICATION})


@pytest.mark.parametrize(
    ("change", "health", "reason"),
    [
        (other_boot, FilesHealth.TO_BE_RESTORED, "they were open when the machine stopped"),
        (too_many_openings, FilesHealth.TO_BE_RESTORED, "they were opened 2 times without a commit"),
        (newer_format, FilesHealth.TO_BE_RESTORED, "they have format 2 of lmdb"),
        (dead_of_damage, FilesHealth.DAMAGED, "the process that had them open was ended by damage in them"),
        (no_data, FilesHealth.TO_BE_RESTORED, "they lack data.mdb"),
        (empty_data, FilesHealth.TO_BE_RESTORED, "they lack data.mdb"),
        (broken_mark, FilesHealth.DAMAGED, "mark.json is not a mark"),
        (newer_application, FilesHealth.UNREADABLE, "the folder has format 2, and this release has format 1"),
    ],
)
def test_files_that_a_start_would_not_open_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], health: FilesHealth, reason: str
) -> None:
    def read(folders: list[Path], **_given: Any) -> list[None]:
        assert folders == []
        return []

    written(tmp_path)
    change(tmp_path)
    monkeypatch.setattr(inspection, "read_in_process", read)
    task = task_in(tmp_path, check=True)
    assert (task.health, task.sizes, task.has_failed) == (health, None, health is not FilesHealth.TO_BE_RESTORED)
    assert reason in str(task.reason)


def test_files_that_are_not_opened_have_the_positions_of_their_mark(tmp_path: Path) -> None:
    written(tmp_path)
    changed_mark(tmp_path, positions={"a-b-12": 5}, is_damaged=True)
    task = task_in(tmp_path)
    assert task.positions == {TopicPartition("a-b", 12): 5}
    assert task.stores == {"counts": None, "visits": None}


@pytest.mark.usefixtures("here")
def test_damage_that_a_read_finds(tmp_path: Path) -> None:
    written(tmp_path)
    (lmdb_folder(tmp_path) / "data.mdb").write_bytes(b"?" * 65_536)
    task = task_in(tmp_path)
    assert (task.health, task.has_failed) == (FilesHealth.DAMAGED, True)
    assert str(task.reason).startswith(f"the store files in {lmdb_folder(tmp_path)} are damaged: ")


def test_files_that_are_deleted_during_the_look_are_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(folders: list[Path], *, check: bool) -> Any:
        shutil.rmtree(folders[0].parents[1])
        return read_in_process(folders, check=check)

    written(tmp_path)
    monkeypatch.setattr(inspection, "read_in_process", read)
    task = task_in(tmp_path)
    assert task.health is FilesHealth.UNREADABLE
    assert "has just replaced or deleted them" in str(task.reason)


def test_a_mark_that_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path)
    mark = lmdb_folder(tmp_path).with_name("mark.json")
    mark.unlink()
    mark.mkdir()
    task = task_in(tmp_path)
    assert (task.health, task.generation) == (FilesHealth.UNREADABLE, None)
    assert str(task.reason).startswith("IsADirectoryError: ")


# ---------------------------------------------------------------------------------------------- generations


@pytest.mark.usefixtures("here")
def test_a_copy_counts_when_it_has_a_mark(tmp_path: Path) -> None:
    folder = written(tmp_path) / "tasks" / "0_1"
    shutil.copytree(folder / "1" / "lmdb", folder / "2" / "lmdb")
    before = task_in(tmp_path)
    assert (before.generation, before.others) == (1, [OtherGeneration(number=2, is_open=False, is_finished=False)])
    write_mark(folder / "2", Mark(boot_id="any", stores={"other": "KeyValue"}, is_clean=True))
    after = task_in(tmp_path)
    assert (after.generation, after.others) == (2, [OtherGeneration(number=1, is_open=False, is_finished=True)])
    assert sorted(after.stores) == ["counts", "other", "visits"]


def test_a_former_owner_still_has_its_generation(tmp_path: Path) -> None:
    with running_application(tmp_path):
        folder = lmdb_folder(tmp_path).parents[1]
        (folder / "2" / "lmdb").mkdir(parents=True)
        shutil.copy(lmdb_folder(tmp_path) / "data.mdb", folder / "2" / "lmdb")
        write_mark(folder / "2", Mark(boot_id="any", stores={}, is_clean=True))
        task = task_in(tmp_path)
    assert (task.generation, task.is_open, task.health) == (2, False, FilesHealth.NOT_CHECKED)
    assert task.others == [OtherGeneration(number=1, is_open=True, is_finished=True)]


def test_a_task_without_generations(tmp_path: Path) -> None:
    folder = written(tmp_path) / "tasks" / "0_1"
    shutil.rmtree(folder / "1")
    assert task_in(tmp_path) == KeptTask(name="0_1", folder=folder, others=[])
