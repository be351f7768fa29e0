"""The order of records: by time over all files, or by time among the next of each file."""

import random
import tracemalloc
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_groups.cli.topologies.input_records import InputRecord
from kafka_groups.cli.topologies.ordering import InputFile, merged


def file(folder: Path, topic: str, times: list[int]) -> InputFile:
    path = folder / topic
    path.touch()
    return InputFile(topic=topic, path=path, read=lambda: records(times))


def records(times: list[int]) -> Iterator[InputRecord]:
    for line, timestamp_ms in enumerate(times, 1):
        yield InputRecord(
            timestamp_ms, line, str(line).encode(), None, (("h", b"\xff"), ("n", None)) if line % 2 else ()
        )


def order(*files: InputFile, keep_order: bool = False) -> list[tuple[str, int, int]]:
    return [(file.topic, each.timestamp_ms, each.line) for file, each in merged(files, keep_order=keep_order)]


def test_files_are_merged_by_time_and_then_by_option(tmp_path: Path) -> None:
    assert order(file(tmp_path, "a", [1, 3, 3, 9]), file(tmp_path, "b", [0, 3, 4])) == [
        ("b", 0, 1),
        ("a", 1, 1),
        ("a", 3, 2),
        ("a", 3, 3),
        ("b", 3, 2),
        ("b", 4, 3),
        ("a", 9, 4),
    ]


def test_a_file_that_is_not_in_order_is_sorted(tmp_path: Path) -> None:
    disordered, other = file(tmp_path, "a", [5, -2, 5, 1]), file(tmp_path, "b", [2])
    assert order(disordered, other) == [("a", -2, 2), ("a", 1, 4), ("b", 2, 1), ("a", 5, 1), ("a", 5, 3)]


def test_the_order_of_files_can_be_kept(tmp_path: Path) -> None:
    disordered, other = file(tmp_path, "a", [5, 2, 1]), file(tmp_path, "b", [3, 6])
    assert order(disordered, other, keep_order=True) == [
        ("b", 3, 1),
        ("a", 5, 1),
        ("a", 2, 2),
        ("a", 1, 3),
        ("b", 6, 2),
    ]


def test_sorting_keeps_the_records(tmp_path: Path) -> None:
    times = random.Random(5).sample(range(1000), 500)
    found = [record for _, record in merged([file(tmp_path, "a", times)], keep_order=False)]
    assert found == sorted(records(times))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    reads = 0

    def read() -> Iterator[InputRecord]:
        nonlocal reads
        reads += 1
        return records([1, 2])

    pipe = InputFile(topic="a", path=tmp_path / "no ordinary file", read=read)
    assert order(pipe) == [("a", 1, 1), ("a", 2, 2)]
    assert reads == 1


@pytest.mark.parametrize("step", [1, -1], ids=["in order", "not in order"])
def test_memory_is_bounded(tmp_path: Path, step: int) -> None:
    count, size = 30_000, 1_000

    def read() -> Iterator[InputRecord]:
        return (InputRecord(number * step + count, number, None, bytes(size)) for number in range(count))

    path = tmp_path / "large"
    path.touch()
    tracemalloc.start()
    try:
        assert sum(1 for _ in merged([InputFile(topic="a", path=path, read=read)], keep_order=False)) == count
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < count * size / 10


def test_any_thread_may_close_records_that_were_not_read_to_the_end(tmp_path: Path) -> None:
    sorted_records = file(tmp_path, "orders", [2, 1, 3]).in_order_of_time()
    assert next(sorted_records).timestamp_ms == 1
    assert isinstance(sorted_records, Generator)
    with ThreadPoolExecutor(1) as other:
        other.submit(sorted_records.close).result()
