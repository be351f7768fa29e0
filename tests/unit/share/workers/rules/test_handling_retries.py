"""Retries: what happens to a record whose handler raises."""

import random
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.signals import HandlerResultError, ParseError, Reject, Retry
from kafka_groups.share.workers.rules.failures.verdicts import Again, Decision, FailureRules, OnError
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage, poison

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


class Busy(Exception):  # noqa: N818 - the handler's words
    """An error of the handler."""


class VeryBusy(Busy):
    """A kind of it."""


def test_waits_double_and_then_the_record_is_a_dead_letter() -> None:
    bench = Bench(times=4)
    job = bench.take(0)[0]
    for wait_ms in (1_000, 2_000, 4_000, 4_000):
        bench.fail(job)
        assert bench.handling.wakes_ms() == bench.now_ms + wait_ms
        bench.advance(wait_ms - 1)
        assert not bench.runs
        bench.advance(1)
        assert bench.running == [job]
    bench.fail(job)
    assert bench.letters == [(0, "ValueError: poison")]
    assert not bench.outcomes, "not before its copy is confirmed"
    bench.write()
    assert bench.outcomes == {job: REJECT}
    assert bench.handling.is_done


def test_retries_begin_anew_with_each_delivery() -> None:
    bench = Bench(times=1)
    job = bench.take(0)[0]
    bench.fail(job)
    bench.lose(job)
    again = bench.take(0, count=2)[0]
    bench.fail(again)
    assert bench.retries_of(again) == 1
    assert not bench.letters


def test_without_retries_the_first_failure_decides() -> None:
    bench = Bench(times=0)
    bench.fail(bench.take(0)[0])
    assert bench.letters == [(0, "ValueError: poison")]


@pytest.mark.parametrize(
    ("rule", "kind"), [(OnError.ACCEPT, ACCEPT), (OnError.REJECT, REJECT), (OnError.RELEASE, RELEASE)]
)
def test_rules_for_errors_decide_at_once(rule: OnError, kind: AcknowledgeType) -> None:
    bench = Bench(errors={Busy: rule})
    job = bench.take(0)[0]
    bench.fail(job, VeryBusy())
    assert bench.outcomes == {job: kind}
    assert not bench.letters


@pytest.mark.parametrize("exhausted", [OnError.ACCEPT, OnError.REJECT, OnError.RELEASE, OnError.DEAD_LETTER])
def test_exhausted_records_are_settled(exhausted: OnError) -> None:
    bench = Bench(times=1, exhausted=exhausted)
    job = bench.take(0)[0]
    bench.fail(job)
    bench.advance(1_000)
    bench.fail(job)
    bench.write()
    kinds = {OnError.ACCEPT: ACCEPT, OnError.RELEASE: RELEASE}
    assert bench.outcomes == {job: kinds.get(exhausted, REJECT)}
    assert len(bench.letters) == (exhausted is OnError.DEAD_LETTER)


def test_held_records_are_retried_at_the_longest_wait_for_ever() -> None:
    bench = Bench(times=1, exhausted=OnError.HOLD)
    job = bench.take(0)[0]
    bench.fail(job)
    bench.advance(1_000)
    for _ in range(50):
        bench.fail(job)
        assert bench.handling.wakes_ms() == bench.now_ms + 4_000
        bench.advance(4_000)
    assert bench.happened(EventKind.HOLDS) == 50
    bench.succeed(job)
    assert bench.outcomes == {job: ACCEPT}


def test_stop_releases_the_record_and_names_the_error() -> None:
    bench = Bench(errors={Busy: OnError.STOP})
    job, other = bench.take(0, 1)
    error = Busy("no license")
    bench.fail(job, error)
    assert bench.handling.outcomes.stopped_by is error
    assert bench.outcomes == {job: RELEASE}
    assert bench.happened(EventKind.STOPS) == 1
    bench.fail(other, Busy("second"))
    assert bench.handling.outcomes.stopped_by is error, "the first"


def test_work_that_is_not_done_stops_the_worker() -> None:
    bench = Bench(exhausted=OnError.HOLD)
    job = bench.take(0)[0]
    bench.fail(job, HandlerResultError("a coroutine"))
    assert isinstance(bench.handling.outcomes.stopped_by, HandlerResultError)
    assert bench.outcomes == {job: RELEASE}


def test_reject_is_not_retried() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.fail(job, Reject("negative total"))
    assert bench.letters == [(0, "negative total")]
    bench.write()
    assert bench.outcomes == {job: REJECT}


def test_retry_waits_as_long_as_the_handler_asks() -> None:
    bench = Bench(times=2)
    job = bench.take(0)[0]
    for after_s in (30, 0):
        bench.fail(job, Retry("bank is closed", after=after_s))
        bench.advance(max(0, after_s * 1_000 - 1))
        assert bench.running == ([] if after_s else [job])
        bench.advance(1 if after_s else 0)
        assert bench.running == [job]
    bench.fail(job, Retry("bank is closed"))
    assert bench.letters == [(0, "bank is closed")]


@pytest.mark.parametrize("after_s", [86_400, float("inf"), 10**400])
def test_retry_waits_an_hour_at_most(after_s: float) -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.fail(job, Retry("quota used up", after=after_s))
    bench.advance(3_600_000 - 1)
    assert bench.running == []
    bench.advance(1)
    assert bench.running == [job]


@pytest.mark.parametrize("after", [-1, float("nan"), "60", True])
def test_retry_refuses_other_waits(after: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Retry\(after=.*\): give seconds, 0 or more, or None"):
        Retry(after=after)


class Closed(Reject):
    """A class of a program that does not call `__init__` of its base."""

    def __init__(self, reason: Any = None) -> None:
        if reason is not None:
            self.reason = reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Closed(), "rejected by the handler"), (Closed(404), "404"), (Reject(5_000 * "x"), 2_000 * "x")],
)
def test_reasons_are_texts_that_are_cut(error: Reject, reason: str) -> None:
    bench = Bench()
    bench.fail(bench.take(0)[0], error)
    assert [text.removesuffix("…") for _, text in bench.letters] == [reason]


@pytest.mark.parametrize(("exhausted", "is_held"), [(OnError.DEAD_LETTER, False), (OnError.HOLD, True)])
def test_values_that_cannot_be_parsed_are_exhausted_at_once(exhausted: OnError, is_held: bool) -> None:
    bench = Bench(exhausted=exhausted)
    bench.fail(bench.take(0)[0], ParseError(ValueError("no JSON")))
    assert bool(list(bench.handling.holdings.waiting)) == is_held
    assert bench.letters == ([] if is_held else [(0, "the value cannot be parsed: no JSON")])


def test_the_nearest_class_wins() -> None:
    rules = FailureRules(
        retries=Backoff(),
        exhausted=OnError.HOLD,
        errors={Busy: OnError.ACCEPT, Exception: OnError.STOP, VeryBusy: Backoff(first=5)},
        outages=(ConnectionError,),
    )
    assert rules.judge(Busy("x")) == Decision(OnError.ACCEPT, "Busy: x")
    assert rules.judge(VeryBusy()) == Again(Backoff(first=5))
    assert rules.judge(ConnectionResetError("y")) == Decision(OnError.STOP, "ConnectionResetError: y")
    assert rules.judge(Reject("z")) == Decision(OnError.DEAD_LETTER, "z")


def test_outages_are_not_counted_and_tell_of_the_sink() -> None:
    rules = FailureRules(retries=Backoff(), exhausted=OnError.HOLD, outages=(ConnectionError,))
    assert rules.judge(ConnectionResetError()) == Again(Backoff(), is_counted=False, tells_of_sink=True)
    assert rules.judge(ValueError()) == Again(Backoff(), is_counted=True, tells_of_sink=True)


def test_a_copy_that_fails_is_written_again_with_growing_waits() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.fail(job, Reject())
    for wait_ms in (200, 400, 800, 1_600):
        bench.write(OSError("no leader"))
        assert not bench.copies
        due_ms = bench.handling.wakes_ms()
        assert due_ms is not None
        assert 0.8 * wait_ms <= due_ms - bench.now_ms <= 1.2 * wait_ms
        bench.advance(due_ms - bench.now_ms)
        assert len(bench.copies) == 1
    assert not bench.outcomes
    bench.write()
    assert bench.outcomes == {job: REJECT}
    assert bench.happened(EventKind.WRITE_FAILED) == 4


def test_without_a_topic_of_the_worker_the_brokers_copy() -> None:
    bench = Bench(copies=False)
    job = bench.take(0)[0]
    bench.fail(job, Reject())
    assert bench.outcomes == {job: REJECT}
    assert not bench.letters


def test_waits_have_jitter_and_stay_in_bounds() -> None:
    backoff, rng = Backoff(first=1, most=30), random.Random(1)
    waits = [[backoff.wait_ms(failures, rng) for _ in range(200)] for failures in range(1, 40)]
    for number, several in enumerate(waits):
        middle = min(30, 2**number) * 1_000
        assert 0.8 * middle <= min(several) < max(several) <= 1.2 * middle
    assert Backoff().total_s == 31


@pytest.mark.parametrize(
    "wrong",
    [
        {"first": -1},
        {"first": True},
        {"first": 40},
        {"most": 604_801},
        {"times": -1},
        {"times": 1.5},
        {"times": 1_001},
        {"jitter": 1},
    ],
)
def test_backoffs_refuse_wrong_values(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=r"Backoff\("):
        Backoff(**wrong)  # type: ignore[arg-type]


def test_the_driver_does_not_wake_for_a_retry_that_has_no_slot() -> None:
    bench = Bench(concurrency=1)
    failing, slow = bench.take(0, 1)
    bench.fail(failing, outage())
    assert bench.running == [slow]
    bench.advance(5_000)
    assert bench.handling.wakes_ms() is None
    bench.succeed(slow)
    assert bench.running == [failing]


def test_failing_records_are_counted_by_class() -> None:
    bench = Bench()
    first, second, third = bench.take(0, 1, 2)
    bench.fail(first, poison())
    bench.fail(second, Retry())
    bench.succeed(third)
    assert bench.handling.holdings.failing() == {"ValueError": 1, "Retry": 1}
