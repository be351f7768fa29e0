"""The windows of partitions, and records that hold them back."""

from kafka_groups.share.workers.rules.events import EventKind
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.window import HELD_BACK_MS, NOT_READY_AT, WARN_AT, WindowUse
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
    assert used(bench) == 0.03, "copying"
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
