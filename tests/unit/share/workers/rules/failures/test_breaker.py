"""Outages of the sink: the breaker of a handler."""

import itertools

import pytest

from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.signals import ParseError, Reject, Retry
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.holdings import MOST_DELAYED
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage, poison
from tests.unit.share.workers.rules.jobs import Harmless, Job, Ruled

HOUR_MS = 3_600_000
ERRORS: dict[type[Exception], OnError | Backoff] = {Harmless: OnError.ACCEPT, Ruled: Backoff(jitter=0)}


def opened(bench: Bench, error: Exception | None = None) -> list[Job]:
    """Let three records fail."""
    jobs = bench.take(0, 1, 2)
    for job in jobs:
        bench.fail(job, error or outage())
    assert bench.handling.breaker.is_open
    return jobs


@pytest.mark.parametrize("error", [outage(), poison()], ids=["outage", "any"])
def test_three_failures_of_different_records_open_it(error: Exception) -> None:
    bench = Bench(errors=ERRORS)
    first, second, third = bench.take(0, 1, 2)
    bench.fail(first, error)
    bench.fail(second, error)
    assert bench.happened(EventKind.BREAKER_OPENED) == 0
    bench.fail(third, error)
    assert bench.handling.breaker.is_open
    assert bench.happened(EventKind.BREAKER_OPENED) == 1


def test_failures_of_one_record_do_not_open_it() -> None:
    bench = Bench(times=9)
    job = bench.take(0)[0]
    for _ in range(9):
        bench.fail(job)
        bench.advance(4_000)
    assert not bench.handling.breaker.is_open


def test_a_success_ends_the_row() -> None:
    bench = Bench()
    jobs = bench.take(0, 1, 2, 3)
    bench.fail(jobs[0])
    bench.fail(jobs[1])
    bench.succeed(jobs[2])
    bench.fail(jobs[3])
    assert not bench.handling.breaker.is_open


@pytest.mark.parametrize(("bad", "is_open"), [((1, 3, 5), False), ((0, 1, 9), False), ((7, 8, 9), True)])
def test_within_a_run_the_order_counts(bad: tuple[int, ...], is_open: bool) -> None:
    bench = Bench(concurrency=1)
    bench.fast()
    bench.take(*range(10))
    bench.end(bench.runs[0], {index: poison() for index in bad})
    assert bench.handling.breaker.is_open == is_open


@pytest.mark.parametrize("error", [Reject(), Retry(), ParseError(ValueError()), Harmless(), Ruled()])
def test_what_the_handler_or_a_rule_decides_is_no_outage(error: Exception) -> None:
    bench = Bench(errors=ERRORS)
    for job in bench.take(0, 1, 2, 3):
        bench.fail(job, error)
    assert not bench.handling.breaker.is_open


def test_one_probe_per_wait_each_of_another_record() -> None:
    bench = Bench()
    opened(bench)
    bench.take(3, 4)
    probes: list[int] = []
    times: list[int] = []
    while len(probes) < 8:
        bench.advance(1)
        for run in list(bench.runs):
            assert run.is_probe
            assert len(bench.runs) == 1
            probes.append(run.records[0].place[1])
            times.append(bench.now_ms)
            bench.end(run, {0: outage()})
    assert probes == [3, 4, 0, 1, 2, 3, 4, 0]
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    for wait_ms, expected_ms in zip(waits, (400, 800, 1_600, 3_200, 6_400, 12_800, 25_600), strict=True):
        assert 0.8 * expected_ms <= wait_ms <= 1.2 * expected_ms + 1
    assert bench.happened(EventKind.PROBE_FAILED) == 8


def test_a_probe_that_tells_nothing_is_followed_by_a_wait() -> None:
    bench = Bench()
    opened(bench)
    job = bench.take(3)[0]
    bench.advance(300)
    bench.fail(job, Reject())
    assert bench.letters == [(3, "rejected by the handler")]
    assert bench.handling.breaker.is_open
    assert not bench.runs, "the next probe waits"
    bench.advance(500)
    assert len(bench.runs) == 1


def test_a_wait_that_the_handler_asked_for_is_kept() -> None:
    bench = Bench()
    asks = bench.take(9)[0]
    bench.fail(asks, Retry(after=600))
    opened(bench)
    for _ in range(5):
        bench.advance(60_000)
        assert bench.running != [asks]
        bench.fail(bench.running[0], outage())
    bench.advance(600_000)
    for _ in range(4):
        if asks not in bench.running:
            bench.fail(bench.running[0], outage())
            bench.advance(60_000)
    assert bench.running == [asks], "once its time has come, its turn comes"


@pytest.mark.parametrize("error", [outage(), poison(), Retry(), Ruled()], ids=["outage", "any", "retry", "ruled"])
def test_no_retry_is_used_while_it_is_open(error: Exception) -> None:
    bench = Bench(errors=ERRORS)
    jobs = opened(bench, poison())
    before = {job: bench.retries_of(job) for job in jobs}
    for _ in range(20):
        bench.advance(40_000)
        bench.fail(bench.running[0], error)
    assert {job: bench.retries_of(job) for job in jobs} == before
    assert not bench.outcomes


def test_one_more_record_is_fetched_for_each_probe_to_find_a_success() -> None:
    bench = Bench()
    opened(bench)
    for offset in range(3, MOST_DELAYED):
        assert bench.handling.wanted(bench.now_ms) == 1
        job = bench.take(offset)[0]
        assert bench.handling.wanted(bench.now_ms) == 0, "one is there to be probed"
        while not bench.runs:
            bench.advance(1_000)
        bench.fail(job, outage())
    assert bench.handling.wanted(bench.now_ms) == 0, "as many wait as may"
    assert not bench.outcomes


def test_one_success_closes_it_and_everything_goes_on() -> None:
    bench = Bench()
    jobs = opened(bench)
    bench.advance(300)
    bench.succeed(bench.running[0])
    assert not bench.handling.breaker.is_open
    assert bench.happened(EventKind.BREAKER_CLOSED) == 1
    bench.advance(4_000)
    bench.succeed(*bench.running)
    assert bench.outcomes == dict.fromkeys(jobs, AcknowledgeType.ACCEPT)
    assert bench.handling.wanted(bench.now_ms) == 100


def test_a_run_of_which_all_was_taken_back_closes_nothing() -> None:
    bench = Bench()
    opened(bench)
    bench.take(5)
    bench.starts = 0
    bench.advance(300)
    bench.advance(30)
    bench.handling.runs.stretched(bench.now_ms)
    assert bench.runs[0].records == []
    bench.end(bench.runs[0], {})
    assert bench.handling.breaker.is_open


def test_errors_of_outages_use_no_retry_for_an_hour() -> None:
    bench = Bench(times=2)
    job = bench.take(0)[0]
    while bench.now_ms < HOUR_MS - 10_000:
        bench.fail(job, outage())
        assert bench.retries_of(job) == 0
        bench.advance(4_000)
    bench.advance(10_000)
    for used in (1, 2):
        bench.fail(job, outage())
        assert bench.retries_of(job) == used
        bench.advance(4_000)
    bench.fail(job, outage())
    assert bench.letters == [(0, "ConnectionError: the sink is down")]


def test_the_driver_wakes_for_the_next_probe_only() -> None:
    bench = Bench()
    opened(bench)
    due_ms = bench.handling.wakes_ms()
    assert due_ms is not None
    assert 160 <= due_ms <= 240
    bench.advance(due_ms)
    assert len(bench.runs) == 1
    wakes_ms = bench.handling.wakes_ms()
    assert wakes_ms is None or wakes_ms > bench.now_ms, "nothing else starts while the probe runs"
