"""Openings since the last commit, as LMDB's file tells them without being opened."""

from pathlib import Path

import pytest

from kafka_groups.streams.engines.commit_counts import counted_since_commit, last_transaction
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.marks import Mark

MARK = Mark(boot_id="b", stores={}, openings=2, transaction=3)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data.mdb"


def test_each_commit_counts_as_lmdb_counts_it(data: Path) -> None:
    engine = LmdbEngine(data.parent)
    for number in range(5):
        assert last_transaction(data) == engine._env.info()["last_txnid"]
        engine.commit({"s": {b"%d" % number: bytes(10_000)}})
    last = last_transaction(data)
    assert last >= 5
    engine.close()
    LmdbEngine(data.parent).close()
    assert last_transaction(data) == last, "an opening is not a commit"


@pytest.mark.parametrize("content", [None, b"", b"short", b"garbage " * 4_096])
def test_files_that_are_not_lmdbs_have_no_commit(data: Path, content: bytes | None) -> None:
    if content is not None:
        data.write_bytes(content)
    assert last_transaction(data) == 0


def test_a_format_that_is_not_known_has_no_commit(data: Path) -> None:
    engine = LmdbEngine(data.parent)
    engine.commit({"s": {b"k": b"v"}})
    engine.close()
    content = bytearray(data.read_bytes())
    assert content[20:24] == (1).to_bytes(4, "little"), "the version"
    content[20] = 2
    data.write_bytes(content)
    assert last_transaction(data) == 0


@pytest.mark.parametrize(("last", "openings"), [(2, 2), (3, 2), (4, 0)])
def test_openings_count_from_the_last_commit(
    data: Path, monkeypatch: pytest.MonkeyPatch, last: int, openings: int
) -> None:
    monkeypatch.setattr("kafka_groups.streams.engines.commit_counts.last_transaction", lambda _: last)
    counted = counted_since_commit(MARK, data)
    assert (counted.openings, counted.transaction) == (openings, max(last, 3))
