"""A worker waits while brokers do not answer, for as long as `task.timeout.ms`, and then goes on or ends."""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import pytest

from kafka_groups.errors import (
    BootstrapError,
    KafkaGroupsError,
    LeaderNotAvailableError,
    NetworkError,
    TopicAuthorizationFailedError,
)
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka, LogEntry
from tests.unit.streams.runtime.counting import CHANGELOG, INPUT, Process, brokers, enriched, restored

REQUESTS = ("poll", "poll_restoring", "partition_counts", "bounds")
NAMES = TopicPartition("names", 0)


def failing(process: Process, method: str, error: KafkaGroupsError, times: float) -> Callable[[], int]:
    """Let a method of the plane fail some times. Return what tells how often it has."""
    answer: Callable[..., Awaitable[Any]] = getattr(process.plane, method)
    failures = 0

    async def call(*args: object) -> Any:
        nonlocal failures
        if failures < times:
            failures += 1
            raise error
        return await answer(*args)

    setattr(process.plane, method, call)
    return lambda: failures


def words(*found: str) -> FakeKafka:
    """Brokers with words to count, and with a count of before that is restored first."""
    kafka = brokers()
    kafka.logs[TopicPartition(CHANGELOG, 0)].append(LogEntry(b"or", (1).to_bytes(8, "big"), 0))
    for word in found:
        kafka.produce("words", word, "")
    return kafka


async def started(kafka: FakeKafka, task_timeout_ms: int = 300_000) -> Process:
    process = Process(kafka, task_timeout_ms=task_timeout_ms)
    process.member.assign("0_0")
    await process.worker.start()
    return process


@pytest.mark.parametrize("method", REQUESTS)
async def test_a_request_that_fails_for_a_while_is_repeated(method: str, caplog: pytest.LogCaptureFixture) -> None:
    kafka = words("to", "be")
    process = await started(kafka)
    failures = failing(process, method, NetworkError("the brokers are away"), 5)
    await process.turn_until(lambda: process.has_committed(2))
    assert failures() == 5
    assert "the brokers are away" in caplog.text
    assert restored(kafka) == Counter(["or", "to", "be"])


@pytest.mark.parametrize("method", REQUESTS)
async def test_a_request_that_fails_for_longer_than_the_task_timeout_ends_the_worker(method: str) -> None:
    process = await started(words("to"), task_timeout_ms=10_000)
    failures = failing(process, method, NetworkError("the brokers are away"), float("inf"))
    begun_ms = process.clock.now_ms()
    with pytest.raises(NetworkError, match="the brokers are away"):
        await process.turn_until(lambda: process.has_committed(1))
    assert 10_000 <= process.clock.now_ms() - begun_ms <= 20_000
    assert failures() > 3


@pytest.mark.parametrize(("outage_ms", "ends"), [(280_000, False), (400_000, True)])
async def test_brokers_that_have_never_answered_are_waited_for(outage_ms: int, ends: bool) -> None:
    process = await started(words("to"))
    poll, clock = process.member.poll, process.clock
    begun_ms = reported_ms = clock.now_ms()

    async def unreachable() -> Any:
        nonlocal reported_ms
        if clock.now_ms() - begun_ms >= outage_ms:
            return await poll()
        if clock.now_ms() - reported_ms < 60_000:
            return []
        reported_ms = clock.now_ms()
        raise BootstrapError("No broker has answered for 60000 ms")

    setattr(process.member, "poll", unreachable)  # noqa: B010 - a method, to mypy
    with pytest.raises(BootstrapError) if ends else nullcontext():
        await process.turn_until(lambda: process.has_committed(1), most=500)
    assert clock.now_ms() - begun_ms >= 280_000


@pytest.mark.parametrize("method", REQUESTS)
async def test_a_request_that_is_refused_ends_the_worker_at_once(method: str) -> None:
    process = await started(words("to"))
    failures = failing(process, method, TopicAuthorizationFailedError("not yours"), float("inf"))
    with pytest.raises(TopicAuthorizationFailedError):
        await process.turn_until(lambda: process.has_committed(1))
    assert failures() == 1


async def test_a_task_that_is_revoked_before_its_topics_are_known_is_confirmed() -> None:
    process = await started(words("to"))
    failing(process, "partition_counts", NetworkError("the brokers are away"), 3)
    event = process.member.revoke("0_0")
    await process.turn_until(lambda: process.member.confirmed)
    assert process.member.confirmed == [event]
    assert not process.worker.tasks


async def out_of_range(task_timeout_ms: int = 300_000) -> Process:
    """A running worker whose next record is deleted, while one after it is there."""
    process = await started(words("to", "be"), task_timeout_ms)
    await process.turn_until(lambda: process.has_committed(2))
    process.kafka.produce("words", "lost", "")
    process.kafka.produce("words", "kept", "")
    process.kafka.begins[INPUT] = 3
    return process


async def test_a_reset_of_an_offset_that_is_out_of_range_is_repeated() -> None:
    process = await out_of_range()
    failures = failing(process, "bounds", NetworkError("the brokers are away"), 5)
    await process.turn_until(lambda: process.has_committed(4))
    assert failures() == 5
    assert restored(process.kafka) == Counter(["or", "to", "be", "kept"])


async def test_a_reset_that_fails_for_longer_than_the_task_timeout_ends_the_worker() -> None:
    process = await out_of_range(task_timeout_ms=10_000)
    failing(process, "bounds", NetworkError("the brokers are away"), float("inf"))
    with pytest.raises(NetworkError, match="the brokers are away"):
        await process.turn_until(lambda: process.has_committed(4))


async def test_a_task_whose_reset_is_repeated_can_be_given_up() -> None:
    process = await out_of_range()
    failures = failing(process, "bounds", NetworkError("the brokers are away"), float("inf"))
    await process.turn_until(failures)
    event = process.member.revoke("0_0")
    await process.turn_until(lambda: process.member.confirmed)
    seen = failures()
    await process.turn_until(lambda: process.clock.now_ms() > 100_000)
    assert process.member.confirmed == [event]
    assert failures() == seen


async def test_deleted_records_of_a_global_table_are_skipped_when_the_brokers_are_back() -> None:
    kafka = FakeKafka({"names": 1, "orders": 1, "named": 1})
    kafka.produce("names", "a", "ann")
    process = Process(kafka, topology=enriched())
    process.member.assign("1_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    kafka.produce("names", "a", "lost")
    kafka.produce("names", "b", "ben")
    kafka.begins[NAMES] = 2
    failures = failing(process, "bounds", NetworkError("the brokers are away"), 5)
    await process.turn_until(lambda: process.plane.changelogs.positions.get(NAMES) == 3)
    assert failures() == 5
    kafka.produce("orders", "b", "tea")
    await process.turn_until(lambda: kafka.values("named"))
    assert [entry.value for entry in kafka.values("named")] == [b"tea of ben"]


LOST, KEPT = TaskId("0", 0), TaskId("0", 1)


async def two_tasks(leaderless: TopicPartition, task_timeout_ms: int = 300_000) -> Process:
    """Two tasks, while a partition of one has no leader."""
    kafka = brokers(2)
    for partition in (0, 1):
        kafka.produce("words", "to", "", partition=partition)
    kafka.leaderless.add(leaderless)
    process = Process(kafka, task_timeout_ms=task_timeout_ms)
    process.member.assign("0_0", "0_1")
    await process.worker.start()
    return process


@pytest.mark.parametrize("leaderless", [INPUT, TopicPartition(CHANGELOG, 0)])
async def test_a_partition_without_leader_keeps_only_its_own_task_from_beginning(leaderless: TopicPartition) -> None:
    process = await two_tasks(leaderless)
    await process.turn_until(lambda: process.has_committed(1, TopicPartition("words", 1)))
    assert process.worker.tasks[KEPT].is_running
    assert not process.worker.tasks[LOST].is_running
    process.kafka.leaderless.clear()
    await process.turn_until(lambda: process.has_committed(1))


async def test_a_task_that_cannot_begin_for_too_long_ends_the_worker_though_others_run() -> None:
    process = await two_tasks(INPUT, task_timeout_ms=10_000)
    with pytest.raises(LeaderNotAvailableError):
        await process.turn_until(lambda: False)
    assert process.has_committed(1, TopicPartition("words", 1))


async def test_a_partition_without_leader_does_not_keep_others_from_resetting_their_offsets() -> None:
    process = await two_tasks(TopicPartition("elsewhere", 0))
    await process.turn_until(lambda: process.has_committed(1) and process.has_committed(1, TopicPartition("words", 1)))
    process.kafka.leaderless.add(INPUT)
    for partition in (0, 1):
        process.kafka.produce("words", "lost", "", partition=partition)
        process.kafka.produce("words", "kept", "", partition=partition)
        process.kafka.begins[TopicPartition("words", partition)] = 2
    await process.turn_until(lambda: process.has_committed(3, TopicPartition("words", 1)))
    assert not process.has_committed(3)
    process.kafka.leaderless.clear()
    await process.turn_until(lambda: process.has_committed(3))


@pytest.mark.parametrize("method", ["poll", "poll_restoring"])
async def test_an_outage_ends_when_the_brokers_answer_though_no_record_comes(method: str) -> None:
    """Two errors that are less than the timeout apart, with answers and no records between them."""
    process = await started(words(), task_timeout_ms=10_000)
    process.member.assign(standby=["0_1"])
    process.kafka.counts |= dict.fromkeys(("words", CHANGELOG), 2)
    await process.turn_until(lambda: process.worker.is_running and len(process.worker.positions()) == 2)
    for _ in range(5):
        failures = failing(process, method, NetworkError("a short outage"), 1)
        await process.turn_until(failures)
        for _ in range(6):
            process.clock.advance(1_000)
            await process.worker.turn()


async def test_an_outage_in_which_no_record_comes_and_no_broker_answers_ends_the_worker() -> None:
    process = await started(words(), task_timeout_ms=10_000)
    await process.turn_until(lambda: process.worker.is_running)
    process.kafka.leaderless.add(INPUT)
    failing(process, "poll", NetworkError("a short outage"), 1)
    with pytest.raises(LeaderNotAvailableError):
        await process.turn_until(lambda: False)


def test_warnings_about_an_outage_come_at_growing_intervals(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    timeout = TaskTimeout(clock, 300_000)
    for _ in range(100):
        timeout.note("Waiting", NetworkError("away"))
        clock.advance(1_000)
    assert [record.getMessage() for record in caplog.records] == [
        "Waiting: away",
        *(f"Waiting: away (for {seconds} s now)" for seconds in (1, 3, 7, 15, 31, 63)),
    ]


def test_attempts_in_an_outage_are_made_at_growing_intervals() -> None:
    clock = ManualClock()
    timeout = TaskTimeout(clock, 300_000)
    pauses = []
    for _ in range(7):
        timeout.note("Waiting", NetworkError("away"))
        begun_ms = clock.now_ms()
        while not timeout.may_try:
            clock.advance(100)
        pauses.append(clock.now_ms() - begun_ms)
    assert pauses == [200, 400, 800, 1_600, 3_200, 5_000, 5_000]


def test_an_outage_ends_the_worker_also_if_attempts_are_rarer_than_the_timeout() -> None:
    clock = ManualClock()
    timeout = TaskTimeout(clock, 100)
    timeout.note("Waiting", NetworkError("away"))
    clock.advance(200)
    with pytest.raises(NetworkError):
        timeout.note("Waiting", NetworkError("away"))


def test_an_outage_ends_the_worker_also_if_each_attempt_takes_longer_than_the_timeout() -> None:
    clock = ManualClock()
    timeout = TaskTimeout(clock, 1_000)
    timeout.note("The commit is repeated", NetworkError("away"))
    clock.advance(5_400)  # a pause, and then nobody has answered for five seconds
    with pytest.raises(NetworkError):
        timeout.note("The commit is repeated", NetworkError("away"))


def test_errors_that_are_far_apart_are_different_outages() -> None:
    clock = ManualClock()
    timeout = TaskTimeout(clock, 10_000)
    for _ in range(5):
        timeout.note("Waiting", NetworkError("away"))
        assert not timeout.may_try
        clock.advance(10_201)
        assert timeout.may_try


def test_a_success_ends_an_outage() -> None:
    clock = ManualClock()
    timeout = TaskTimeout(clock, 10_000)
    for _ in range(5):
        timeout.note("Waiting", NetworkError("away"))
        timeout.end()
        assert timeout.may_try
        clock.advance(6_000)


async def idle(task_timeout_ms: int) -> Process:
    """A worker that has processed everything there is, and whose member then reaches no broker."""
    process = await started(words("to"), task_timeout_ms)
    await process.turn_until(lambda: process.has_committed(1))
    process.member.state = MembershipState.UNREACHABLE
    return process


async def test_a_worker_with_nothing_to_do_ends_if_no_broker_answers_for_too_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = await idle(60_000)
    for _ in range(60):
        await process.worker.turn()
        process.clock.advance(1_000)
    assert process.worker.is_running
    assert not caplog.records  # the client has logged that
    with pytest.raises(NetworkError, match="No broker answers"):
        await process.turn_until(lambda: False, 2)
    assert "The group cannot be reached: No broker answers (for 60 s, and task.timeout.ms is 60000)" in caplog.text


async def test_a_worker_with_nothing_to_do_waits_for_brokers_that_come_back() -> None:
    process = await idle(60_000)
    for state in (MembershipState.UNREACHABLE, MembershipState.STABLE, MembershipState.UNREACHABLE):
        process.member.state = state
        for _ in range(50):
            await process.worker.turn()
            process.clock.advance(1_000)
    assert process.worker.is_running
