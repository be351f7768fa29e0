"""Openings by workers that are late: what others have done in the meantime stays."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.streams.engines.generations import Generation, GenerationsFolder
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import Mark
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER, DiskEngine
from kafka_groups.testing.clock import ManualClock
from tests.support.conditions import wait_until
from tests.support.kept_states import BOOT, CHANGELOG, PERSISTENT, TASK, Kept
from tests.unit.streams.engines.openings import PATIENCE_MS, WINDOWS, opened_in_time, rows


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
