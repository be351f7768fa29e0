"""Commits while the brokers do not confirm records: the worker goes on with everything but processing."""

from collections import Counter

import pytest

from kafka_groups.errors import DeliveryFailedError, OperationTimeoutError
from kafka_groups.types import TopicPartition
from tests.unit.streams.runtime.counting import INPUT, Process, brokers, restored


class Outage:
    """Lets no flush of a process succeed while it lasts, and the time pass instead."""

    def __init__(self, process: Process) -> None:
        self.lasts = True
        self.flushes = 0
        self._process = process
        self._answered = process.plane.flush
        process.plane.flush = self.flush  # type: ignore[method-assign]

    async def flush(self, timeout_ms: int) -> None:
        if not self.lasts:
            await self._answered(timeout_ms)
            return
        self.flushes += 1
        self._process.clock.advance(timeout_ms)
        raise DeliveryFailedError("4 records are not confirmed by one:9092", failed=0, unanswered=4)


async def in_an_outage(task_timeout_ms: int = 300_000) -> tuple[Process, Outage]:
    """A worker that has processed words, which the brokers do not confirm."""
    kafka = brokers()
    process = Process(kafka, task_timeout_ms=task_timeout_ms)
    for word in ("to", "be"):
        kafka.produce("words", word, "")
    process.member.assign("0_0")
    await process.worker.start()
    outage = Outage(process)
    await process.turn_until(lambda: outage.flushes)
    return process, outage


async def test_nothing_is_processed_and_written_until_a_pending_commit_has_ended() -> None:
    process, outage = await in_an_outage()
    queued = len(process.plane.queued)
    process.kafka.produce("words", "or", "")
    await process.turn_until(lambda: outage.flushes > 5)
    assert process.plane.sources.positions[INPUT] == 3, "it reads"
    assert len(process.plane.queued) == queued
    assert not process.kafka.committed
    outage.lasts = False
    await process.turn_until(lambda: process.has_committed(3))
    assert restored(process.kafka) == Counter(["to", "be", "or"])


async def test_a_turn_in_an_outage_is_short() -> None:
    process, _ = await in_an_outage()
    for _ in range(5):
        begun_ms = process.clock.now_ms()
        await process.worker.turn()
        assert process.clock.now_ms() - begun_ms <= 1_000


async def test_a_commit_that_is_not_confirmed_for_too_long_ends_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    process, _ = await in_an_outage(task_timeout_ms=10_000)
    begun_ms = process.clock.now_ms()
    with pytest.raises(DeliveryFailedError, match="one:9092"):
        await process.turn_until(lambda: False)
    assert 5_000 < process.clock.now_ms() - begun_ms < 15_000
    waits = "A commit waits for the brokers: 4 records are not confirmed by one:9092"
    assert f"{waits} (for 6 s now)" in caplog.messages, "five seconds may just be slow"
    assert f"{waits} (for 10 s, and task.timeout.ms is 10000)" in caplog.messages


async def test_a_task_that_is_revoked_in_an_outage_is_confirmed_when_its_records_are() -> None:
    process, outage = await in_an_outage()
    event = process.member.revoke("0_0")
    seen = outage.flushes
    await process.turn_until(lambda: outage.flushes > seen + 3)
    assert not process.member.confirmed
    outage.lasts = False
    await process.turn_until(lambda: process.member.confirmed)
    assert process.member.confirmed == [event]
    assert process.has_committed(2)


async def test_tasks_that_are_lost_in_an_outage_are_not_committed_later() -> None:
    process, outage = await in_an_outage()
    process.member.lose("0_0")
    await process.turn_until(lambda: process.member.confirmed)
    outage.lasts = False
    process.kafka.counts["words"] = 1
    for _ in range(3):
        process.clock.advance(1_000)
        await process.worker.turn()
    assert TopicPartition("words", 0) not in process.kafka.committed


async def test_a_close_in_an_outage_ends_in_time_and_says_what_it_gives_up() -> None:
    process, _ = await in_an_outage()
    begun_ms = process.clock.now_ms()
    with pytest.raises(OperationTimeoutError, match="gave up its last commit after 5 s"):
        await process.worker.close(5)
    assert process.clock.now_ms() - begun_ms <= 6_000
    assert process.member.has_left
    assert process.plane.is_closed


async def test_a_close_commits_when_the_outage_ends_in_time() -> None:
    process, outage = await in_an_outage()
    flush = outage.flush

    async def short(timeout_ms: int) -> None:
        outage.lasts = outage.flushes < 5
        await flush(timeout_ms)

    process.plane.flush = short  # type: ignore[method-assign]
    await process.worker.close(60)
    assert process.has_committed(2)


async def test_nothing_is_processed_while_the_producer_has_no_room() -> None:
    process, outage = await in_an_outage()
    outage.lasts = False
    await process.turn_until(lambda: process.has_committed(2))
    process.plane.has_room = False
    process.kafka.produce("words", "or", "")
    await process.turn_until(lambda: process.plane.sources.positions[INPUT] == 3)
    for _ in range(3):
        process.clock.advance(1_000)
        await process.worker.turn()
    assert restored(process.kafka) == Counter(["to", "be"])
    process.plane.has_room = True
    await process.turn_until(lambda: process.has_committed(3))
