"""Parquet files are there as a whole or not at all, and each delivery has one."""

import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.sinks.parquet import ParquetSink
from kafka_groups.spark.sinks.storage import LocalStorage, MovingStorage, ObjectStorage, storage_of
from tests.support.spark.sink_batches import Batch, record_table


def files(path: Path) -> list[Path]:
    return sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())


def test_a_batch_is_a_file_with_all_columns(tmp_path: Path) -> None:
    sink: ParquetSink = pickle.loads(pickle.dumps(ParquetSink(str(tmp_path / "new" / "folder"))))
    table = record_table(range(10))
    sink(Batch(table))
    (file,) = (tmp_path / "new" / "folder").iterdir()
    assert pq.read_table(file).equals(table)


def test_a_delivery_has_one_file_and_a_redelivery_another(tmp_path: Path) -> None:
    sink = ParquetSink(str(tmp_path))
    sink(Batch(record_table([1, 2])))
    sink(Batch(record_table([2, 1])))
    assert len(files(tmp_path)) == 1
    sink(Batch(record_table([1, 2], delivery_count=2)))
    sink(Batch(record_table([1, 2], topic="u")))
    sink(Batch(record_table([1, 3])))
    assert len(files(tmp_path)) == 4


def test_the_name_is_of_the_delivery_also_when_the_transform_drops_columns(tmp_path: Path) -> None:
    sink = ParquetSink(str(tmp_path), transform=lambda table: table.select(["topic", "partition", "offset"]))
    sink(Batch(record_table([1])))
    sink(Batch(record_table([1], delivery_count=2)))
    assert len(files(tmp_path)) == 2


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    ParquetSink(str(tmp_path), transform=lambda table: table.slice(0, 0))(Batch(record_table([1])))
    ParquetSink(str(tmp_path), partition_by=["topic"])(Batch(record_table([])))
    assert files(tmp_path) == []


def test_columns_become_directories(tmp_path: Path) -> None:
    table = record_table(range(4)).append_column("kind", pa.array(["a/b", None, "a/b", "é"]))
    ParquetSink(str(tmp_path), partition_by=["partition", "kind"])(Batch(table))
    assert {file.parent.as_posix() for file in files(tmp_path)} == {
        "partition=0/kind=a%2Fb",
        "partition=0/kind=__HIVE_DEFAULT_PARTITION__",
        "partition=0/kind=é",
    }
    (of_two,) = (tmp_path / "partition=0" / "kind=a%2Fb").iterdir()
    read = pq.ParquetFile(of_two).read()
    assert read["offset"].to_pylist() == [0, 2]
    assert {"partition", "kind"}.isdisjoint(read.column_names)


@pytest.mark.parametrize(
    ("options", "table", "message"),
    [
        ({}, record_table([1]).drop_columns(["topic"]), "without topic"),
        ({"partition_by": ["origin"]}, record_table([1]), "no column origin"),
    ],
)
def test_missing_columns_are_refused(tmp_path: Path, options: Any, table: pa.Table, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ParquetSink(str(tmp_path), **options).write(table)
    with pytest.raises(ConfigurationError, match="without offset"):
        ParquetSink(str(tmp_path), transform=lambda table: table.drop_columns(["offset"]))(Batch(record_table([1])))


def test_nothing_is_seen_before_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        assert not list(tmp_path.glob("folder/[!.]*.parquet")) or synced[-1] == "folder"
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    ParquetSink(str(tmp_path / "folder"))(Batch(record_table([1])))
    (file,) = (tmp_path / "folder").iterdir()
    made, hidden, folder = synced
    assert (made, folder) == (tmp_path.name, "folder")
    assert hidden.startswith(f".{file.name}.")


def test_a_disk_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError("disk full")

    sink = ParquetSink(str(tmp_path))
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        sink(Batch(record_table([1])))
    assert files(tmp_path) == []


def test_where_a_path_leads(tmp_path: Path) -> None:
    assert storage_of("relative") == LocalStorage(Path.cwd() / "relative")
    assert storage_of(f"file://{tmp_path}/a%20b") == LocalStorage(tmp_path / "a b")
    store = fs.S3FileSystem(anonymous=True, region="none", endpoint_override="127.0.0.1:1")
    assert storage_of("bucket/folder/", store) == ObjectStorage(store, "bucket/folder")
    mock = fs._MockFileSystem()
    assert storage_of("folder", mock) == MovingStorage(mock, "folder")


@pytest.mark.parametrize("storage_class", [MovingStorage, ObjectStorage])
def test_other_file_systems(tmp_path: Path, storage_class: Any) -> None:
    (tmp_path / "root" / "x=1").mkdir(parents=True)
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    for _ in range(2):
        storage_class(filesystem, "root").put(("x=1",), "name", b"bytes")
    assert files(tmp_path) == [Path("root/x=1/name")]
    assert (tmp_path / "root/x=1/name").read_bytes() == b"bytes"


def test_a_sink_takes_a_file_system(tmp_path: Path) -> None:
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    sink: ParquetSink = pickle.loads(pickle.dumps(ParquetSink("a/b", filesystem=filesystem)))
    sink(Batch(record_table([1])))
    assert len(list((tmp_path / "a/b").iterdir())) == 1
