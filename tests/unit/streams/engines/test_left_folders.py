"""The folders of tasks that nobody has open: what is reported of them, and when they are deleted."""

import os
from pathlib import Path

import pytest

from kafka_groups.streams.engines import left_folders
from kafka_groups.streams.engines.dormant_folders import DormantFolders
from kafka_groups.streams.engines.left_folders import (
    condemn_left_open,
    global_folder,
    positions_left,
    wipe_all,
    wipe_unused,
)
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER
from kafka_groups.types import TopicPartition
from tests.support.kept_states import BOOT, CHANGELOG, PERSISTENT, TASK, Kept

OTHER = TopicPartition("app-words-changelog", 0)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # slow, and no machine crashes here
    return Kept(tmp_path / "app-mine")


def used_at(kept: Kept, wall_ms: int) -> None:
    """Have the files of the task last used at a time."""
    for each in kept.task.rglob("*"):
        os.utime(each, ns=(wall_ms * 1_000_000, wall_ms * 1_000_000))


@pytest.mark.parametrize("is_clean", [True, False])
def test_the_positions_of_files_that_nobody_has_are_summed(kept: Kept, is_clean: bool) -> None:
    assert positions_left(kept.folder, BOOT) == {}
    engine = kept.committed()
    engine.commit({}, {OTHER: 5})
    assert positions_left(kept.folder, BOOT) == {}, "somebody has them"
    engine.close() if is_clean else kept.kill(engine)
    assert positions_left(kept.folder, BOOT) == {TASK: 12}
    assert positions_left(kept.folder, "boot 2") == ({TASK: 12} if is_clean else {})
    again = kept.opened()
    assert again.positions == {CHANGELOG: 7, OTHER: 5}
    again.close()


@pytest.mark.parametrize(
    "mark", [{"is_damaged": True}, {"openings": 2}, {"format": 2}, {"engine": "rocksdb"}, {"boot_id": "boot 0"}]
)
def test_files_that_must_not_be_opened_are_not_reported_and_not_opened(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, mark: dict[str, object]
) -> None:
    kept.kill(kept.committed())
    kept.change_mark(mark)
    opened: list[Path] = []
    monkeypatch.setattr(LmdbEngine, "positions_in", staticmethod(opened.append))
    assert positions_left(kept.folder, BOOT) == {}
    assert not opened


def test_files_that_end_the_process_which_asks_for_their_positions_are_not_opened_for_ever(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.kill(kept.committed())
    attempts = 0

    class Ended(BaseException):
        """This process has been ended by a signal."""

    def ended(_path: Path) -> None:
        nonlocal attempts
        attempts += 1
        raise Ended

    monkeypatch.setattr(LmdbEngine, "positions_in", staticmethod(ended))
    for _ in range(9):
        try:
            positions_left(kept.folder, BOOT)
        except Ended:
            continue
        break
    assert attempts == 2


def test_asking_for_positions_does_not_count_as_an_opening(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.kill(kept.committed())
    for _ in range(9):
        assert positions_left(kept.folder, BOOT) == {TASK: 7}
    engine = kept.opened()
    assert engine.positions == {CHANGELOG: 7}
    assert caplog.records == []
    engine.close()


def test_positions_that_cannot_be_read_are_told_and_are_none(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.kill(kept.committed())
    (kept.task / "1" / DATA_FOLDER / "data.mdb").write_bytes(b"garbage " * 4096)
    assert positions_left(kept.folder, BOOT) == {TASK: 0}
    (record,) = caplog.records
    assert "are not reported: " in record.message


def test_other_folders_are_not_tasks(kept: Kept) -> None:
    kept.committed().close()
    kept.task.rename(kept.task.with_name("lost+found"))
    assert positions_left(kept.folder, BOOT) == {}


def test_files_of_a_process_that_died_of_them_are_not_opened_again(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    condemn_left_open(kept.folder)
    kept.committed().close()
    condemn_left_open(kept.folder)
    engine = kept.committed()
    condemn_left_open(kept.folder)
    assert not kept.mark()["is_damaged"], "somebody has them, who lives"
    kept.kill(engine)
    condemn_left_open(kept.folder)
    assert kept.mark()["is_damaged"]
    again = kept.opened()
    assert not again.positions
    assert "was ended by damage in them" in caplog.text
    again.close()


def test_files_that_nobody_has_used_since_some_time_are_deleted(kept: Kept) -> None:
    engine = kept.committed()
    used_at(kept, 1_000_000)
    wipe_unused(kept.folder, 2_000_000)
    assert kept.task.exists(), "somebody has them"
    engine.close()
    used_at(kept, 1_000_000)
    wipe_unused(kept.folder, 1_000_000)
    assert kept.task.exists()
    wipe_unused(kept.folder, 1_000_001)
    assert not kept.task.exists()


@pytest.fixture
def global_stores(kept: Kept) -> Path:
    """The folder of global stores that a worker has closed."""
    engine = kept.engines().open_global({"names": PERSISTENT})
    assert engine is not None
    engine.commit({"counts": {b"k": b"v"}}, {OTHER: 1})
    engine.close()
    return global_folder(kept.folder, 1).path


def test_global_stores_that_no_worker_has_used_for_long_are_deleted_and_are_not_reported(
    kept: Kept, global_stores: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert positions_left(kept.folder, BOOT) == {}
    engine = kept.engines().open_global({"names": PERSISTENT})
    assert engine is not None
    for each in global_stores.rglob("*"):
        os.utime(each, ns=(0, 0))
    wipe_unused(kept.folder, 1)
    assert global_stores.exists(), "somebody has them"
    engine.close()
    wipe_unused(kept.folder, 1)
    assert global_stores.exists(), "they were used just now"
    for each in global_stores.rglob("*"):
        os.utime(each, ns=(0, 0))
    with caplog.at_level("INFO"):
        wipe_unused(kept.folder, 1)
    assert not global_stores.exists()
    assert "The global stores of worker 1 are deleted: there has been no such worker for long." in caplog.text


def test_everything_but_the_id_of_the_process_is_deleted_on_request(kept: Kept, global_stores: Path) -> None:
    kept.committed().close()
    dormant = DormantFolders(kept.folder, BOOT)
    assert dormant.claim() == {TASK: 7}
    dormant.release()
    assert global_stores.exists()
    for name in ("format.json", "process-id"):
        (kept.folder / name).write_text("{}", encoding="utf-8")
    for _ in range(2):
        wipe_all(kept.folder)
        assert sorted(each.name for each in kept.folder.iterdir()) == ["process-id", "trash"]
        assert list((kept.folder / "trash").iterdir()) == []


def test_tasks_elsewhere_for_long_lose_their_files_when_a_worker_has_run_for_as_long(kept: Kept) -> None:
    kept.committed().close()
    used_at(kept, 0)
    engines = kept.engines()
    for minutes in range(1, 11):
        kept.clock.advance(60_000)
        engines.tidy()
        assert kept.task.exists() == (minutes < 10)


def test_a_disk_that_refuses_to_delete_old_files_is_told(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_args: object) -> None:
        raise OSError(30, "Read-only file system")

    engines = kept.engines()
    monkeypatch.setattr("kafka_groups.streams.engines.opening.wipe_unused", refused)
    kept.clock.advance(3_600_000)
    engines.tidy()
    assert "cannot be deleted: [Errno 30] Read-only file system" in caplog.text


def test_the_folder_of_a_task_is_named_after_it(tmp_path: Path) -> None:
    assert left_folders.task_folder(tmp_path, TASK).path == tmp_path / "tasks" / "0_0"
    assert PERSISTENT.persistent
