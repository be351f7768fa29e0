"""Commits that are due because the stores have many uncommitted changes, over brokers in memory."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.errors import NetworkError
from kafka_groups.types import TaskId, TopicPartition
from tests.unit.streams.runtime.counting import CHANGELOG, INPUT, Process, brokers, restored

TASK = TaskId("0", 0)
LOGGED = TopicPartition(CHANGELOG, 0)
NEVER_MS = 10**9


async def counting_to(words: int, distinct: int, limit_bytes: int) -> Process:
    """A worker with words to count, which commits only because of its changes."""
    process = Process(brokers(), commit_interval_ms=NEVER_MS, uncommitted_max_bytes=limit_bytes)
    for at in range(words):
        process.kafka.produce("words", str(at % distinct), "")
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.tasks and process.worker.is_running)
    return process


async def test_a_worker_commits_when_its_changes_reach_their_limit() -> None:
    process = await counting_to(200, distinct=200, limit_bytes=100 * 200)
    await process.turn_until(lambda: process.kafka.committed, most=5)
    offset = process.kafka.committed[INPUT].offset
    assert 100 <= offset < 200
    assert sum(restored(process.kafka).values()) == offset
    for _ in range(3):
        await process.worker.turn()
    assert process.worker.tasks[TASK].task.uncommitted_bytes > 0
    assert process.has_committed(offset), "the other words do not need much memory"


async def test_a_worker_that_stops_for_its_changes_commits_them_though_a_recount_finds_fewer() -> None:
    process = await counting_to(2_000, distinct=60, limit_bytes=100 * 200)  # the keys take more than half of it
    await process.turn_until(lambda: process.plane.sources.positions[INPUT] == 2_000)
    await process.turn_until(lambda: process.kafka.committed, most=3)


async def test_changes_of_the_same_keys_count_once() -> None:
    process = await counting_to(5_000, distinct=10, limit_bytes=100 * 200)
    await process.turn_until(lambda: process.plane.sources.positions[INPUT] == 5_000)
    for _ in range(10):
        await process.worker.turn()
    position = process.worker.tasks[TASK].task.queues[INPUT.topic, INPUT.partition].position
    assert position == 5_000
    assert not process.kafka.committed


@pytest.mark.parametrize(("distinct", "forwarded"), [(1_000, True), (10, False)])
async def test_operators_forward_what_they_hold_back_when_it_takes_too_much_memory(
    distinct: int, forwarded: bool
) -> None:
    process = Process(brokers(), commit_interval_ms=NEVER_MS, cache_max_bytes=100 * 200)
    for at in range(1_000):
        process.kafka.produce("words", str(at % distinct), "")
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.plane.sources.positions.get(INPUT) == 1_000)
    for _ in range(10):
        await process.worker.turn()
    assert bool(process.plane.queued) is forwarded
    assert not process.kafka.committed


async def test_a_worker_whose_changes_cannot_be_committed_processes_nothing_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = await counting_to(0, distinct=1, limit_bytes=100 * 200)
    commit, is_away = process.member.commit, True
    for at in range(1_000):
        process.kafka.produce("words", str(at), "")

    async def away(*given: Any) -> None:
        if is_away:
            raise NetworkError("the brokers are away")
        await commit(*given)

    process.member.commit = away  # type: ignore[method-assign, assignment]
    await process.turn_until(lambda: process.kafka.logs[LOGGED])
    logged = len(process.kafka.logs[LOGGED])
    assert 100 <= logged < 250
    for _ in range(20):
        await process.worker.turn()
    assert len(process.kafka.logs[LOGGED]) == logged, "no attempt before the interval is over"
    assert caplog.text.count("the brokers are away") == 1
    is_away = False
    for _ in range(20):
        process.clock.advance(NEVER_MS)
        await process.worker.turn()
    assert process.has_committed(1_000)
    assert restored(process.kafka) == Counter(map(str, range(1_000)))


@pytest.mark.parametrize("words", [0, 3])
async def test_a_request_is_answered_by_one_commit_if_there_is_anything_to_commit(words: int) -> None:
    process = await counting_to(1, distinct=1, limit_bytes=10**9)
    task = process.worker.tasks[TASK].task
    task.request_commit()
    await process.turn_until(lambda: process.has_committed(1))
    for at in range(words):
        process.kafka.produce("words", str(at), "")
    await process.worker.turn()
    commits = counted_commits(process)
    task.request_commit()
    for _ in range(3):
        await process.worker.turn()
    assert not task.is_commit_requested
    assert commits() == (words > 0)


def counted_commits(process: Process) -> Callable[[], int]:
    commit, count = process.member.commit, 0

    async def counting(*given: Any) -> None:
        nonlocal count
        count += 1
        await commit(*given)

    process.member.commit = counting  # type: ignore[method-assign, assignment]
    return lambda: count
