"""Files that are mostly free space are copied when they are opened."""

import threading
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.streams.engines.generation_copy import GenerationCopy
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER, DiskEngine
from kafka_groups.streams.errors import StateDiskError
from tests.support.conditions import wait_until
from tests.support.kept_states import BOOT, CHANGELOG, PERSISTENT, TASK, Kept
from tests.unit.streams.engines.openings import is_fresh, rows, told

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
