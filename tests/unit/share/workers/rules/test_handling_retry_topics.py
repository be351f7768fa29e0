"""Long waits are spent in retry topics: which records move there, when, and with which headers."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.errors import NetworkError
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.signals import Retry
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState, read_headers
from kafka_groups.share.workers.rules.steps import WritePurpose, WriteRecords
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage, poison
from tests.unit.share.workers.rules.jobs import EPOCH_MS, Job

TOPICS = RetryTopics("r", delays=(10, 60))
WEEK_S = 604_800


def bench_with(**options: Any) -> Bench:
    return Bench(retry_topics=TOPICS, **options)


def topics_of(bench: Bench) -> list[str]:
    """The retry topics that records are being written to."""
    return [record.topic for write in bench.copies for record in write.records if write.purpose is WritePurpose.RETRY]


def state_of(write: WriteRecords[Job]) -> RetryState:
    [record] = write.records
    return read_headers(record.headers, "shop", "invoice")


def test_a_long_wait_is_spent_in_a_retry_topic() -> None:
    bench = bench_with()
    job = bench.take(7)[0]
    bench.now_ms = 500
    bench.fail(job, Retry("closed", after=75))
    [write] = bench.copies
    assert topics_of(bench) == ["r.1m"]
    assert write.records[0].headers[0] == ("own", b"1")
    state = state_of(write)
    assert (state.origin.topic, state.origin.partition, state.origin.offset) == ("orders", 0, 7)
    assert (state.attempts, state.retries, state.deaths) == (1, 1, 0)
    assert (state.first_failure_ms, state.due_ms) == (EPOCH_MS + 500, EPOCH_MS + 75_500)
    assert state.error == "Retry: closed"
    assert not state.is_possible_duplicate
    assert bench.outcomes == {}
    bench.write()
    assert bench.outcomes == {job: AcknowledgeType.ACCEPT}
    assert bench.handling.is_done


@pytest.mark.parametrize(
    ("after", "topic"),
    [(9.999, None), (10, "r.10s"), (59.999, "r.10s"), (60, "r.1m"), (WEEK_S, "r.1m")],
)
def test_the_largest_delay_that_is_at_most_the_wait(after: float, topic: str | None) -> None:
    bench = bench_with()
    bench.fail(bench.take(0)[0], Retry(after=after))
    assert topics_of(bench) == ([] if topic is None else [topic])
    assert len(bench.handling.holdings.waiting) == (topic is None)


def test_a_wait_of_more_than_a_week_is_shortened() -> None:
    bench = bench_with()
    bench.fail(bench.take(0)[0], Retry(after=10 * WEEK_S))
    assert state_of(bench.copies[0]).due_ms == EPOCH_MS + 1_000 * WEEK_S


def test_the_backoff_of_a_rule_decides_as_well() -> None:
    bench = bench_with(errors={ValueError: Backoff(first=20, most=86_400, times=2, jitter=0)})
    bench.fail(bench.take(0)[0], poison())
    assert topics_of(bench) == ["r.10s"]
    assert state_of(bench.copies[0]).due_ms == EPOCH_MS + 20_000


def test_outages_without_an_open_breaker_move_without_a_retry() -> None:
    bench = bench_with()
    job = bench.take(0)[0]
    for wait_s in (1, 2, 4, 4, 4):  # of the backoff: shorter than the smallest delay
        bench.fail(job, outage())
        bench.advance(1_000 * wait_s)
    assert topics_of(bench) == []
    bench = bench_with(errors={ConnectionError: Backoff(first=10, most=10, jitter=0)})
    bench.fail(bench.take(0)[0], outage())
    assert state_of(bench.copies[0]).retries == 1  # as a rule says


def test_what_moves_is_accepted_as_moved_and_nothing_else() -> None:
    bench = bench_with()
    bench.confirms = False
    moved, good = bench.take(0, 1)
    bench.fail(moved, Retry(after=10))
    bench.succeed(good)
    bench.write()
    assert {step.records[0]: step.has_moved for step in bench.settles} == {moved: True, good: False}


def test_a_write_that_fails_is_repeated_and_marked() -> None:
    bench = bench_with()
    job = bench.take(0)[0]
    bench.fail(job, Retry(after=10))
    bench.write(NetworkError("no leader"))
    assert bench.happened(EventKind.WRITE_FAILED) == 1
    assert bench.copies == []
    bench.advance(1_000)
    [write] = bench.copies
    assert (topics_of(bench), state_of(write).is_possible_duplicate) == (["r.10s"], True)
    assert state_of(write).due_ms == EPOCH_MS + 10_000
    bench.write()
    assert bench.outcomes == {job: AcknowledgeType.ACCEPT}


def test_a_redelivered_record_may_be_there_already() -> None:
    bench = bench_with()
    bench.fail(bench.take(0, count=2)[0], Retry(after=10))
    assert state_of(bench.copies[0]).is_possible_duplicate


def test_a_record_whose_lock_is_lost_while_it_moves_is_not_run_again_by_this_process() -> None:
    bench = bench_with()
    job = bench.take(0)[0]
    bench.fail(job, Retry(after=10))
    bench.lose(job)
    (again,) = bench.take(0, count=2)
    assert bench.running == []
    bench.write()
    assert bench.outcomes == {again: AcknowledgeType.ACCEPT}
    assert bench.started == [[0]]


# ---------------------------------------------------------------------------------------- the breaker


def opened(bench: Bench, *jobs: Job) -> None:
    for job in jobs:
        bench.fail(job, poison())
    assert bench.handling.breaker.is_open


def test_while_the_breaker_is_open_nothing_moves_and_then_what_still_has_to_wait() -> None:
    bench = bench_with(concurrency=5)
    patient, soon, *bad = bench.take(0, 1, 2, 3, 4)
    opened(bench, *bad)
    bench.fail(patient, Retry(after=3_600))
    bench.fail(soon, Retry(after=15))
    assert topics_of(bench) == []
    bench.advance(10_000)
    bench.succeed(bench.running[0])
    assert not bench.handling.breaker.is_open
    assert topics_of(bench) == ["r.1m"]
    assert state_of(bench.copies[0]).due_ms == EPOCH_MS + 3_600_000
    assert soon.place in {each.place for each in bench.handling.holdings.waiting}


def test_what_was_about_to_move_stays_when_the_breaker_opens() -> None:
    bench = bench_with(errors={KeyError: Backoff(first=30, most=30, jitter=0)})
    jobs = bench.take(0, 1, 2, 3)
    bench.fail(jobs[0], KeyError())
    bench.write(NetworkError("no leader"))  # it is written again later
    opened(bench, *jobs[1:])
    bench.advance(5_000)
    assert topics_of(bench) == []
    assert jobs[0].place in {each.place for each in bench.handling.holdings.waiting}
    bench.succeed(bench.running[0])
    assert topics_of(bench) == ["r.10s"]
    assert state_of(bench.copies[0]).due_ms == EPOCH_MS + 30_000


# ---------------------------------------------------------------------------------------- held records, windows


def test_a_record_that_is_held_goes_to_the_largest_delay() -> None:
    bench = bench_with(times=0, exhausted=OnError.HOLD)
    bench.fail(bench.take(0)[0], poison())
    assert topics_of(bench) == ["r.1m"]
    assert state_of(bench.copies[0]).due_ms == EPOCH_MS + 60_000


def test_a_record_that_fills_its_window_moves_to_the_smallest_delay() -> None:
    bench = bench_with(locks=100, concurrency=100)
    job, *others = bench.take(*range(100))
    bench.fail(job, Retry(after=8))
    for other in others:
        bench.succeed(other)
    bench.handling.measure_windows(bench.now_ms)
    assert topics_of(bench) == []
    bench.advance(6_000)
    bench.handling.measure_windows(bench.now_ms)
    bench.go()
    assert topics_of(bench) == ["r.10s"]
    assert state_of(bench.copies[0]).due_ms == EPOCH_MS + 8_000
    bench.write()
    assert bench.outcomes[job] is AcknowledgeType.ACCEPT


def test_a_window_that_is_full_during_an_outage_stays_full() -> None:
    bench = bench_with(locks=10, concurrency=10)
    jobs = bench.take(*range(10))
    opened(bench, *jobs[:3])
    bench.advance(6_000)
    bench.handling.measure_windows(bench.now_ms)
    bench.go()
    assert topics_of(bench) == []


# ---------------------------------------------------------------------------------------- stopping


def test_a_worker_that_stops_moves_long_waits_and_releases_the_others() -> None:
    bench = bench_with()
    long, short, waits = bench.take(0, 1, 2)
    bench.fail(waits, Retry(after=5))
    bench.stop(25_000)
    assert bench.outcomes == {waits: AcknowledgeType.RELEASE}
    bench.fail(long, Retry(after=60))
    bench.fail(short, Retry(after=5))
    assert topics_of(bench) == ["r.1m"]
    bench.write()
    assert bench.outcomes[long] is AcknowledgeType.ACCEPT
    assert bench.outcomes[short] is AcknowledgeType.RELEASE
    assert bench.handling.is_done


def test_events_name_the_topic() -> None:
    bench = bench_with()
    moved, waits = bench.take(0, 1)
    bench.fail(moved, Retry(after=10))
    bench.fail(waits, Retry(after=1))
    told: Mapping[int, str] = {
        event.place[1]: event.text for event in bench.handling.events if event.kind is EventKind.RETRIED and event.place
    }
    assert told == {0: "r.10s", 1: ""}


# ---------------------------------------------------------------------------------------- members of one handler


def test_the_topics_of_a_handler_share_one_breaker_and_one_probe() -> None:
    main = bench_with()
    retry = bench_with(others=main)
    jobs = main.take(0, 1, 2)
    opened(main, *jobs)
    retry.take(5)
    assert retry.running == []
    main.advance(1_000)
    assert len(main.running) == 1
    retry.advance(1_000)
    assert retry.running == []
    main.succeed(main.running[0])
    retry.go()
    assert len(retry.running) == 1
