"""Environments of LMDB, read without changes."""

import os
import struct
from pathlib import Path

import pytest

from kafka_groups.streams.engines import page_reader
from kafka_groups.streams.engines.page_reader import StoreSize, found_state
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError
from tests.support.kept_state import CHANGELOG, ROWS, lmdb_folder, running_application, written

ENTRIES = struct.Struct("@Q")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The environment of a task that was closed."""
    written(tmp_path)
    return lmdb_folder(tmp_path)


def replace(folder: Path, old: bytes, new: bytes) -> None:
    """Damage a file: replace all places of some bytes."""
    data = (folder / "data.mdb").read_bytes()
    assert old in data
    (folder / "data.mdb").write_bytes(data.replace(old, new))


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """The time of the last change and the content of each file."""
    return {each.name: (each.stat().st_mtime_ns, each.read_bytes()) for each in folder.iterdir()}


@pytest.mark.parametrize("check", [False, True])
def test_segments_of_a_store_are_added(folder: Path, check: bool) -> None:
    found = found_state(folder, check=check)
    assert found.positions == {CHANGELOG: 7}
    assert found.file_bytes == (folder / "data.mdb").stat().st_size
    assert {name: size.rows for name, size in found.stores.items()} == {"counts": len(ROWS), "visits": 3}
    assert found.stores["visits"] == StoreSize(rows=3, pages_bytes=2 * os.sysconf("SC_PAGE_SIZE"))
    assert 5_000 * 28 < found.stores["counts"].pages_bytes < found.file_bytes


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("has_list", [False, True])
def test_nothing_is_written_if_nobody_has_it_open(folder: Path, check: bool, has_list: bool) -> None:
    """LMDB's list of readers neither: the time of its last change says how long nobody has used the files."""
    if not has_list:
        (folder / "lock.mdb").unlink()
    before = files(folder)
    assert found_state(folder, check=check).stores["counts"].rows == len(ROWS)
    assert files(folder) == before


@pytest.mark.parametrize("is_damaged", [False, True])
def test_what_was_read_while_a_process_began_to_write_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_damaged: bool
) -> None:
    data, looks = folder / "data.mdb", list[bool]()
    good = data.read_bytes()
    if is_damaged:
        data.write_bytes(b"?" * len(good))

    def look(_folder: Path) -> bool:
        looks.append(bool(looks))
        data.write_bytes(good if looks[-1] else data.read_bytes())
        return looks[-1]

    monkeypatch.setattr(page_reader, "has_environment_open", look)
    before = files(folder)["lock.mdb"]
    assert found_state(folder, check=True).stores["counts"].rows == len(ROWS)
    assert looks == [False, True]
    assert files(folder)["lock.mdb"] != before


def test_nobody_reads_beside_a_writer_who_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_arguments: False)  # root may write to any file
    with running_application(tmp_path), pytest.raises(StateDiskError, match="run the command as the user"):
        found_state(lmdb_folder(tmp_path), check=False)


def test_a_file_that_is_not_there_is_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(StateDiskError):
        found_state(tmp_path / "missing", check=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [False, True])
def test_a_file_of_something_else_is_damaged(folder: Path, check: bool) -> None:
    (folder / "data.mdb").write_bytes(b"?" * 65_536)
    with pytest.raises(CorruptedStateError, match="not an LMDB file"):
        found_state(folder, check=check)


def test_a_lost_table_of_empty_keys_is_damage(folder: Path) -> None:
    replace(folder, b"#empty", b"#emptz")
    with pytest.raises(CorruptedStateError, match="they lack table '#empty'"):
        found_state(folder, check=False)


@pytest.mark.parametrize("part", [1 << 30, 1_000])
def test_rows_out_of_order_are_found_by_a_check(folder: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(page_reader, "_PART_BYTES", part)
    assert found_state(folder, check=True).stores["counts"].rows == len(ROWS)
    replace(folder, b"key04997", b"key00001")
    assert found_state(folder, check=False).stores["counts"].rows == len(ROWS)
    with pytest.raises(CorruptedStateError, match=r"the rows of table 'counts' are not in the order of their keys"):
        found_state(folder, check=True)


def test_rows_that_are_missing_are_found_by_a_check(folder: Path) -> None:
    replace(folder, ENTRIES.pack(len(ROWS) - 1), ENTRIES.pack(9_999))
    assert found_state(folder, check=False).stores["counts"].rows == 10_000
    with pytest.raises(CorruptedStateError, match="9,999 rows should be in table 'counts', and 5,000 were read"):
        found_state(folder, check=True)


def test_bytes_that_are_not_a_position_are_damage(folder: Path) -> None:
    replace(folder, b"shop-counts-changelog", b"shop-counts-changel\xff\xff")
    with pytest.raises(CorruptedStateError, match="can't decode"):
        found_state(folder, check=False)
