"""Marks beside store files: they are whole, or there is none."""

import os
from pathlib import Path

import pytest

from kafka_groups.streams.engines.marks import Mark, positions_text, read_json, read_mark, write_json, write_mark
from kafka_groups.types import TopicPartition

MARK = Mark(boot_id="b", stores={"s": "KeyValue"}, is_clean=True, openings=2, positions={"t-0": 3}, is_damaged=True)


def test_a_mark_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_mark(tmp_path, MARK)
    assert read_mark(tmp_path) == MARK
    assert [each.name for each in tmp_path.iterdir()] == ["mark.json"], "nothing unfinished is left"


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"boot_id": "b", "sto',
        "[]",
        "null",
        "\0\0\0\0",
        '{"stores": {}}',
        '{"boot_id": "b", "stores": {}, "unknown": 1}',
        '{"boot_id": 1, "stores": {}}',
        '{"boot_id": "b", "stores": []}',
        '{"boot_id": "b", "stores": {}, "openings": "2"}',
        '{"boot_id": "b", "stores": {}, "is_clean": "no"}',
        '{"boot_id": "b", "stores": {}, "positions": 3}',
    ],
)
def test_a_mark_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "mark.json").write_text(text, encoding="utf-8")
    assert read_mark(tmp_path) is None


def test_a_mark_that_is_not_text_is_none(tmp_path: Path) -> None:
    assert read_mark(tmp_path) is None
    (tmp_path / "mark.json").write_bytes(b"\xff\xfe{}")
    assert read_mark(tmp_path) is None


def test_an_error_of_the_disk_is_not_taken_for_a_missing_mark(tmp_path: Path) -> None:
    (tmp_path / "mark.json").mkdir()
    with pytest.raises(IsADirectoryError):
        read_mark(tmp_path)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_mark_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    write_mark(tmp_path, MARK)

    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if failing == "fsync" else Path, failing, full)
    with pytest.raises(OSError, match="No space left"):
        write_mark(tmp_path, Mark(boot_id="c", stores={}))
    assert read_mark(tmp_path) == MARK


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_folder_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(opened: int) -> None:
        calls.append("sync folder" if Path(f"/dev/fd/{opened}").is_dir() else "sync file")
        fsync(opened)

    def replaced(path: Path, target: Path) -> Path:
        calls.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_json(tmp_path / "a.json", {"a": 1})
    assert calls == ["sync file", "rename", "sync folder"]
    assert read_json(tmp_path / "a.json") == {"a": 1}


def test_positions_are_named_by_topic_and_partition() -> None:
    assert positions_text({TopicPartition("a-b", 0): 5, TopicPartition("c", 12): 0}) == {"a-b-0": 5, "c-12": 0}
