"""Opening the state of a task: what may be opened is, what must not be is wiped unopened, and nobody's files are."""

import logging
from pathlib import Path
from typing import Any

import lmdb
import pytest

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER, DiskEngine
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.engines.split_engine import SplitEngine
from kafka_groups.streams.errors import StateDiskError, StateFilesError
from kafka_groups.streams.state.stores import StoreDefinition
from tests.support.kept_states import BOOT, CHANGELOG, PERSISTENT, TASK, Kept
from tests.unit.streams.engines.openings import (
    UNLOGGED,
    WINDOWS,
    garbled,
    has_all,
    is_fresh,
    rows,
    told,
)

IN_MEMORY = stores.key_value("memory", serdes.string, serdes.string, persistent=False)


# ------------------------------------------------------------------------------------------------- what may be opened


@pytest.mark.parametrize("boot", [BOOT, "boot 2"])
def test_files_that_were_closed_are_opened_in_any_boot(kept: Kept, caplog: pytest.LogCaptureFixture, boot: str) -> None:
    kept.committed().close()
    assert kept.mark()["is_clean"]
    assert kept.mark()["positions"] == {"app-counts-changelog-0": 7}
    engine = kept.opened(boot=boot)
    assert has_all(engine)
    assert not kept.mark()["is_clean"]
    assert kept.mark()["boot_id"] == boot
    engine.close()
    assert told(caplog) == []


def test_files_of_a_process_that_was_killed_are_opened_in_the_same_boot(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):  # each commits, so that none of them counts as ended by the files
        kept.kill(kept.committed())
    engine = kept.opened()
    assert has_all(engine)
    assert kept.numbers() == [1]
    assert told(caplog) == []
    engine.close()


def test_a_store_that_is_new_in_its_task_is_no_reason_to_wipe(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.committed().close()
    kept.opened((PERSISTENT, UNLOGGED)).close()
    engine = kept.opened()
    assert has_all(engine)
    assert set(kept.mark()["stores"]) == {"counts", "unlogged"}
    engine.close()
    assert told(caplog) == []


def test_a_task_without_persistent_stores_has_no_files(kept: Kept) -> None:
    engine = kept.engines().open(TASK, [IN_MEMORY])
    assert isinstance(engine, SharedEngine)
    assert not kept.folder.exists()


def test_stores_of_both_kinds_are_in_two_engines(kept: Kept) -> None:
    for expected in (None, b"v"):
        engine = kept.engines().open(TASK, [PERSISTENT, IN_MEMORY])
        assert isinstance(engine, SplitEngine)
        assert engine.table("counts").get(b"k") == expected
        assert engine.table("memory").get(b"k") is None
        engine.commit({"counts": {b"k": b"v"}, "memory": {b"k": b"v"}})
        engine.close()


# ----------------------------------------------------------------------------------------- what must not be opened


@pytest.mark.parametrize(
    "case",
    [
        ({}, "boot 2", PERSISTENT, "they were open when the machine stopped"),
        ({"is_damaged": True}, BOOT, PERSISTENT, "was ended by damage in them"),
        ({"is_damaged": True, "is_clean": True}, BOOT, PERSISTENT, "was ended by damage in them"),
        ({"openings": 2}, BOOT, PERSISTENT, "they were opened 2 times without a commit"),
        ({"format": 2, "is_clean": True}, BOOT, PERSISTENT, "they have format 2 of lmdb"),
        ({"engine": "rocksdb", "is_clean": True}, BOOT, PERSISTENT, "they have format 1 of rocksdb"),
        ({"is_clean": True}, BOOT, WINDOWS, "store 'counts' was a store of another kind: KeyValue. Now it is: Win"),
        (
            {"is_clean": True, "stores": {"counts": "Window, segments of 60000 ms"}},
            BOOT,
            WINDOWS,
            "Window, segments of 60000 ms. Now it is: Window, segments of 7200000 ms",
        ),
    ],
)
def test_files_that_must_not_be_opened_are_wiped_with_one_warning(
    kept: Kept,
    caplog: pytest.LogCaptureFixture,
    opened_files: list[set[str]],
    case: tuple[dict[str, object], str, StoreDefinition, str],
) -> None:
    mark, boot, defined, why = case
    kept.kill(kept.committed())
    kept.change_mark(mark)
    opened_files.clear()
    engine = kept.opened([defined], boot)
    assert opened_files == [set()], "no engine has seen the files"
    assert is_fresh(engine)
    (warning,) = told(caplog)
    assert f"The store files of task {TASK} in {kept.task} are deleted, because" in warning
    assert why in warning
    assert "The stores (counts) are restored from the beginning" in warning
    assert told(caplog, logging.ERROR) == []
    assert (kept.mark()["openings"], kept.mark()["is_damaged"]) == (1, False)
    engine.close()


def test_the_third_opening_without_a_commit_wipes(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.committed().close()
    for _ in range(2):
        engine = kept.opened()
        assert has_all(engine)
        kept.kill(engine)
    assert told(caplog) == []
    engine = kept.opened()
    assert is_fresh(engine)
    assert len(told(caplog)) == 1
    engine.close()


def test_a_commit_or_a_clean_close_begins_the_count_of_openings_anew(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.committed().close()
    for _ in range(3):
        kept.kill(kept.opened())
        kept.kill(kept.committed())
        kept.kill(kept.opened())
        kept.opened().close()
    engine = kept.opened()
    assert has_all(engine)
    assert told(caplog) == []
    engine.close()


def test_kills_after_a_commit_before_anything_else_are_no_openings_without_a_commit(
    kept: Kept, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LMDB's file tells of the commit: the process has no time to note it."""
    kept.committed().close()
    with monkeypatch.context() as patch:
        patch.setattr(Generation, "note", lambda *_args, **_changes: None)
        for number in range(8, 13):
            engine = kept.opened()
            engine.commit({"counts": {b"k": b"v"}}, {CHANGELOG: number})
            kept.kill(engine)
    engine = kept.opened()
    assert (rows(engine), engine.positions) == ([(b"k", b"v")], {CHANGELOG: 12})
    assert told(caplog) == []
    engine.close()


@pytest.mark.parametrize("text", [None, "", '{"boot_id": ', '{"boot_id": "b", "stores": []}', '{"unknown": 1}'])
def test_half_a_folder_and_an_unreadable_mark_are_wiped(
    kept: Kept, caplog: pytest.LogCaptureFixture, opened_files: list[set[str]], text: str | None
) -> None:
    kept.committed().close()
    if text is None:
        (kept.task / "1" / "mark.json").unlink()
    else:
        kept.write_mark(text)
    opened_files.clear()
    engine = kept.opened()
    assert opened_files == [set()]
    assert is_fresh(engine)
    (warning,) = told(caplog)
    assert "are deleted, because their mark is missing or cannot be read" in warning
    engine.close()


def test_a_folder_that_somebody_died_making_is_no_reason_to_warn(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    (kept.task / "1").mkdir(parents=True)
    engine = kept.opened()
    assert is_fresh(engine)
    assert kept.numbers() == [2]
    assert told(caplog) == []
    engine.close()


def test_a_copy_that_somebody_died_making_is_deleted_and_what_it_was_made_of_is_opened(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.committed().close()
    (kept.task / "2" / DATA_FOLDER).mkdir(parents=True)
    (kept.task / "2" / DATA_FOLDER / "data.mdb").write_bytes(b"half")
    engine = kept.opened()
    assert has_all(engine)
    assert kept.numbers() == [1]
    assert told(caplog) == []
    engine.close()


def with_garbled_pages(path: Path) -> None:
    """Damage everything but the first pages, which are all that is read while the files are opened."""
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))


@pytest.mark.parametrize("damage", [garbled, with_garbled_pages])
def test_damage_that_is_found_at_the_opening_wipes(kept: Kept, caplog: pytest.LogCaptureFixture, damage: Any) -> None:
    kept.committed().close()
    damage(kept.task / "1" / DATA_FOLDER / "data.mdb")
    engine = kept.opened()
    assert is_fresh(engine)
    (warning,) = told(caplog)
    assert f"because the store files in {kept.task / '1' / DATA_FOLDER} are damaged: " in warning
    assert kept.numbers() == [1]
    engine.commit({"counts": {b"k": b"v"}}, {CHANGELOG: 7})
    assert has_all(engine)
    engine.close()


def test_a_wipe_of_stores_without_a_changelog_is_an_error_that_says_so(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.kill(kept.committed((PERSISTENT, UNLOGGED)))
    kept.opened((PERSISTENT, UNLOGGED), "boot 2").close()
    assert told(caplog, logging.ERROR) == [f"All rows of unlogged in task {TASK} are lost: there is no changelog."]
    assert len(told(caplog)) == 1


def test_a_wipe_on_request_leaves_a_fresh_task(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.committed().close()
    kept.engines().wipe(TASK)
    kept.engines().wipe(TASK)
    engine = kept.opened()
    assert is_fresh(engine)
    assert told(caplog) == []
    engine.close()


# ------------------------------------------------------------------------------------------------------------ bad disks


@pytest.mark.parametrize("failing", ["fsync", "mkdir", "lmdb"])
def test_an_opening_that_the_disk_refuses_is_told_and_may_be_repeated(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_args: object, **_settings: object) -> None:
        raise lmdb.DiskError("No space left on device") if failing == "lmdb" else OSError(28, "No space left on device")

    engines = kept.engines()
    with monkeypatch.context() as faults:
        faults.setattr({"fsync": "os.fsync", "mkdir": "pathlib.Path.mkdir", "lmdb": "lmdb.open"}[failing], full)
        with pytest.raises(StateDiskError, match="No space left on device") as caught:
            engines.open(TASK, [PERSISTENT])
    assert str(kept.task) in str(caught.value)
    engine = engines.open(TASK, [PERSISTENT])
    assert isinstance(engine, DiskEngine), "this process does not have the files of the attempt before"
    engine.commit({"counts": {b"k": b"v"}}, {CHANGELOG: 7})
    engine.close()
    with monkeypatch.context() as faults:
        if failing != "mkdir":
            faults.setattr("os.fsync" if failing == "fsync" else "lmdb.open", full)
            with pytest.raises(StateFilesError, match="No space left on device"):
                engines.open(TASK, [PERSISTENT])
    again = engines.open(TASK, [PERSISTENT])
    assert isinstance(again, DiskEngine)
    assert has_all(again)
    again.close()


def test_a_wipe_that_comes_too_late_leaves_the_files_to_their_owner(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.committed().close()
    owner = kept.opened()
    kept.engines().wipe(TASK)
    (warning,) = told(caplog)
    assert warning == f"The store files in {kept.task} are left alone: another process has opened them."
    owner.close()
    again = kept.opened()
    assert has_all(again)
    again.close()


def test_a_wipe_that_the_disk_refuses_is_told(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.committed().close()

    def refused(*_args: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(StateDiskError, match=r"Read-only file system\. Give a state\.dir that this user may write to"):
        kept.engines().wipe(TASK)


def test_dead_readers_are_forgotten_every_minute(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[LmdbEngine] = []
    forget = LmdbEngine.forget_dead_readers

    def noted(engine: LmdbEngine) -> None:
        looked.append(engine)
        forget(engine)

    monkeypatch.setattr(LmdbEngine, "forget_dead_readers", noted)
    engines = kept.engines()
    engine = engines.open(TASK, [PERSISTENT])
    assert engine is not None
    for passed_ms in (59_999, 1, 59_999, 1):
        kept.clock.advance(passed_ms)
        engines.tidy()
    assert looked == [engine, engine]
    engine.close()
    kept.clock.advance(60_000)
    engines.tidy()  # a closed one has none
