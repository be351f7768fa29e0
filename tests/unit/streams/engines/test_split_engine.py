"""Engines of tasks with stores on disk and in memory: each store is where it belongs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb
import pytest

from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.engines.split_engine import SplitEngine
from kafka_groups.streams.errors import InvalidStateStoreError, StateDiskError
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.types import TopicPartition
from tests.support.asked_engines import Asked

PLACE = TopicPartition("t", 0)


class Parts:
    """An engine with its two parts."""

    def __init__(self, folder: Path) -> None:
        self.disk, self.memory = LmdbEngine(folder), SharedEngine()
        self.both = SplitEngine(self.disk, self.memory, ["kept"])
        self.both.set_status(EngineStatus.ACTIVE)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    made = Parts(tmp_path)
    yield made
    made.both.close()


@pytest.mark.parametrize("is_load", [False, True])
def test_tables_and_notes_are_where_their_store_is_and_positions_on_disk(parts: Parts, is_load: bool) -> None:
    change = parts.both.load if is_load else parts.both.commit
    row = {b"k": b"v"}
    change({"kept@1": row, "kept": row, "lost@2": row}, {PLACE: 3}, {"kept#time": b"1", "lost#time": b"2"})
    assert (set(parts.disk.tables("")), set(parts.memory.tables(""))) == ({"kept", "kept@1"}, {"lost@2"})
    assert (dict(parts.disk.notes), dict(parts.memory.notes)) == ({"kept#time": b"1"}, {"lost#time": b"2"})
    assert parts.both.notes == {"kept#time": b"1", "lost#time": b"2"}
    assert parts.both.positions == parts.disk.positions == {PLACE: 3}
    assert not parts.memory.positions
    assert (set(parts.both.tables("kept")), parts.both.tables("lost@")) == ({"kept", "kept@1"}, ["lost@2"])
    for name in ("kept@1", "kept", "lost@2"):
        assert parts.both.table(name).get(b"k") == b"v"
    assert (parts.both.count("kept"), parts.both.count("lost")) == (2, 1)
    assert Asked(parts.both, "kept").table("kept").get(b"k") == b"v"
    assert Asked(parts.both, "lost").table("lost@2").get(b"k") == b"v"
    change({"kept@1": None, "lost@2": None})
    assert parts.both.tables("") == ["kept"]


@pytest.mark.parametrize("is_load", [False, True])
def test_notes_about_the_task_are_with_each_of_its_stores(parts: Parts, is_load: bool) -> None:
    change = parts.both.load if is_load else parts.both.commit
    change({}, notes={"#input-0-words": b"1"})
    assert dict(parts.disk.notes) == dict(parts.memory.notes) == {"#input-0-words": b"1"}


def test_what_the_disk_refuses_is_not_in_memory_either(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: Any) -> None:
        raise lmdb.DiskError("No space left on device")

    with monkeypatch.context() as faults:
        faults.setattr(LmdbEngine, "_write", full)
        with pytest.raises(StateDiskError):
            parts.both.commit({"kept": {b"k": b"v"}, "lost": {b"k": b"v"}}, {PLACE: 3})
    assert parts.both.tables("") == []
    assert not parts.both.positions


def test_both_parts_have_the_status_and_end_together(parts: Parts) -> None:
    parts.both.commit({"kept": {b"k": b"v"}, "lost": {b"k": b"v"}})
    readers = [(Asked(parts.both, name), name) for name in ("kept", "lost")]
    parts.both.set_status(EngineStatus.STANDBY)
    assert [each.is_open for each in (parts.both, parts.memory)] == [True, True]
    for reader, name in readers:
        with pytest.raises(InvalidStateStoreError):
            reader.table(name).get(b"k")
    parts.both.set_status(EngineStatus.ACTIVE)
    for reader, name in readers:
        assert reader.table(name).get(b"k") == b"v"
    parts.both.close()
    assert [each.is_open for each in (parts.both, parts.memory)] == [False, False]
    for reader, name in readers:
        with pytest.raises(InvalidStateStoreError):
            reader.table(name).get(b"k")
