"""The status of files, as another process reads it."""

from pathlib import Path

import pytest

from kafka_groups.streams.engines.status_file import StatusReader, StatusWriter
from kafka_groups.streams.state.engine import EngineStatus


def open_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def is_there(reader: StatusReader) -> bool:
    return reader.is_there


def test_a_reader_sees_each_status_and_counts_its_changes(tmp_path: Path) -> None:
    writer = StatusWriter(tmp_path)
    reader = StatusReader(tmp_path)
    assert reader.read() == (0, EngineStatus.RESTORING), "nothing was written yet"
    for number, status in enumerate([*EngineStatus, EngineStatus.ACTIVE], 1):
        writer.write(status)
        assert reader.read() == (number, status)
    writer.close()
    again = StatusWriter(tmp_path)
    again.write(EngineStatus.ACTIVE)
    assert reader.read()[0] == len(EngineStatus) + 2, "a later owner counts on"
    assert again.inode == reader.inode == (tmp_path / "status").stat().st_ino
    again.close()
    reader.close()


def test_a_file_that_was_replaced_is_another_one(tmp_path: Path) -> None:
    writer = StatusWriter(tmp_path)
    reader = StatusReader(tmp_path)
    assert is_there(reader)
    (tmp_path / "status").unlink()
    assert not is_there(reader)
    other = StatusWriter(tmp_path)
    assert not is_there(reader)
    assert other.inode != writer.inode
    for each in (writer, other, reader):
        each.close()


def test_there_may_be_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        StatusReader(tmp_path)


def test_a_closed_file_is_closed_once(tmp_path: Path) -> None:
    before = open_count()
    writer = StatusWriter(tmp_path)
    StatusReader(tmp_path).close()
    writer.close()
    assert open_count() == before
