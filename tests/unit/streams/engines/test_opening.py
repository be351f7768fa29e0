"""Opening the state of a task: what may be opened is, what must not be is wiped unopened, and nobody's files are."""

import logging
import os
import shutil
import threading
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import Any

import lmdb
import pytest

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.engines import opening
from kafka_groups.streams.engines.generation_copy import GenerationCopy
from kafka_groups.streams.engines.generations import Generation, GenerationsFolder
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import Mark
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER, DiskEngine
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.engines.split_engine import SplitEngine
from kafka_groups.streams.errors import StateDiskError, StateFilesError
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.testing.clock import ManualClock
from tests.support.conditions import wait_until
from tests.support.kept_states import BOOT, CHANGELOG, PERSISTENT, TASK, Kept

IN_MEMORY = stores.key_value("memory", serdes.string, serdes.string, persistent=False)
UNLOGGED = stores.key_value("unlogged", serdes.string, serdes.string, persistent=True, changelog=False)
WINDOWS = stores.window(
    "counts",
    serdes.string,
    serdes.string,
    size=timedelta(hours=1),
    retention=timedelta(hours=4),
    persistent=True,
)
PATIENCE_MS = 1_000


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # slow, and no machine crashes here
    return Kept(tmp_path / "app-mine")


@pytest.fixture
def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The files that each engine has found in its folder."""
    found: list[set[str]] = []

    class Noting(DiskEngine):
        def __init__(self, generation: Generation) -> None:
            found.append({each.name for each in (generation.path / DATA_FOLDER).iterdir()})
            super().__init__(generation)

    monkeypatch.setattr(opening, "DiskEngine", Noting)
    return found


def rows(engine: LmdbEngine) -> list[tuple[bytes, bytes]]:
    return list(engine.table("counts").scan(b"", None))


def told(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [each.message for each in caplog.records if each.levelno == level]


def has_all(engine: LmdbEngine) -> bool:
    """It has what `Kept.committed` has committed."""
    return (rows(engine), engine.positions) == ([(b"k", b"v")], {CHANGELOG: 7})


def is_fresh(engine: LmdbEngine) -> bool:
    return (rows(engine), dict(engine.positions), dict(engine.notes)) == ([], {}, {})


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


def garbled(path: Path) -> None:
    path.write_bytes(b"garbage " * 4096)


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


# ------------------------------------------------------------------------------------------ files in use elsewhere


def opened_in_time(
    kept: Kept, engines: DiskEngines, defined: Collection[StoreDefinition] = (PERSISTENT,)
) -> LmdbEngine:
    """Ask until there is an engine, after the time that a former owner has."""
    found: list[Any] = [engines.open(TASK, defined)]
    kept.clock.advance(PATIENCE_MS)

    def has_opened() -> bool:
        found.append(engines.open(TASK, defined))
        return found[-1] is not None

    wait_until(has_opened)
    engine = found[-1]
    assert isinstance(engine, DiskEngine)
    return engine


def test_files_in_use_are_waited_for_and_then_copied(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.kill(kept.committed())
    with kept.owned_elsewhere() as used:
        before = {each: each.read_bytes() for each in used.rglob("*.*") if each.name != "lock.mdb"}
        engines = kept.engines()
        assert engines.open(TASK, [PERSISTENT]) is None
        kept.clock.advance(PATIENCE_MS - 1)
        assert engines.open(TASK, [PERSISTENT]) is None
        assert kept.numbers() == [1], "nothing is copied before the time is over"
        assert told(caplog) == []
        kept.clock.advance(1)
        engine = opened_in_time(kept, engines)
        assert has_all(engine)
        assert kept.numbers() == [1, 2]
        engine.commit({"counts": {b"k": b"w"}}, {CHANGELOG: 8})
        assert {each: each.read_bytes() for each in before} == before, "the older one is left alone"
        (warning,) = told(caplog)
        assert f"Another process still has the stores of task {TASK} open in {used}" in warning
        engine.close()
        again = kept.opened()
        assert again.positions == {CHANGELOG: 8}
        assert kept.numbers() == [1, 2], "it is still in use"
        again.close()
    kept.opened().close()
    assert kept.numbers() == [2]


def test_files_that_are_closed_in_time_are_opened_in_place(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    former = kept.committed()
    engines = kept.engines()
    assert engines.open(TASK, [PERSISTENT]) is None
    kept.clock.advance(PATIENCE_MS - 1)
    former.close()
    engine = engines.open(TASK, [PERSISTENT])
    assert isinstance(engine, DiskEngine)
    assert has_all(engine)
    assert kept.numbers() == [1]
    assert told(caplog) == []
    engine.close()


def test_an_owner_that_has_not_committed_yet_closes_its_files_in_time(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.committed().close()
    kept.kill(kept.opened())
    former = kept.opened()  # the second opening without a commit: this process has survived it
    engines = kept.engines()
    assert engines.open(TASK, [PERSISTENT]) is None
    former.close()
    engine = engines.open(TASK, [PERSISTENT])
    assert isinstance(engine, DiskEngine)
    assert has_all(engine)
    assert told(caplog) == []
    engine.close()


def test_files_in_use_are_copied_however_often_they_were_opened(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.kill(kept.committed())
    kept.change_mark({"openings": 2})
    with kept.owned_elsewhere():
        engine = opened_in_time(kept, kept.engines())
        assert has_all(engine)
        (warning,) = told(caplog)
        assert "continues in a copy" in warning
        engine.close()


def test_files_in_use_that_must_not_be_opened_are_left_alone(
    kept: Kept, caplog: pytest.LogCaptureFixture, opened_files: list[set[str]]
) -> None:
    kept.committed().close()
    opened_files.clear()
    with kept.owned_elsewhere() as used:
        before = {each: each.read_bytes() for each in used.rglob("*.*")}
        engines = kept.engines()
        assert engines.open(TASK, [WINDOWS]) is None
        engine = opened_in_time(kept, engines, [WINDOWS])
        assert opened_files == [set()]
        assert is_fresh(engine)
        assert kept.numbers() == [1, 2]
        assert {each: each.read_bytes() for each in before} == before
        (warning,) = told(caplog)
        assert "are left alone, because store 'counts' was a store of another kind" in warning
        engine.close()


def test_files_in_use_that_are_damaged_are_left_alone(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.committed().close()
    garbled(kept.task / "1" / DATA_FOLDER / "data.mdb")
    with kept.owned_elsewhere():
        engine = opened_in_time(kept, kept.engines())
        assert is_fresh(engine)
        assert (kept.task / "1").exists()
        assert engine._path.parts[-2] != "1"
        warnings = told(caplog)
        assert "continues in a copy" in warnings[0]
        assert "are left alone, because the store files" in warnings[1]
        engine.close()


def test_a_process_that_was_stopped_before_it_made_any_files_is_not_waited_for_longer(kept: Kept) -> None:
    kept.opened().close()
    (kept.task / "1" / DATA_FOLDER / "data.mdb").unlink()
    with kept.owned_elsewhere():
        engine = opened_in_time(kept, kept.engines())
        assert is_fresh(engine)
        engine.close()


def test_a_copy_that_fails_is_told_and_made_again(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.kill(kept.committed())
    copy = LmdbEngine.copy

    def full(_source: Path, target: Path) -> None:
        (target / "data.mdb").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with kept.owned_elsewhere():
        engines = kept.engines()
        monkeypatch.setattr(LmdbEngine, "copy", staticmethod(full))
        with pytest.raises(StateDiskError, match="No space left on device"):
            opened_in_time(kept, engines)
        assert kept.numbers() == [1], "half a copy takes no space"
        monkeypatch.setattr(LmdbEngine, "copy", staticmethod(copy))
        engine = opened_in_time(kept, engines)
        assert has_all(engine)
        engine.close()


def test_the_worker_goes_on_while_files_are_copied(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.kill(kept.committed())
    begun, may_end = threading.Event(), threading.Event()
    copy = LmdbEngine.copy

    def slow(source: Path, target: Path) -> None:
        begun.set()
        assert may_end.wait(15)
        copy(source, target)

    monkeypatch.setattr(LmdbEngine, "copy", staticmethod(slow))
    with kept.owned_elsewhere():
        engines = kept.engines()
        engines.open(TASK, [PERSISTENT])
        kept.clock.advance(PATIENCE_MS)
        assert engines.open(TASK, [PERSISTENT]) is None
        assert begun.wait(15)
        assert engines.open(TASK, [PERSISTENT]) is None
        may_end.set()
        engine = opened_in_time(kept, engines)
        assert has_all(engine)
        engine.close()


@pytest.mark.parametrize("is_finished", [False, True])
def test_an_opening_that_is_given_up_leaves_no_copy(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, is_finished: bool
) -> None:
    kept.kill(kept.committed())
    may_end, ended = threading.Event(), threading.Event()
    copy, main = LmdbEngine.copy, GenerationCopy._main

    def slow(source: Path, target: Path) -> None:
        assert may_end.wait(15)
        copy(source, target)

    def followed(copying: Any) -> None:
        main(copying)
        ended.set()

    monkeypatch.setattr(LmdbEngine, "copy", staticmethod(slow))
    monkeypatch.setattr(GenerationCopy, "_main", followed)
    with kept.owned_elsewhere():
        engines = kept.engines()
        engines.open(TASK, [PERSISTENT])
        kept.clock.advance(PATIENCE_MS)
        engines.open(TASK, [PERSISTENT])
        assert kept.numbers() == [1, 2]
        if is_finished:
            may_end.set()
            assert ended.wait(15)
        engines.give_up(TASK)
        may_end.set()
        assert ended.wait(15)
        assert kept.numbers() == [1]
        assert engines.open(TASK, [PERSISTENT]) is None, "the next one waits anew"
        engines.give_up(TASK)
        engines.give_up(TASK)


def test_two_workers_do_not_share_a_generation(kept: Kept) -> None:
    first = kept.opened()
    second = kept.engines()
    assert second.open(TASK, [PERSISTENT]) is None
    first.close()
    engine = second.open(TASK, [PERSISTENT])
    assert engine is not None
    assert kept.engines().open(TASK, [PERSISTENT]) is None
    engine.close()


# ----------------------------------------------------------------------------------- owners that are late


class Late:
    """A worker that stands still at a step of its opening, while another one gets the task."""

    def __init__(self, kept: Kept, patch: pytest.MonkeyPatch, owner: str, step: str) -> None:
        self.kept, self.owner = kept, owner
        self.has_stood = False
        target, name = STEPS[step]
        called = getattr(target, name)

        def stopped(*args: Any) -> Any:
            if not self.has_stood:
                self.has_stood = True
                self.meanwhile()
            return called(*args)

        patch.setattr(target, name, staticmethod(stopped) if name == "copy" else stopped)
        self.engines = kept.engines(clock=ManualClock())

    def meanwhile(self) -> None:
        """The former owner is stopped or has ended. The next one gets the task, commits and ends."""
        kept = self.kept
        if self.owner == "goes on":
            engine = opened_in_time(kept, kept.engines())
        else:
            self.former.disown()
            if self.owner == "wipes":
                kept.engines().wipe(TASK)
            engine = kept.opened()
        engine.commit({"counts": {b"k": b"new"}}, {CHANGELOG: 9})
        engine.close()

    def open(self) -> list[int]:
        """Open the task as the late worker does, and return the generations before it has continued."""
        self.former = Generation(self.kept.task / "1")
        assert self.former.own()
        found: list[Any] = [self.engines.open(TASK, [PERSISTENT])]
        clock: Any = self.engines._clock
        clock.advance(PATIENCE_MS)

        def has_looked() -> bool:
            found.append(self.engines.open(TASK, [PERSISTENT]))
            return self.has_stood and found[-1] is not None

        wait_until(has_looked)
        self.engine = found[-1]
        self.former.disown()
        return self.kept.numbers()


STEPS: dict[str, tuple[Any, str]] = {
    "before it looks at the files": (LmdbEngine, "has_written"),
    "before it makes a generation": (GenerationsFolder, "prepare"),
    "before it copies": (LmdbEngine, "copy"),
    "before it writes a mark": (Generation, "write"),
    "before it publishes": (GenerationsFolder, "publish"),
    "before it renames": (Path, "rename"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("owner", [pytest.param("goes on", marks=pytest.mark.slow), "opens in place", "wipes"])
def test_a_worker_that_is_late_makes_no_generation_of_what_the_owner_has_left_behind(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, owner: str, step: str
) -> None:
    kept.kill(kept.committed())
    with monkeypatch.context() as patch:
        late = Late(kept, patch, owner, step)
        late.open()
    assert late.has_stood
    assert rows(late.engine) == [(b"k", b"new")], "it has what the owner has committed"
    assert late.engine.positions == {CHANGELOG: 9}
    late.engine.close()
    again = kept.opened()
    assert (rows(again), again.positions) == ([(b"k", b"new")], {CHANGELOG: 9})
    again.close()


def test_a_worker_that_is_late_waits_anew_for_the_next_owner(kept: Kept) -> None:
    kept.kill(kept.committed())
    late, clock = kept.engines(clock=ManualClock()), ManualClock()
    late._clock = clock
    with kept.owned_elsewhere():
        assert late.open(TASK, [PERSISTENT]) is None
    owner = kept.opened()
    clock.advance(PATIENCE_MS)
    assert late.open(TASK, [PERSISTENT]) is None
    assert kept.numbers() == [1]
    clock.advance(PATIENCE_MS - 1)
    assert late.open(TASK, [PERSISTENT]) is None
    assert kept.numbers() == [1], "the owner has as much time to close them as any other"
    owner.close()
    late.give_up(TASK)


@pytest.fixture
def copied_without_lmdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process cannot have an environment open twice, so one that stands for two of them copies the file."""

    def copy(source: Path, target: Path) -> None:
        shutil.copy(source / "data.mdb", target)

    monkeypatch.setattr(LmdbEngine, "copy", staticmethod(copy))


@pytest.mark.usefixtures("copied_without_lmdb")
def test_a_worker_that_is_late_does_not_publish_what_an_owner_who_has_come_since_goes_on_with(
    kept: Kept,
) -> None:
    kept.kill(kept.committed())
    former = Generation(kept.task / "1")
    assert former.own()
    owners: list[DiskEngine] = []
    prepare = GenerationsFolder.prepare

    def stopped(folder: GenerationsFolder, source: Generation | None = None) -> Generation:
        former.disown()
        owners.append(kept.opened())
        return prepare(folder, source)

    late = kept.engines()
    late.open(TASK, [PERSISTENT])
    kept.clock.advance(PATIENCE_MS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GenerationsFolder, "prepare", stopped)
        assert late.open(TASK, [PERSISTENT]) is None
    copying = late._openings[TASK]._copy
    assert copying is not None
    wait_until(lambda: not copying.is_alive)
    owners[0].commit({"counts": {b"k": b"new"}}, {CHANGELOG: 9})
    assert late.open(TASK, [PERSISTENT]) is None
    assert kept.numbers() == [1]
    assert late.open(TASK, [PERSISTENT]) is None, "it waits for the owner"
    owners[0].close()
    engine = late.open(TASK, [PERSISTENT])
    assert isinstance(engine, DiskEngine)
    assert engine.positions == {CHANGELOG: 9}
    engine.close()


def test_a_copy_that_is_published_just_when_files_are_opened_in_place_counts(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.kill(kept.committed())
    drop = GenerationsFolder.drop_unfinished

    def late(folder: GenerationsFolder) -> None:
        monkeypatch.undo()
        source = folder.newest()
        made = folder.prepare(source)
        made.write(Mark(boot_id=BOOT, stores={"counts": "KeyValue"}))
        (made.path / DATA_FOLDER).mkdir()
        assert folder.publish(made, source)
        made.disown()
        drop(folder)

    monkeypatch.setattr(GenerationsFolder, "drop_unfinished", late)
    engines = kept.engines()
    assert engines.open(TASK, [PERSISTENT]) is None
    engine = engines.open(TASK, [PERSISTENT])
    assert isinstance(engine, DiskEngine)
    assert engine._generation.number == 2
    engine.close()


def test_a_worker_that_is_late_does_not_wipe_what_an_owner_has_begun_since(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.committed().close()
    owners: list[LmdbEngine] = []
    wipe = GenerationsFolder.wipe_until

    def stopped(folder: GenerationsFolder, last: Generation) -> None:
        monkeypatch.undo()
        owners.append(opened_in_time(kept, kept.engines(), [WINDOWS]))
        wipe(folder, last)

    monkeypatch.setattr(GenerationsFolder, "wipe_until", stopped)
    late = kept.engines()
    assert late.open(TASK, [WINDOWS]) is None
    assert kept.numbers() == [2]
    owners[0].commit({"counts@1": {b"k": b"new"}}, {CHANGELOG: 9})
    assert late.open(TASK, [WINDOWS]) is None, "it waits for the owner"
    owners[0].close()
    engine = late.open(TASK, [WINDOWS])
    assert isinstance(engine, DiskEngine)
    assert engine.positions == {CHANGELOG: 9}
    engine.close()


# ------------------------------------------------------------------------------------------------------- compact copies


ROWS = {b"%05d" % number: bytes(200) for number in range(2_000)}


def sparse(kept: Kept) -> int:
    """Leave files most of which are free. Return their size."""
    engine = kept.committed()
    engine.commit({"counts": ROWS, "counts@1": ROWS})
    engine.commit({"counts": dict.fromkeys(ROWS), "counts@1": None})
    engine.commit({"counts": {b"l": b"w"}}, {CHANGELOG: 9})
    engine.close()
    return size_of(kept, 1)


def size_of(kept: Kept, number: int) -> int:
    return (kept.task / str(number) / DATA_FOLDER / "data.mdb").stat().st_size


def opened_compact(kept: Kept, compacted_bytes: int) -> DiskEngine:
    engines = DiskEngines(kept.folder, BOOT, kept.clock, compacted_bytes=compacted_bytes)
    found: list[Any] = []

    def has_opened() -> bool:
        found.append(engines.open(TASK, [PERSISTENT]))
        return found[-1] is not None

    wait_until(has_opened)
    engine = found[-1]
    assert isinstance(engine, DiskEngine)
    return engine


def is_whole(engine: LmdbEngine) -> bool:
    return (rows(engine), engine.positions) == ([(b"k", b"v"), (b"l", b"w")], {CHANGELOG: 9})


def test_files_that_are_mostly_free_go_on_in_a_compact_copy(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    large = sparse(kept)
    kept.change_mark({"stores": {"counts": "KeyValue", "other": "KeyValue"}})
    engine = opened_compact(kept, 1 << 16)
    assert is_whole(engine)
    assert kept.numbers() == [2]
    assert size_of(kept, 2) < large / 10
    assert kept.mark(2)["stores"] == {"counts": "KeyValue", "other": "KeyValue"}
    engine.commit({}, {CHANGELOG: 10})
    engine.close()
    again = opened_compact(kept, 1 << 16)
    assert again.positions == {CHANGELOG: 10}
    assert kept.numbers() == [2], "they are small now"
    again.close()
    assert told(caplog) == []


def test_files_with_less_free_space_than_the_limit_or_than_half_are_opened_as_they_are(kept: Kept) -> None:
    large = sparse(kept)
    engine = opened_compact(kept, large)
    assert kept.numbers() == [1]
    engine.commit({"counts": ROWS})
    engine.close()
    opened_compact(kept, 1 << 16).close()
    assert kept.numbers() == [1], "half of it and more is used"


def test_the_task_waits_until_the_copy_is_made_and_nobody_else_opens_it(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse(kept)
    may_end, ended = threading.Event(), threading.Event()
    copy, main = LmdbEngine.copy, GenerationCopy._main

    def slow(source: Path, target: Path) -> None:
        assert may_end.wait(15)
        copy(source, target)

    def followed(copying: Any) -> None:
        main(copying)
        ended.set()

    monkeypatch.setattr(LmdbEngine, "copy", staticmethod(slow))
    monkeypatch.setattr(GenerationCopy, "_main", followed)
    engines = DiskEngines(kept.folder, BOOT, kept.clock, compacted_bytes=1 << 16)
    assert engines.open(TASK, [PERSISTENT]) is None
    assert kept.engines().open(TASK, [PERSISTENT]) is None
    engines.give_up(TASK)
    may_end.set()
    assert ended.wait(15)
    engine = kept.opened()
    assert is_whole(engine)
    assert kept.numbers() == [1]
    engine.close()


def test_a_disk_without_room_for_the_copy_is_told_and_the_files_are_opened_as_they_are(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sparse(kept)

    def full(source: Path, _target: Path) -> None:
        raise StateDiskError(f"No space left on device for {source}")

    with monkeypatch.context() as faults:
        faults.setattr(LmdbEngine, "copy", staticmethod(full))
        engine = opened_compact(kept, 1 << 16)
    assert is_whole(engine)
    assert kept.numbers() == [1]
    (warning,) = told(caplog)
    assert "stay as large as they are: No space left on device" in warning
    engine.close()


def test_damage_that_the_copy_finds_wipes(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    sparse(kept)
    copy = LmdbEngine.copy

    def damaged(source: Path, target: Path) -> None:
        (source / "data.mdb").write_bytes(b"garbage " * 4_096)
        copy(source, target)

    with pytest.MonkeyPatch.context() as faults:
        faults.setattr(LmdbEngine, "copy", staticmethod(damaged))
        engine = opened_compact(kept, 1 << 16)
    assert is_fresh(engine)
    (warning,) = told(caplog)
    assert "are deleted, because the store files in " in warning
    engine.close()


def test_a_process_that_is_killed_while_it_copies_is_no_reason_to_wipe(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be killed again before its next commit. The copy is not tried twice in a row."""
    sparse(kept)
    with monkeypatch.context() as faults:
        faults.setattr(LmdbEngine, "copy", staticmethod(lambda *_: None))
        engines = DiskEngines(kept.folder, BOOT, kept.clock, compacted_bytes=1 << 16)
        assert engines.open(TASK, [PERSISTENT]) is None
        copying = engines._openings[TASK]._copy
        assert copying is not None
        wait_until(lambda: not copying.is_alive)
        copying.source.disown()  # the process has ended
        copying._target.disown()
    for number in (1, 2):
        engine = opened_compact(kept, 1 << 16)
        assert is_whole(engine)
        assert kept.numbers() == [number]
        kept.kill(engine)
    assert told(caplog) == []


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
