"""How many records are fetched, and how many a slot gets at a time."""

from collections.abc import Iterator

import pytest

from kafka_groups.share.workers.rules.failures.signals import Retry
from kafka_groups.share.workers.rules.holdings import MOST_DELAYED
from kafka_groups.share.workers.rules.in_hand import FreshRecords
from kafka_groups.share.workers.rules.limits import BatchSizes
from kafka_groups.share.workers.rules.pace import HandlerPace
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job


def test_records_are_fetched_when_less_than_half_of_the_buffer_is_held() -> None:
    bench = Bench(concurrency=1, buffer=10)
    assert bench.handling.wanted(0) == 10
    jobs = bench.take(*range(6))  # one runs
    assert bench.handling.wanted(0) == 0
    bench.succeed(jobs[0])
    assert bench.handling.wanted(0) == 6


@pytest.mark.parametrize(
    ("record_ms", "concurrency", "buffer"), [(1_000, 8, 8), (10, 8, 80), (1, 4, 400), (0.001, 8, 500), (50, 2, 4)]
)
def test_the_buffer_follows_the_pace_and_the_windows(record_ms: float, concurrency: int, buffer: int) -> None:
    bench = Bench(concurrency=concurrency, buffer=None, locks=2_000)
    assert bench.handling.buffer == concurrency
    bench.handling.pace.ran(1, record_ms)
    assert bench.handling.buffer == buffer


def test_a_batch_handler_has_its_batches_ahead() -> None:
    bench = Bench(concurrency=2, buffer=None, batch=BatchSizes(500, 1_000))
    assert bench.handling.buffer == 1_000


def test_more_partitions_allow_more() -> None:
    bench = Bench(buffer=None)
    bench.handling.pace.ran(1_000, 1)
    bench.take(0)
    bench.take(0, partition=1)
    assert bench.handling.buffer == 1_000


def test_delayed_records_have_a_budget() -> None:
    bench = Bench(concurrency=2_000, buffer=5_000, times=9)
    jobs = bench.take(*range(MOST_DELAYED))
    for job in jobs[:-1]:
        bench.fail(job, Retry(after=60))
    assert bench.handling.wanted(0) == 5_000
    bench.fail(jobs[-1], Retry(after=60))
    assert bench.handling.holdings.is_full
    assert bench.handling.wanted(0) == 0
    bench.advance(60_000)
    assert bench.handling.wanted(0) == 5_000


def test_new_handlers_get_single_records_and_fast_ones_more() -> None:
    bench = Bench(concurrency=2)
    bench.take(*range(4))
    assert bench.started == [[0], [1]]
    bench.fast()
    bench.take(*range(4, 50))
    bench.succeed(*bench.running)
    assert bench.started[2:] == [[2, 3], list(range(4, 50))], "a run stays within a delivery"


def test_runs_and_buffers_are_bounded() -> None:
    pace = HandlerPace()
    for _ in range(20):
        pace.ran(1_000_000, 0)
    assert pace.run_size(10**9, 1) == 1_000
    assert pace.buffer(10**6) == 20_000
    assert pace.run_size(0, 0) == 1


def test_a_slow_record_counts_at_once() -> None:
    pace = HandlerPace()
    for _ in range(10):
        pace.ran(1_000, 10)
    assert pace.run_size(1_000, 1) > 100
    pace.ran(1, 500)
    assert not pace.is_fast
    assert pace.buffer(4) == 4
    pace.ran(0, 900)
    assert pace.record_ms == 500, "an empty run tells nothing"


def test_all_free_slots_get_some() -> None:
    pace = HandlerPace()
    for _ in range(10):
        pace.ran(1_000, 1)
    assert pace.run_size(100, 4) == 25
    assert pace.run_size(3, 8) == 1


def test_slow_runs_give_back_what_they_have_not_started() -> None:
    bench = Bench(concurrency=2)
    bench.fast()
    jobs = bench.take(*range(10))
    assert bench.started == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    bench.succeed(jobs[5])
    bench.advance(19)
    bench.handling.runs.stretched(bench.now_ms)
    assert len(bench.running) == 5
    bench.advance(1)
    bench.handling.runs.stretched(bench.now_ms)
    bench.go()
    assert bench.started[2][0] == 1
    assert bench.runs[0].records == jobs[:1]
    while bench.running:
        bench.succeed(bench.running[0])
    assert bench.outcomes == dict.fromkeys(jobs, AcknowledgeType.ACCEPT)


def test_fast_handlers_have_runs_in_the_queue_of_their_slots() -> None:
    bench = Bench(concurrency=2, queued=2)
    bench.take(*range(4))
    assert bench.started == [[0], [1]]
    bench.fast()
    bench.take(4)
    assert bench.started == [[0], [1], [2, 3], [4]]


def test_never_more_runs_than_slots() -> None:
    bench = Bench(concurrency=3)
    bench.take(*range(20))
    assert len(bench.runs) == 3


def test_records_are_read_when_they_are_taken() -> None:
    read: list[int] = []

    def records() -> Iterator[int]:
        for each in range(10):
            read.append(each)
            yield each

    fresh: FreshRecords[int] = FreshRecords()
    fresh.add(records(), 10)
    assert (len(fresh), read) == (10, [])
    assert fresh.take(3) == [0, 1, 2]
    assert list(fresh.firsts()) == [3]
    assert read == [0, 1, 2, 3]
    fresh.put_back([1, 2])
    assert [*fresh.take(9), *fresh.take(9)] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert len(fresh) == 0


def test_unreadable_records_leave_nothing_behind() -> None:
    fresh: FreshRecords[int] = FreshRecords()
    fresh.add([], 5)
    fresh.add([7], 2)
    assert fresh.take(4) == [7]
    assert len(fresh) == 0
    assert not fresh.take(1)


def test_removing_keeps_the_order() -> None:
    fresh: FreshRecords[int] = FreshRecords()
    fresh.add(range(5), 5)
    fresh.add(range(5, 8), 3)
    fresh.take(1)
    assert fresh.remove(lambda each: each % 2 == 0) == [2, 4, 6]
    assert [*fresh.take(9), *fresh.take(9)] == [1, 3, 5, 7]


def test_first_deliveries_and_others_are_the_same_records() -> None:
    bench = Bench(concurrency=3)
    jobs = [Job((PARTITIONS[0], offset)) for offset in range(3)]
    bench.handling.arrived_first(PARTITIONS[0], jobs, 2, 0)
    bench.go()
    assert bench.running == jobs
