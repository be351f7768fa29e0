"""Suspects: records that were delivered before."""

import pytest

from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.suspects import LONGEST_ALONE_MS
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job

REJECT = AcknowledgeType.REJECT


def job(offset: int, count: int) -> Job:
    return Job((PARTITIONS[0], offset), count)


def test_second_deliveries_run_in_a_sub_batch_without_others() -> None:
    bench = Bench(concurrency=8)
    bench.confirms = False
    jobs = bench.arrive([*(job(n, 1) for n in range(3)), *(job(n, 2) for n in range(3, 70))])
    assert bench.started == [[n] for n in range(3, 11)], "no new ones beside them"
    while bench.running and max(bench.running, key=lambda each: each.place[1]).place[1] < 67:
        bench.succeed(bench.running[0])
    while bench.running:
        bench.succeed(bench.running[0])
    assert [n for run in bench.started for n in run] == list(range(3, 67)), "a sub-batch is 64 records"
    bench.confirm()
    bench.go()
    assert bench.running == jobs[67:]
    while bench.running:
        bench.succeed(bench.running[0])
    assert len(bench.started) == 67, "not confirmed yet"
    bench.confirm()
    bench.go()
    assert bench.running == jobs[:3]


def test_they_wait_until_nothing_runs() -> None:
    bench = Bench()
    bench.confirms = False
    first = bench.take(0)[0]
    again = bench.take(1, count=2)[0]
    bench.take(2)
    assert bench.running == [first]
    bench.succeed(first)
    assert not bench.running, "its acknowledgement is under way"
    bench.confirm()
    bench.go()
    assert bench.running == [again]


@pytest.mark.parametrize(("limit", "count"), [(5, 4), (5, 5), (2, 2), (3, 2), (10, 9)])
def test_near_the_limit_they_are_copied_first_and_run_alone(limit: int, count: int) -> None:
    bench = Bench(limit=limit)
    bench.confirms = False
    jobs = bench.take(0, 1, count=count)
    assert bench.letters == [(0, "before processing"), (1, "before processing")]
    assert not bench.runs
    bench.write()
    assert len(bench.running) == 1
    bench.succeed(bench.running[0])
    assert not bench.running, "not confirmed yet"
    bench.confirm()
    bench.go()
    assert len(bench.running) == 1
    bench.succeed(bench.running[0])
    assert bench.outcomes == dict.fromkeys(jobs, AcknowledgeType.ACCEPT)
    assert len(bench.letters) == 2


def test_below_that_they_are_not_copied() -> None:
    bench = Bench(limit=5)
    bench.take(0, count=3)
    assert not bench.letters
    assert len(bench.running) == 1


def test_what_was_copied_before_is_not_copied_again() -> None:
    bench = Bench(times=0)
    last = bench.take(0, count=5)[0]
    bench.write()
    bench.fail(last)
    assert bench.outcomes == {last: REJECT}
    assert bench.letters == [(0, "before processing")]


def test_a_copy_that_is_not_confirmed_holds_the_record() -> None:
    bench = Bench()
    bench.take(0, count=5)
    bench.write(OSError("no leader"))
    assert not bench.runs
    bench.advance(300)
    bench.write()
    assert len(bench.running) == 1


def test_others_resume_after_30_seconds() -> None:
    bench = Bench(concurrency=2)
    slow = bench.take(0, count=2)[0]
    other = bench.take(1)[0]
    assert bench.handling.wakes_ms() == LONGEST_ALONE_MS
    bench.advance(LONGEST_ALONE_MS - 1)
    assert bench.running == [slow]
    bench.advance(1)
    assert bench.running == [slow, other]
    assert bench.handling.wakes_ms() is None, "nothing else is due"


def test_slow_handlers_do_not_keep_suspects_from_running() -> None:
    bench = Bench(concurrency=2)
    first = bench.take(0)[0]
    again = bench.take(1, 2, count=4)
    bench.take(*range(3, 20))
    bench.write()
    bench.advance(LONGEST_ALONE_MS)
    for _ in range(8):
        if set(again) <= set(bench.outcomes):
            break
        bench.advance(LONGEST_ALONE_MS)
        bench.succeed(next(each for each in bench.running if each is not first))
    assert set(again) <= set(bench.outcomes), "although it was never quiet"
    assert first in bench.running


def test_a_suspect_does_not_inherit_the_wait_of_one_that_was_lost() -> None:
    bench = Bench(concurrency=2)
    (slow,) = bench.take(0)
    (lost,) = bench.arrive([job(1, 2)])
    bench.advance(LONGEST_ALONE_MS - 1)
    bench.lose(lost)
    bench.advance(10)
    (suspect,) = bench.arrive([job(2, 2)])
    assert bench.running == [slow], "it waits until nothing runs"
    (other,) = bench.take(3)
    bench.succeed(slow)
    assert bench.running == [suspect]
    bench.succeed(suspect)
    assert bench.running == [other]


def test_others_wait_for_a_suspect_although_a_copy_comes_in_between() -> None:
    bench = Bench(concurrency=3)
    (suspect,) = bench.arrive([job(1, 2)])
    at_risk, other = bench.arrive([job(2, 4), job(3, 1)])
    assert bench.running == [suspect]
    bench.lose(at_risk)
    bench.write()
    bench.go()
    assert bench.running == [suspect]
    bench.succeed(suspect)
    assert bench.running == [other]


def test_nothing_is_fetched_beside_suspects() -> None:
    bench = Bench()
    again = bench.take(0, count=2)[0]
    assert bench.handling.wanted(bench.now_ms) == 0
    bench.succeed(again)
    assert bench.handling.wanted(bench.now_ms) == 100


def test_an_open_breaker_interrupts_a_sub_batch() -> None:
    bench = Bench(concurrency=1)
    bench.confirms = False
    jobs = bench.take(0, 1, 2, 3, 4, count=2)
    for each in jobs[:3]:
        bench.fail(each, outage())
    bench.advance(300)
    bench.succeed(bench.running[0])
    assert not bench.running, "the probe is not confirmed"
    bench.confirm()
    bench.go()
    assert bench.running == [jobs[4]], "the rest of the sub-batch, before retries"


def test_what_no_slot_has_started_stays_a_suspect() -> None:
    bench = Bench(concurrency=2)
    bench.starts = 0
    first, second = bench.take(0, 1, count=2)
    bench.take(2)
    bench.advance(50)
    bench.handling.runs.stretched(bench.now_ms)
    for run in list(bench.runs):
        bench.end(run, {})
    assert bench.running
    assert set(bench.running) <= {first, second}, "the new one waits"


def test_records_of_a_killed_process_run_alone_after_the_others() -> None:
    bench = Bench()
    bench.handling.suspect([RunningRange(PARTITIONS[0], 1, 2)])
    assert bench.handling.holdings.suspects.named.covers(PARTITIONS[0], 2, 9)
    assert not bench.handling.holdings.suspects.named.covers(PARTITIONS[0], 3, 9)
    jobs = bench.arrive([job(0, 2), job(1, 2), job(2, 1), job(3, 2), job(4, 1)])
    assert bench.running == [jobs[0], jobs[3]]
    bench.succeed(*bench.running)
    assert bench.running == [jobs[1]]
    bench.succeed(jobs[1])
    assert bench.running == [jobs[2]]
    bench.succeed(jobs[2])
    assert bench.running == [jobs[4]]


def test_last_deliveries_go_first_when_the_worker_stops() -> None:
    bench = Bench(copies=False)
    first = bench.take(9)[0]
    bench.arrive([job(0, 2), job(1, 5), job(2, 4), job(3, 1)])
    bench.stop(25_000)
    order = [first]
    bench.succeed(first)
    while bench.running:
        order.append(bench.running[0])
        bench.succeed(bench.running[0])
    assert [each.place[1] for each in order] == [9, 1, 2, 0, 3]
