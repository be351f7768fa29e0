"""When a drain stops acquiring, and why."""

from kafka_groups.spark.draining.drain_budget import DrainBudget, DrainLimits

LIMITS = DrainLimits(max_records=100, max_bytes=10_000, idle_ms=2_000, max_ms=60_000)


def test_it_goes_on_until_nothing_came_for_a_while() -> None:
    budget = DrainBudget(LIMITS, 0)
    assert budget.next_timeout_ms(0) == 100, "before a leader answered, a long poll would notice it late"
    budget.polled(0, 0, is_ready=False)
    assert budget.next_timeout_ms(30_000) == 100, "before a leader answered, nothing coming means nothing"
    budget.polled(5, 500, is_ready=True)
    assert budget.next_timeout_ms(31_000) == 1_000
    budget.polled(0, 500, is_ready=True)
    assert budget.next_timeout_ms(32_500) == 500, "half a second is left of two"
    budget.polled(0, 500, is_ready=True)
    assert budget.next_timeout_ms(33_000) is None
    assert budget.stopped_by(33_000) == "idle"


def test_a_limit_ends_it_after_what_was_fetched_ahead_was_taken() -> None:
    for count, fetched, reason in ((100, 500, "records"), (1, 10_000, "bytes")):
        budget = DrainBudget(LIMITS, 0)
        assert budget.next_timeout_ms(0)
        budget.polled(count, fetched, is_ready=True)
        assert budget.next_timeout_ms(10) == 0
        budget.polled(3, fetched, is_ready=True)
        assert budget.next_timeout_ms(20) == 0
        budget.polled(0, fetched, is_ready=True)
        assert budget.next_timeout_ms(30) is None
        assert budget.stopped_by(30) == reason


def test_time_ends_it_whatever_comes() -> None:
    budget = DrainBudget(LIMITS, 0)
    budget.next_timeout_ms(0)
    budget.polled(1, 10, is_ready=True)
    assert budget.next_timeout_ms(59_500) == 500
    budget.polled(1, 10, is_ready=True)
    assert budget.next_timeout_ms(60_000) == 0, "what was fetched ahead is taken"
    budget.polled(0, 10, is_ready=True)
    assert budget.next_timeout_ms(60_010) is None
    assert budget.stopped_by(60_010) == "time"


def test_nothing_is_fetched_ahead_when_the_next_response_may_be_the_last() -> None:
    for count, fetched in ((1, 5_001), (51, 10)):
        budget = DrainBudget(LIMITS, 0)
        assert budget.expects_another
        budget.next_timeout_ms(0)
        budget.polled(count, fetched, is_ready=True)
        assert not budget.expects_another
