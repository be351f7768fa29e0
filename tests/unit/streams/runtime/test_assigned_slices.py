"""Slices are as long as a turn allows, and slow records do not delay commits."""

from typing import Any

import pytest

from kafka_groups.streams.runtime.assigned import Slice
from kafka_groups.streams.topology.nodes import NodeStep
from kafka_groups.types import TaskId, TopicPartition
from tests.unit.streams.runtime.counting import Process, brokers


def test_slices_of_fast_records_grow_to_a_limit() -> None:
    slice_ = Slice()
    seen = []
    for _ in range(9):
        seen.append(slice_.records)
        slice_.took(slice_.records, 0)
    assert seen == [1, 2, 4, 8, 16, 32, 64, 100, 100]


def test_a_slice_that_was_cut_short_tells_nothing() -> None:
    slice_ = Slice()
    slice_.took(1, 1)
    slice_.took(0, 0)
    assert slice_.records == 2


@pytest.mark.parametrize(("count", "ms", "records"), [(100, 100, 50), (100, 5_000, 1), (1, 9_000, 1), (0, 200, 1)])
def test_slices_of_slow_records_take_fifty_ms(count: int, ms: int, records: int) -> None:
    slice_ = Slice()
    for _ in range(9):
        slice_.took(slice_.records, 0)
    slice_.took(count, ms)
    assert slice_.records == records


async def test_slow_records_are_committed_one_by_one_and_all_tasks_have_their_turn() -> None:
    """Each record takes a second, and a commit is due every 100 ms."""
    process = Process(brokers(3), commit_interval_ms=100)
    for partition in range(3):
        for at in range(4):
            process.kafka.produce("words", str(at), "", partition=partition)
    process.member.assign("0_0", "0_1", "0_2")
    await process.worker.start()
    await process.turn_until(lambda: len(process.worker.tasks) == 3 and process.worker.is_running)
    slow(process)
    places = [TopicPartition("words", partition) for partition in range(3)]
    for _ in range(60):
        before = done(process, places)
        if before == [4, 4, 4]:
            break
        await process.worker.turn()
        after = done(process, places)
        assert sum(after) - sum(before) <= 1
        assert max(after) - min(after) <= 1
    assert done(process, places) == [4, 4, 4]


def slow(process: Process) -> None:
    for partition in range(3):
        queue = process.worker.tasks[TaskId("0", partition)].task.queues["words", partition]

        def after_a_second(*record: Any, step: NodeStep = queue.step) -> None:
            process.clock.advance(1_000)
            step(*record)

        queue.step = after_a_second


def done(process: Process, places: list[TopicPartition]) -> list[int]:
    committed = process.kafka.committed
    return [committed[place].offset if place in committed else 0 for place in places]
