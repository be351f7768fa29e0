"""No commit begins while the group rebalances, but those that cannot wait; the worker goes on processing."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_groups.errors import DeliveryFailedError, TransactionExpiredError, TransactionFailedError
from kafka_groups.streams.runtime.commit_gate import CommitGate
from kafka_groups.types import TaskId, TopicPartition
from tests.support.fake_kafka import FakeMembership
from tests.unit.streams.runtime.counting import INPUT, OUTPUT, Process, brokers, restored

TASK = TaskId("0", 0)
BOTH = pytest.mark.parametrize("is_exactly_once", [False, True])
NEVER_MS = 10**9


async def running(*, words: int = 3, **settings: Any) -> Process:
    """A worker whose group rebalances, with words to count."""
    process = Process(brokers(), **settings)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    process.member.is_rebalancing = True
    write(process, words)
    return process


def write(process: Process, words: int, distinct: int = NEVER_MS) -> None:
    for at in range(words):
        process.kafka.produce("words", str(at % distinct), "")


def position(process: Process) -> int | None:
    return process.worker.tasks[TASK].task.queues[INPUT.topic, INPUT.partition].position


@contextmanager
def unanswered(process: Process) -> Iterator[None]:
    """The brokers do not confirm records."""

    async def flush(_timeout_ms: int) -> None:
        raise DeliveryFailedError("not yet", failed=0, unanswered=1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process.plane, "flush", flush)
        yield


@contextmanager
def held(process: Process) -> Iterator[None]:
    """After the block, no commit holds the member any more."""
    yield
    assert process.member.held == 0


async def test_a_gate_holds_the_member_from_enter_to_leave() -> None:
    member = FakeMembership(brokers())
    gate = CommitGate(member)
    assert [await gate.enter(), await gate.enter()] == [True, True]
    assert (member.held, gate.is_closed) == (1, False)
    await gate.leave()
    await gate.leave()
    assert member.held == 0
    member.is_rebalancing = True
    assert not await gate.enter()
    assert (member.held, gate.is_closed) == (0, True)
    assert await gate.enter(is_urgent=True)
    assert (member.held, gate.is_closed) == (1, True)
    await gate.leave()
    member.is_rebalancing = False
    assert await gate.enter()
    assert not gate.is_closed


async def test_a_commit_that_has_begun_goes_on_while_the_group_rebalances() -> None:
    member = FakeMembership(brokers())
    gate = CommitGate(member)
    await gate.enter()
    member.is_rebalancing = True
    assert await gate.enter()


@BOTH
async def test_a_worker_processes_and_does_not_commit_until_the_group_is_stable(*, is_exactly_once: bool) -> None:
    process = await running(is_exactly_once=is_exactly_once)
    with held(process):
        await process.turn_until(lambda: position(process) == 3)
        for _ in range(10):
            process.clock.advance(1_000)
            await process.worker.turn()
        assert not process.has_committed(3)
        assert not process.kafka.logs[TopicPartition(OUTPUT, 0)]
        process.member.is_rebalancing = False
        await process.turn_until(lambda: process.has_committed(3))
    assert restored(process.kafka) == Counter(map(str, range(3)))


@BOTH
async def test_a_worker_has_twice_the_memory_for_changes_and_then_waits(*, is_exactly_once: bool) -> None:
    limit = 100 * 200
    process = await running(
        words=2_000, is_exactly_once=is_exactly_once, commit_interval_ms=NEVER_MS, uncommitted_max_bytes=limit
    )
    with held(process):
        for _ in range(50):
            process.clock.advance(100)
            await process.worker.turn()
        used = process.worker.tasks[TASK].task.uncommitted_bytes
        assert limit * 1.5 < used < limit * 2.5
        assert not process.kafka.committed.get(INPUT)
        process.member.is_rebalancing = False
        await process.turn_until(lambda: position(process) == 2_000)


async def test_a_commit_is_asked_for_in_vain_once_and_not_in_each_turn() -> None:
    process = await running(commit_interval_ms=NEVER_MS)
    await process.turn_until(lambda: position(process) == 3)
    process.worker.tasks[TASK].task.request_commit()
    await process.worker.turn()
    assert not process.worker.tasks[TASK].task.is_commit_requested
    assert not process.has_committed(3)


async def test_a_transaction_that_expires_soon_is_committed_all_the_same() -> None:
    process = await running(is_exactly_once=True, commit_interval_ms=NEVER_MS)
    with held(process):
        await process.turn_until(lambda: position(process) == 3)
        process.worker.tasks[TASK].task.request_commit()
        await process.worker.turn()
        assert not process.has_committed(3)
        process.plane.expires_soon = True
        await process.worker.turn()
        assert process.has_committed(3)
    assert process.member.urgent[-1]


async def test_an_old_transaction_is_no_reason_for_a_commit_while_the_gate_is_open() -> None:
    process = await running(is_exactly_once=True, commit_interval_ms=NEVER_MS)
    process.member.is_rebalancing = False
    await process.turn_until(lambda: position(process) == 3)
    process.plane.expires_soon = True
    await process.worker.turn()
    assert not process.has_committed(3)


async def test_transactions_that_expire_behind_the_gate_end_no_application(monkeypatch: pytest.MonkeyPatch) -> None:
    process = await running(is_exactly_once=True)

    async def expire(*_given: object) -> None:
        raise TransactionFailedError("expired") from TransactionExpiredError("10 s")

    monkeypatch.setattr(process.plane, "commit_transaction", expire)
    process.plane.expires_soon = True
    for _ in range(20):
        process.clock.advance(1_000)
        await process.worker.turn()
    assert sum(process.member.urgent) > 3
    monkeypatch.undo()
    process.member.is_rebalancing = False
    await process.turn_until(lambda: process.has_committed(3))


@BOTH
async def test_revoked_tasks_are_committed_in_any_case(*, is_exactly_once: bool) -> None:
    process = await running(is_exactly_once=is_exactly_once)
    with held(process):
        await process.turn_until(lambda: position(process) == 3)
        event = process.member.revoke("0_0")
        await process.turn_until(lambda: process.member.confirmed)
        assert process.member.confirmed == [event]
        assert process.has_committed(3)


@BOTH
async def test_a_worker_that_closes_commits_in_any_case(*, is_exactly_once: bool) -> None:
    process = await running(is_exactly_once=is_exactly_once)
    with held(process):
        await process.turn_until(lambda: position(process) == 3)
        await process.worker.close(1.0)
        assert process.has_committed(3)
        assert process.member.has_left


@BOTH
async def test_a_pending_commit_holds_the_member_until_it_has_ended_or_is_dropped(*, is_exactly_once: bool) -> None:
    process = await running(is_exactly_once=is_exactly_once)
    process.member.is_rebalancing = False
    with held(process), unanswered(process):
        await process.turn_until(lambda: process.worker._commits.is_pending)
        assert process.member.held == 1
        process.member.is_rebalancing = True
        await process.worker.turn()
        assert process.member.held == 1
        await process.worker._commits.drop_pending()
