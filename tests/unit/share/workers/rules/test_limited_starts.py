"""A rate limit: attempts start when their tokens are there, and waiting for them costs nothing."""

import random

from kafka_groups.share.workers.rules.failures.signals import Retry
from kafka_groups.share.workers.rules.handler_rate import HandlerRate, RateRule
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import BatchSizes
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.slot_sharing import SharedSlots
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage, poison
from tests.unit.share.workers.rules.jobs import Job

TEN_A_SECOND = RateRule(10, 1_000, 2)
ONE_A_MINUTE = RateRule(1, 60_000, 1)
FIVES = BatchSizes(5, 1_000)


def sleep(bench: Bench) -> int:
    """Let time pass until the rules want to be asked; returns it."""
    due_ms = bench.handling.wakes_ms()
    assert due_ms is not None
    bench.advance(due_ms - bench.now_ms)
    return bench.now_ms


def times(bench: Bench, starts: int) -> list[int]:
    """The times at which so many runs start, each of which succeeds at once."""
    found: list[int] = []
    while True:
        found += [bench.now_ms] * len(bench.runs)
        if len(found) >= starts:
            return found
        for run in [*bench.runs]:
            bench.end(run, {})
        if not bench.runs:
            sleep(bench)


# ---------------------------------------------------------------------------------------------- single records


def test_a_burst_starts_at_once_and_the_others_at_the_rate() -> None:
    bench = Bench(rate=TEN_A_SECOND, concurrency=8)
    bench.take(*range(5))
    assert bench.started == [[0], [1]]
    assert [sleep(bench), sleep(bench), sleep(bench)] == [100, 200, 300]
    assert bench.started == [[0], [1], [2], [3], [4]]
    assert bench.handling.wakes_ms() is None


def test_a_fast_handler_gets_single_records() -> None:
    bench = Bench(rate=RateRule(1_000, 1_000, 50))
    bench.fast()
    bench.take(*range(10))
    assert bench.started == [[0], [1], [2], [3]]


def test_a_slot_keeps_what_it_has_the_tokens_for() -> None:
    bench = Bench(rate=ONE_A_MINUTE)
    bench.starts = 0  # the machine is busy, and the thread of the slot has not begun
    bench.take(0)
    bench.now_ms += 20
    bench.handling.runs.stretched(bench.now_ms)
    assert bench.runs[0].unstarted == 1


def test_retries_are_attempts_and_waiting_uses_none() -> None:
    bench = Bench(rate=ONE_A_MINUTE, times=2)
    (job,) = bench.take(0)
    bench.fail(job)
    assert sleep(bench) == 1_000  # its retry is due
    assert not bench.runs
    assert sleep(bench) == 60_000
    assert bench.running == [job]
    bench.fail(job)
    assert [opened.retries for opened in bench.handling.holdings.waiting] == [2]
    assert bench.outcomes == {}


def test_waiting_holds_no_slot_and_tells_the_breaker_nothing() -> None:
    bench = Bench(rate=ONE_A_MINUTE, concurrency=2)
    bench.take(0, 1, 2, 3)
    bench.advance(30_000)
    assert (bench.handling.in_hand["running"], bench.handling.in_hand["held"]) == (1, 3)
    assert not bench.handling.breaker.is_open


def test_probes_are_attempts() -> None:
    bench = Bench(rate=RateRule(1, 60_000, 3), concurrency=3)
    jobs = bench.take(0, 1, 2, 3)
    for job in jobs[:3]:
        bench.fail(job, outage())
    assert bench.handling.breaker.is_open
    while not bench.runs:
        sleep(bench)
    assert bench.now_ms == 60_000
    assert bench.runs[0].is_probe


def test_the_order_of_keys_is_kept() -> None:
    bench = Bench(rate=RateRule(10, 1_000, 1), is_keyed=True, concurrency=4)
    for offset, key in enumerate(["ann", "ann", "bob", "ann"]):
        bench.take(offset, key=key)
    assert times(bench, 4) == [0, 100, 200, 300]
    assert [offsets for (offsets,) in bench.started if offsets != 2] == [0, 1, 3]


# ---------------------------------------------------------------------------------------------- what is fetched


def test_no_more_is_wanted_than_may_start_within_a_second() -> None:
    bench = Bench(rate=RateRule(10, 1_000, 2), concurrency=100, buffer=None)
    assert bench.handling.wanted(0) == 10
    bench.take(*range(7))
    assert bench.handling.wanted(0) == 0  # two run, five are held
    sleep(bench)
    assert bench.handling.wanted(bench.now_ms) == 6


def test_one_record_is_wanted_of_a_slow_handler_and_none_beyond_concurrency() -> None:
    assert Bench(rate=ONE_A_MINUTE, concurrency=100, buffer=None).handling.wanted(0) == 1
    assert Bench(rate=RateRule(1_000, 1_000, 1_000), concurrency=8, buffer=None).handling.wanted(0) == 8
    assert Bench(rate=RateRule(1, 60_000, 30), concurrency=100, buffer=None).handling.wanted(0) == 30


# ---------------------------------------------------------------------------------------------- batches


def test_a_batch_waits_for_tokens_for_all_of_it() -> None:
    bench = Bench(rate=RateRule(5, 1_000, 5), batch=FIVES, concurrency=1)
    bench.take(*range(8))
    assert bench.started == [[0, 1, 2, 3, 4]]
    bench.end(bench.runs[0], {})
    bench.take(8, 9)
    assert sleep(bench) == 1_000
    assert bench.started[1:] == [[5, 6, 7, 8, 9]]


def test_a_batch_is_never_larger_than_the_burst() -> None:
    bench = Bench(rate=RateRule(2, 1_000, 2), batch=FIVES, concurrency=9)
    bench.take(*range(5))
    assert bench.started == [[0, 1]]  # at once, as it cannot get larger
    assert [sleep(bench), sleep(bench)] == [1_000, 2_000]  # the last one waits for others until then
    assert bench.started == [[0, 1], [2, 3], [4]]


def test_a_batch_that_is_not_due_does_not_count_as_limited() -> None:
    bench = Bench(rate=RateRule(1, 60_000, 5), batch=FIVES)
    bench.take(*range(5))
    bench.take(5)
    bench.advance(999)
    bench.advance(0)
    assert bench.handling.take_limited_ms() == 0
    bench.advance(1)
    bench.advance(500)
    assert bench.handling.take_limited_ms() == 500


def test_halves_take_tokens_for_their_records() -> None:
    bench = Bench(rate=RateRule(1, 1_000, 4), batch=BatchSizes(4, 0), concurrency=1)
    bench.take(0, 1, 2, 3)
    bench.end(bench.runs[0], {}, failed=poison())
    assert times(bench, 2) == [2_000, 4_000]
    assert bench.started == [[0, 1, 2, 3], [0, 1], [2, 3]]


def test_due_retries_make_a_batch_of_as_many_as_there_are_tokens_when_nobody_waits() -> None:
    bench = Bench(rate=RateRule(1, 1_000, 4), batch=BatchSizes(4, 0), concurrency=1, errors={})
    jobs = bench.take(0, 1, 2, 3)
    bench.end(bench.runs[0], dict.fromkeys(range(4), Retry("later", after=1)))
    assert sleep(bench) == 1_000
    assert not bench.runs
    assert sleep(bench) == 4_000
    assert bench.running == jobs


# ---------------------------------------------------------------------------------------------- time that was waited


def test_the_time_counts_in_which_a_record_could_start_but_for_the_limit() -> None:
    bench = Bench(rate=RateRule(1, 1_000, 1), concurrency=1)
    first, second = bench.take(0, 1)
    bench.advance(400)  # the slot is busy
    assert bench.handling.take_limited_ms() == 0
    bench.succeed(first)
    bench.advance(250)
    assert bench.handling.take_limited_ms() == 250
    bench.advance(350)
    assert bench.running == [second]
    assert bench.handling.take_limited_ms() == 350
    bench.succeed(second)
    bench.advance(5_000)
    assert bench.handling.take_limited_ms() == 0


def test_time_in_which_several_parts_wait_counts_once() -> None:
    rate = HandlerRate(RateRule(1, 1_000, 1))
    rate.waited(0, 300)
    rate.waited(100, 300)
    rate.waited(200, 500)
    assert rate.take_waited_ms() == 500


# ---------------------------------------------------------------------------------------------- retry topics


def both(main: Bench, retry: Bench, until_ms: int) -> str:
    """Which of the two start attempts until a time, each of which succeeds at once: "m" and "r"."""
    started = ""
    while True:
        for bench, letter in ((main, "m"), (retry, "r")):
            bench.go()
            while bench.runs:
                started += letter
                bench.end(bench.runs[0], {})
        due_ms = min(due for bench in (main, retry) if (due := bench.handling.wakes_ms()) is not None)
        if due_ms > until_ms:
            return started
        main.now_ms = retry.now_ms = due_ms


def test_a_handler_and_its_retry_topic_take_turns_while_both_wait() -> None:
    main = Bench(rate=RateRule(10, 1_000, 1))
    retry = Bench(others=main)
    main.take(*range(100))
    retry.take(*range(100), partition=1)
    started = both(main, retry, 1_990)
    assert started in ("mr" * 10, "rm" * 10)


def test_who_waits_alone_gets_all_tokens() -> None:
    main = Bench(rate=RateRule(10, 1_000, 1))
    retry = Bench(others=main)
    main.take(*range(100))
    retry.take(0, 1, partition=1)
    started = both(main, retry, 1_990)
    assert (len(started), started.count("r")) == (20, 2)


def test_who_has_left_is_not_waited_for() -> None:
    main = Bench(rate=ONE_A_MINUTE)
    retry = Bench(others=main)
    main.take(0, 1)
    retry.take(0, partition=1)
    retry.handling.leave()
    assert times(main, 2) == [0, 60_000]


# ---------------------------------------------------------------------------------------------- the stop


def test_a_stop_runs_what_gets_its_tokens_in_time_and_releases_the_rest_at_its_end() -> None:
    bench = Bench(rate=RateRule(1, 1_000, 1))
    jobs = bench.take(0, 1, 2, 3)
    bench.succeed(jobs[0])
    bench.stop(2_500)
    sleep(bench)
    bench.succeed(jobs[1])
    sleep(bench)
    assert bench.running == [jobs[2]]
    assert jobs[3] not in bench.outcomes or bench.outcomes[jobs[3]] is AcknowledgeType.RELEASE
    bench.advance(500)
    assert bench.outcomes[jobs[3]] is AcknowledgeType.RELEASE


def test_a_stop_releases_at_once_what_could_not_start_in_its_time() -> None:
    bench = Bench(rate=ONE_A_MINUTE, concurrency=2)
    first, second = bench.take(0, 1)
    bench.stop(25_000)
    assert bench.outcomes == {second: AcknowledgeType.RELEASE}
    bench.succeed(first)
    assert bench.handling.is_done


def test_a_batch_of_a_worker_that_stops_is_as_large_as_its_tokens() -> None:
    bench = Bench(rate=RateRule(1, 1_000, 5), batch=FIVES, concurrency=2)
    bench.take(0, 1, 2, 3, 4)
    bench.advance(2_000)
    bench.take(5, 6, 7, 8, 9)
    assert len(bench.runs) == 1
    bench.stop(25_000)
    assert bench.started[1:] == [[5, 6]]


# ---------------------------------------------------------------------------------------------- suspects


def test_the_time_of_a_suspect_begins_when_its_token_is_there() -> None:
    bench = Bench(rate=ONE_A_MINUTE, concurrency=4)
    bench.succeed(*bench.take(0))
    bench.take(1, count=2)
    bench.take(2)
    bench.advance(59_999)
    assert bench.handling.wanted(bench.now_ms) == 0, "what comes beside the suspect would share its end"
    bench.advance(1)
    assert bench.started == [[0], [1]]
    bench.advance(29_999)
    assert bench.handling.wanted(bench.now_ms) == 0


def test_a_suspect_asks_for_the_process_when_it_could_start() -> None:
    gate = ProcessGate()
    bench, other = Bench(rate=ONE_A_MINUTE), Bench()
    rules = bench.handling._rules
    limited: RecordHandling[Job] = RecordHandling(
        rules, random.Random(7), gate, SharedSlots(4, HandlerRate(ONE_A_MINUTE))
    )
    gate.enter(other.handling)
    bench.handling = limited
    bench.succeed(*bench.take(0))
    bench.take(1, count=4)
    bench.write()
    assert gate.may_fetch(other.handling, bench.now_ms)
    bench.advance(59_500)
    assert not gate.may_fetch(other.handling, bench.now_ms)
    bench.advance(500)
    assert bench.started == [[0], [1]]
