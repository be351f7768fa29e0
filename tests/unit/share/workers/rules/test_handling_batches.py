"""Batch handlers."""

import pytest

from kafka_groups.share.workers.rules.failures.signals import Reject
from kafka_groups.share.workers.rules.limits import BatchSizes
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage, poison
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job

ACCEPT, REJECT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE
SIZES = BatchSizes(8, 1_000)


def batches(*, concurrency: int = 1, times: int = 0) -> Bench:
    return Bench(concurrency=concurrency, times=times, batch=SIZES)


def test_a_batch_waits_for_others_until_it_is_due() -> None:
    bench = batches()
    bench.take(0, 1, 2)
    assert not bench.runs
    assert bench.handling.wakes_ms() == 1_000
    bench.advance(999)
    assert not bench.runs
    bench.advance(1)
    assert bench.started == [[0, 1, 2]]


def test_a_full_batch_starts_at_once() -> None:
    bench = batches(concurrency=2)
    bench.take(*range(5))
    bench.take(*range(5, 20))
    assert bench.started == [list(range(8)), list(range(8, 16))]


def test_what_a_batch_fails_alone_is_judged_and_the_rest_accepted() -> None:
    bench = batches(times=1)
    jobs = bench.take(*range(8))
    bench.end(bench.runs[0], {2: poison(), 5: Reject("bad")})
    assert bench.outcomes == {each: ACCEPT for number, each in enumerate(jobs) if number not in (2, 5)}
    assert bench.letters == [(5, "bad")]
    assert bench.retries_of(jobs[2]) == 1


@pytest.mark.parametrize("bad", range(8))
def test_halves_find_the_bad_record(bad: int) -> None:
    bench = batches()
    jobs = bench.take(*range(8))
    while bench.runs:
        run = bench.runs[0]
        bench.end(run, {}, failed=poison() if jobs[bad] in run.records else None)
        bench.advance(300 if bench.handling.breaker.is_open else 0)
    bench.write()
    assert bench.outcomes == {each: REJECT if each is jobs[bad] else ACCEPT for each in jobs}
    assert len(bench.started) <= 9
    assert bench.handling.is_done


def test_an_outage_opens_the_breaker_and_probes_are_single_records() -> None:
    bench = batches(times=1)
    jobs = bench.take(*range(8))
    while not bench.handling.breaker.is_open:
        bench.end(bench.runs[0], {}, failed=outage())
    for _ in range(20):
        bench.advance(40_000)
        assert [len(run.records) for run in bench.runs] == [1]
        bench.end(bench.runs[0], {}, failed=outage())
    assert not bench.outcomes
    bench.advance(40_000)
    while bench.runs:
        bench.end(bench.runs[0], {})
    assert bench.outcomes == dict.fromkeys(jobs, ACCEPT)


def test_retries_run_in_batches() -> None:
    bench = batches(times=1)
    jobs = bench.take(*range(8))
    bench.end(bench.runs[0], {0: poison(), 1: poison()})
    bench.advance(1_000)
    assert bench.started[-1] == [0, 1]
    bench.end(bench.runs[0], {})
    assert bench.outcomes == dict.fromkeys(jobs, ACCEPT)


def test_records_lost_during_a_batch_are_not_settled() -> None:
    bench = batches()
    jobs = bench.take(*range(8))
    assert bench.lose(*jobs[:4]) == 4
    bench.end(bench.runs[0], {6: Reject()})
    assert bench.outcomes == dict.fromkeys((jobs[4], jobs[5], jobs[7]), ACCEPT)
    again = bench.take(0, count=2)[0]
    assert bench.outcomes[again] is ACCEPT, "it was done after the loss"


def test_of_a_failed_batch_only_what_is_not_lost_is_tried_again() -> None:
    bench = batches()
    jobs = bench.take(*range(8))
    bench.lose(*jobs[:5])
    bench.end(bench.runs[0], {}, failed=poison())
    assert bench.started[1:] == [[5, 6]]


def test_a_stop_ends_the_wait_for_others() -> None:
    bench = batches()
    bench.take(0, 1)
    bench.stop(25_000)
    assert bench.started == [[0, 1]]


def test_suspects_come_one_by_one() -> None:
    bench = batches(concurrency=4)
    bench.take(0, 1, count=2)
    assert bench.started == [[0], [1]]
    assert all(run.is_batch for run in bench.runs)


def test_a_delivery_without_readable_records_is_no_batch() -> None:
    bench = batches()
    unreadable: list[Job] = []

    class Unreadable(list[Job]):
        def __len__(self) -> int:
            return 8

    bench.handling.arrived_first(PARTITIONS[0], Unreadable(unreadable), 7, 0)
    bench.go()
    assert not bench.runs
    assert bench.handling.is_done


def test_batches_are_not_taken_back() -> None:
    bench = batches()
    jobs = bench.take(*range(8))
    bench.advance(5_000)
    bench.handling.runs.stretched(bench.now_ms)
    assert bench.running == jobs
    bench.stop(0)
    assert bench.running == jobs
    assert RELEASE not in bench.outcomes.values()
