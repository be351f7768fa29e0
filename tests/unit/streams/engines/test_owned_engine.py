"""Engines whose generation a process owns: what their marks say while they are open and afterwards."""

import os
from pathlib import Path
from typing import Any

import lmdb
import pytest

from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.errors import CorruptedStateError
from tests.support.kept_states import BOOT, CHANGELOG, Kept


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "app-mine")


def full(*_args: object, **_settings: object) -> Any:
    raise OSError(28, "No space left on device")


def test_the_mark_says_that_files_are_open_until_they_are_closed(kept: Kept) -> None:
    engine = kept.opened()
    mark = kept.mark()
    assert mark.pop("owner")
    assert mark == {
        "boot_id": BOOT,
        "engine": "lmdb",
        "format": 1,
        "is_clean": False,
        "is_compacting": False,
        "is_damaged": False,
        "openings": 1,
        "positions": {},
        "stores": {"counts": "KeyValue"},
        "transaction": 0,
    }
    engine.commit({}, {CHANGELOG: 5})
    assert not kept.mark()["is_clean"]
    engine.commit({}, {CHANGELOG: 6})
    engine.close()
    assert (kept.mark()["is_clean"], kept.mark()["positions"]) == (True, {"app-counts-changelog-0": 6})


def test_a_commit_of_nothing_new_does_not_count(kept: Kept) -> None:
    engine = kept.opened()
    engine.commit({}, {CHANGELOG: 5}, {"#input-0-words": b"1"})
    engine.close()
    again = kept.opened()
    last = again._env.info()["last_txnid"]
    again.commit({"counts": {}}, {CHANGELOG: 5}, {"#input-0-words": b"1"})
    assert again._env.info()["last_txnid"] == last
    again.commit({}, notes={"#input-0-words": b"2"})
    assert again._env.info()["last_txnid"] == last + 1


def test_files_are_on_the_disk_before_their_mark_says_so(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = kept.committed()
    close = LmdbEngine.close
    seen: list[bool] = []

    def closed(each: LmdbEngine) -> None:
        close(each)
        seen.append(kept.mark()["is_clean"])

    monkeypatch.setattr(LmdbEngine, "close", closed)
    engine.close()
    engine.close()
    assert seen == [False]
    assert kept.mark()["is_clean"]


def test_files_that_are_closed_may_be_taken_by_others(kept: Kept) -> None:
    engine = kept.committed()
    engine.close()
    with kept.owned_elsewhere():
        engine.close()


@pytest.mark.parametrize("failing", ["sync", "mark"])
def test_files_that_cannot_be_closed_have_no_clean_mark_and_are_let_go(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failing: str
) -> None:
    engine = kept.committed()
    if failing == "sync":
        env = engine._env
        engine._env = Refusing(env)
    else:
        monkeypatch.setattr(os, "fsync", full)
    engine.close()
    monkeypatch.undo()
    assert not engine.is_open
    assert not kept.mark()["is_clean"]
    assert "No space left on device" in caplog.text
    kept.opened().close()


class Refusing:
    """An environment that cannot be written to the disk."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def sync(self, _is_forced: bool) -> None:
        raise lmdb.DiskError("No space left on device")

    def close(self) -> None:
        self._env.close()


def test_damage_that_was_found_is_in_the_mark(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = kept.committed()

    def damaged(*_args: object) -> None:
        raise lmdb.CorruptedError("page 7")

    monkeypatch.setattr(LmdbEngine, "_write", damaged)
    with pytest.raises(CorruptedStateError, match="page 7"):
        engine.commit({"counts": {b"k": b"w"}})
    engine.close()
    assert (kept.mark()["is_clean"], kept.mark()["is_damaged"]) == (False, True)
