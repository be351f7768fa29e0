"""Files of a task that another process has open: the next owner waits, and then continues in a copy."""

import threading
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.streams.engines.generation_copy import GenerationCopy
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER, DiskEngine
from kafka_groups.streams.errors import StateDiskError
from tests.support.kept_states import CHANGELOG, PERSISTENT, TASK, Kept
from tests.unit.streams.engines.openings import (
    PATIENCE_MS,
    WINDOWS,
    garbled,
    has_all,
    is_fresh,
    opened_in_time,
    told,
)


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
