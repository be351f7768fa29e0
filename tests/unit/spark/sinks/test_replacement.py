"""Files are replaced so that every row is there at every step, wherever it ends early."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from kafka_groups.spark.sinks import replacement
from kafka_groups.spark.sinks.replacement import Replacement, ReplacementError, path_of_uri, replace_files

ROWS = 6


class CrashError(Exception):
    """The process ends here."""


def write(path: Path, numbers: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": numbers}), path)


def visible_rows(root: Path) -> Counter[int]:
    """What a reader sees: hidden files and folders are passed over."""
    seen: Counter[int] = Counter()
    for file in root.rglob("*.parquet"):
        if not any(part.startswith(".") for part in file.relative_to(root).parts):
            seen.update(pq.ParquetFile(file).read()["n"].to_pylist())
    return seen


@pytest.fixture
def plan(tmp_path: Path) -> Replacement:
    write(tmp_path / "d 1" / "one.parquet", [0, 1, 2, 0])
    write(tmp_path / "d 1" / "k=a" / "two.parquet", [3, 4, 5, 2])
    olds = tuple(file.as_uri() for file in sorted(tmp_path.rglob("*.parquet")))
    write(tmp_path / "d 1" / ".compact-1" / "part-0.parquet", [0, 1])
    write(tmp_path / "d 1" / ".compact-1" / "k=a" / "part-1.parquet", [2, 3, 4, 5])
    write(tmp_path / "d 1" / ".compact-1" / "_temporary" / "part-2.parquet", [9])
    write(tmp_path / "d 1" / "late.parquet", [7])
    return Replacement(str(tmp_path / "d 1"), ".compact-1", olds, ROWS)


ONCE = Counter([*range(ROWS), 7])


def test_files_are_replaced_and_those_of_others_stay(tmp_path: Path, plan: Replacement) -> None:
    done = replace_files(plan)
    assert (done.files, done.rows) == (2, ROWS)
    assert visible_rows(tmp_path) == ONCE
    assert sorted(file.relative_to(tmp_path / "d 1").as_posix() for file in tmp_path.rglob("*.parquet")) == [
        "compact-1-part-0.parquet",
        "k=a/compact-1-part-1.parquet",
        "late.parquet",
    ]


def steps(monkeypatch: pytest.MonkeyPatch, crash_at: int, root: Path) -> Iterator[int]:
    """Counts what changes the directory and ends the process before one such step; every row is there each time."""
    count = 0
    for name in ("publish", "delete", "delete_directory"):
        real = getattr(replacement._LocalFiles, name)

        def step(self: object, *arguments: str, real: object = real) -> None:
            nonlocal count
            count += 1
            assert set(visible_rows(root)) == set(ONCE)
            if count == crash_at:
                raise CrashError
            assert callable(real)
            real(self, *arguments)

        monkeypatch.setattr(replacement._LocalFiles, name, step)
    while True:
        yield count


@pytest.mark.parametrize("crash_at", range(1, 6))
def test_every_row_is_there_wherever_it_ends(
    tmp_path: Path, plan: Replacement, monkeypatch: pytest.MonkeyPatch, crash_at: int
) -> None:
    count = steps(monkeypatch, crash_at, tmp_path)
    assert next(count) == 0
    with pytest.raises(CrashError):
        replace_files(plan)
    assert next(count) == crash_at
    assert set(visible_rows(tmp_path)) == set(ONCE)
    assert replace_files(plan).rows == ROWS  # the task is tried again
    assert visible_rows(tmp_path) == ONCE
    assert next(count) == 5 + crash_at - (crash_at - 1 if crash_at <= 2 else 2)


def test_new_files_with_too_few_rows_replace_nothing(tmp_path: Path, plan: Replacement) -> None:
    (tmp_path / "d 1" / ".compact-1" / "part-0.parquet").unlink()
    before = visible_rows(tmp_path)
    with pytest.raises(ReplacementError, match=r"have 4 rows and not 6"):
        replace_files(plan)
    assert visible_rows(tmp_path) == before


def test_the_same_on_another_file_system(tmp_path: Path, plan: Replacement, monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())

    def filesystem_of(uri: str) -> tuple[object, str]:
        return filesystem, path_of_uri(uri.replace("mem:", "file:")).removeprefix(f"{tmp_path}/").lstrip("/")

    monkeypatch.setattr(replacement, "_filesystem_of", filesystem_of)
    remote = Replacement("mem:///d 1", plan.staging, plan.replaced, plan.rows)
    assert replace_files(remote).files == 2
    assert visible_rows(tmp_path) == ONCE
    assert not (tmp_path / "d 1" / ".compact-1").exists()
