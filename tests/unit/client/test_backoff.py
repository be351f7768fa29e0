"""Exponential back-off: bounds of the jitter, the longest wait, throttle times."""

import random

import pytest

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError


@pytest.mark.parametrize("seed", range(30))
def test_each_wait_is_within_a_fifth_of_its_term_and_doubles_up_to_the_longest(seed: int) -> None:
    backoff = BackoffTimer(100, 1000, random.Random(seed))
    now_ms = 5_000

    for term_ms in (100, 200, 400, 800, 1000, 1000, 1000):
        backoff.failed(now_ms)
        wait_ms = backoff.remaining_ms(now_ms)
        assert term_ms * 0.8 <= wait_ms <= term_ms * 1.2
        now_ms += wait_ms
        assert backoff.remaining_ms(now_ms) == 0


def test_jitter_spreads_the_waits() -> None:
    waits = set()
    for seed in range(50):
        backoff = BackoffTimer(1000, 1000, random.Random(seed))
        backoff.failed(0)
        waits.add(backoff.remaining_ms(0))
    assert len(waits) > 30


def test_a_thousand_failures_do_not_overflow() -> None:
    backoff = BackoffTimer(100, 1000, random.Random(1))
    for _ in range(1000):
        backoff.failed(0)
    assert backoff.failures == 1000
    assert backoff.remaining_ms(0) <= 1200


def test_success_starts_over() -> None:
    backoff = BackoffTimer(100, 1000, random.Random(1))
    for _ in range(5):
        backoff.failed(0)
    backoff.succeeded()
    assert backoff.remaining_ms(0) == 0
    backoff.failed(0)
    assert backoff.remaining_ms(0) <= 120


def test_a_throttle_time_waits_without_counting_as_a_failure_and_the_longer_wait_wins() -> None:
    backoff = BackoffTimer(100, 1000, random.Random(1))
    backoff.wait(500, 1_000)
    backoff.wait(50, 1_000)
    assert backoff.remaining_ms(1_200) == 300
    assert backoff.failures == 0


def test_background_errors_come_once_each_in_order_and_fatal_ones_for_ever() -> None:
    errors = BackgroundErrors()
    assert not errors
    errors.raise_first()
    errors.report(TopicAuthorizationFailedError("a"))
    errors.report(TopicAuthorizationFailedError("b"))
    errors.report(TopicAuthorizationFailedError("a"))
    errors.report_fatal(GroupAuthorizationFailedError("first"))
    errors.report_fatal(GroupAuthorizationFailedError("second"))

    for text in ("a", "b", "first", "first"):
        with pytest.raises((TopicAuthorizationFailedError, GroupAuthorizationFailedError), match=text):
            errors.raise_first()
    assert errors
