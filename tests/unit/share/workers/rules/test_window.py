"""The windows of partitions, and records that hold them back."""

import pytest

from kafka_groups.share.group_progress import GroupProgress
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.share.workers.rules.window import HELD_BACK_MS, NOT_READY_AT, STALLED_MS, WARN_AT, WindowUse
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job


def held_back(bench: Bench, *, newest: int) -> Job:
    """Have one record fail, and those behind it succeed."""
    job, *others = bench.take(*range(newest + 1))
    bench.fail(job)
    while others:
        bench.succeed(others.pop(0))
    bench.handling.measure_windows(bench.now_ms)
    return job


def fullest_of(bench: Bench) -> WindowUse | None:
    return bench.handling.windows.fullest


def used(bench: Bench) -> float:
    return bench.handling.windows.uses[PARTITIONS[0]].used


def test_finished_records_behind_the_oldest_count() -> None:
    bench = Bench(locks=100)
    held_back(bench, newest=49)
    assert used(bench) == 0.5
    assert bench.handling.in_hand["waiting"] == 1


def test_each_state_counts() -> None:
    bench = Bench(locks=100, concurrency=1, times=0)
    jobs = bench.take(0, 1, 2)
    bench.handling.measure_windows(0)
    assert used(bench) == 0.03, "running"
    bench.fail(jobs[0])
    bench.handling.measure_windows(0)
    assert used(bench) == 0.03, "writing"
    bench.write()
    bench.handling.measure_windows(0)
    assert used(bench) == 0.02, "running, and one held"
    bench.lose(jobs[1])
    again = bench.take(1, count=2)
    bench.handling.measure_windows(0)
    assert used(bench) == 0.02, "held back by an earlier handler"
    bench.lose(*again)
    bench.succeed(jobs[1])
    bench.succeed(jobs[2])
    bench.handling.measure_windows(0)
    assert not bench.handling.windows.uses


def test_partitions_are_measured_apart() -> None:
    bench = Bench(locks=100)
    bench.take(5)
    bench.take(7, 10, partition=1)
    bench.handling.measure_windows(0)
    assert {use.partition: use.used for use in bench.handling.windows.uses.values()} == {
        PARTITIONS[0]: 0.01,
        PARTITIONS[1]: 0.04,
    }


def test_the_oldest_of_a_run_of_several_partitions_counts() -> None:
    bench = Bench(locks=100, concurrency=1, is_keyed=True)
    bench.fast()
    blocker = bench.take(0, key="x")[0]
    bench.take(20, key="ann")
    bench.take(9, partition=1, key="bob")
    bench.succeed(blocker)
    assert len(bench.runs) == 1
    bench.handling.measure_windows(0)
    assert {use.oldest for use in bench.handling.windows.uses.values()} == {20, 9}


def test_a_window_is_held_back_after_a_while() -> None:
    bench = Bench(locks=100, exhausted=OnError.HOLD)
    held_back(bench, newest=59)
    assert fullest_of(bench) is None, "windows of fast handlers are full, too"
    bench.advance(HELD_BACK_MS)
    bench.handling.measure_windows(bench.now_ms)
    fullest = fullest_of(bench)
    assert fullest is not None
    assert (fullest.oldest, fullest.is_held_back(WARN_AT), fullest.is_held_back(NOT_READY_AT)) == (0, True, False)
    assert bench.handling.windows.oldest_ms == HELD_BACK_MS


def test_on_blocked_gives_up_the_record() -> None:
    bench = Bench(locks=100, times=1_000, on_blocked=OnError.DEAD_LETTER)
    job = held_back(bench, newest=95)
    while bench.now_ms < HELD_BACK_MS:
        assert not bench.letters
        bench.advance(1_000)
        if job in bench.running:
            bench.fail(job)
        bench.handling.measure_windows(bench.now_ms)
    bench.go()
    assert [offset for offset, _ in bench.letters] == [0]
    assert "held back" in bench.letters[0][1]
    bench.write()
    assert bench.outcomes[job] is AcknowledgeType.REJECT
    assert bench.happened(EventKind.GAVE_UP) == 1


def test_below_nine_tenths_nothing_is_given_up() -> None:
    bench = Bench(locks=100, times=1_000, on_blocked=OnError.DEAD_LETTER)
    held_back(bench, newest=88)
    bench.advance(HELD_BACK_MS - 4_001)
    bench.handling.measure_windows(bench.now_ms + HELD_BACK_MS)
    bench.go()
    assert not bench.letters


def test_finished_records_of_other_members_count() -> None:
    bench = Bench(locks=100, exhausted=OnError.HOLD)
    held_back(bench, newest=9)
    windows = bench.handling.windows
    assert not windows.unclear, "so far it may be a fast handler"
    bench.advance(HELD_BACK_MS)
    bench.handling.measure_windows(bench.now_ms)
    assert windows.unclear == [PARTITIONS[0]]
    windows.told(PARTITIONS[0], GroupProgress(0, 94, 99), bench.now_ms)
    bench.handling.measure_windows(bench.now_ms)
    assert used(bench) == 0.95
    assert not windows.unclear


def test_the_record_of_another_member_holds_back_more() -> None:
    bench = Bench(locks=100, exhausted=OnError.HOLD)
    bench.handling.windows.acquired(PARTITIONS[0], 9)
    bench.take(5)
    for _ in range(2):
        bench.handling.windows.told(PARTITIONS[0], GroupProgress(4, 60, 200), bench.now_ms)
        bench.advance(STALLED_MS)
        bench.handling.measure_windows(bench.now_ms)
    assert used(bench) == 0.6, "that member gives up its record, and this one must not"


def test_brokers_may_tell_an_earlier_start() -> None:
    bench = Bench(locks=100, exhausted=OnError.HOLD)
    bench.take(5)
    bench.handling.windows.told(PARTITIONS[0], GroupProgress(3, 98, 200), bench.now_ms)
    bench.handling.measure_windows(bench.now_ms)
    assert used(bench) == 0.97, "two of them are before the record"


def test_what_was_told_before_a_record_was_finished_still_counts() -> None:
    bench = Bench(locks=100)
    job, *_ = bench.take(0, 1)
    bench.handling.windows.told(PARTITIONS[0], GroupProgress(0, 94, 99), bench.now_ms)
    bench.handling.measure_windows(0)
    assert used(bench) == 0.95
    bench.succeed(job)
    bench.handling.measure_windows(0)
    assert used(bench) == 0.94


def stalled(bench: Bench, *progress: GroupProgress) -> None:
    """Have one record fail, and the brokers tell of the group's progress, long enough for a stall."""
    held_back(bench, newest=9)
    for each in progress:
        bench.handling.windows.told(PARTITIONS[0], each, bench.now_ms)
        bench.advance(STALLED_MS // 2)
        bench.handling.measure_windows(bench.now_ms)


SAME = GroupProgress(0, 60, 100)


def test_a_partition_that_delivers_nothing_though_it_has_records_is_full() -> None:
    bench = Bench(locks=100, exhausted=OnError.HOLD)
    stalled(bench, SAME, SAME)
    assert used(bench) == 1.0


@pytest.mark.parametrize(
    "progress",
    [(SAME,), (SAME, GroupProgress(0, 61, 100)), (GroupProgress(0, 60, 99),) * 2],
    ids=["not for long enough", "others finish records", "too few records for a window"],
)
def test_a_partition_is_not_known_to_be_full(progress: tuple[GroupProgress, ...]) -> None:
    bench = Bench(locks=100, exhausted=OnError.HOLD)
    stalled(bench, *progress)
    assert used(bench) == (1 + progress[-1].finished) / 100


def test_a_partition_whose_records_come_is_not_full() -> None:
    bench = Bench(locks=100, exhausted=OnError.HOLD)
    stalled(bench, SAME, SAME)
    bench.take(10)
    bench.handling.measure_windows(bench.now_ms)
    assert used(bench) == 0.61


def test_a_partition_is_not_known_to_be_full_while_no_records_are_wanted() -> None:
    bench = Bench(locks=400, concurrency=1, exhausted=OnError.HOLD)
    held_back(bench, newest=9)
    bench.take(*range(10, 110))
    for _ in range(3):
        bench.handling.windows.told(PARTITIONS[0], GroupProgress(0, 199, 400), bench.now_ms)
        bench.advance(STALLED_MS)
        bench.handling.measure_windows(bench.now_ms)
    assert bench.handling.wanted(bench.now_ms) == 0
    assert used(bench) == 0.5
