"""How long a task polls."""

import pytest

from kafka_groups.spark.workers.budget import BudgetLimits, PollBudget

LIMITS = BudgetLimits(max_records=100, max_ms=5_000)
DRAINED = BudgetLimits(max_records=100, max_ms=5_000, drained_ms=2_000)


def test_a_task_ends_when_its_time_is_up() -> None:
    budget = PollBudget(LIMITS, 0)
    assert budget.next_timeout_ms(0) == 100, "before a leader answered, a long poll would notice it late"
    budget.polled(0, is_answered=True)
    assert budget.next_timeout_ms(100) == 1_000
    budget.polled(0, is_answered=True)
    assert budget.next_timeout_ms(4_700) == 300
    budget.polled(0, is_answered=True)
    assert budget.next_timeout_ms(5_000) is None


def test_a_task_ends_when_it_has_had_enough_but_takes_what_is_there_already() -> None:
    budget = PollBudget(LIMITS, 0)
    budget.next_timeout_ms(0)
    budget.polled(120, is_answered=True)
    assert budget.next_timeout_ms(20) == 0
    budget.polled(30, is_answered=True)
    assert budget.next_timeout_ms(30) == 0
    budget.polled(0, is_answered=True)
    assert budget.next_timeout_ms(30) is None


@pytest.mark.parametrize(("taken", "now_ms", "expected"), [(30, 100, True), (50, 100, False), (30, 4_950, False)])
def test_nothing_is_to_be_fetched_ahead_of_what_is_likely_the_last_poll(
    taken: int, now_ms: int, expected: bool
) -> None:
    budget = PollBudget(LIMITS, 0)
    assert budget.expects_another(0)
    budget.next_timeout_ms(now_ms - 80)
    budget.polled(taken, is_answered=True)
    budget.next_timeout_ms(now_ms)
    assert budget.expects_another(now_ms) == expected


def test_a_group_is_drained_when_nothing_came_for_long_enough_and_not_before() -> None:
    budget = PollBudget(DRAINED, 0)
    budget.next_timeout_ms(0)
    budget.polled(5, is_answered=True)
    for now_ms in (1_000, 2_000, 3_000):
        assert budget.next_timeout_ms(now_ms) == 1_000
        budget.polled(5, is_answered=True)
    assert budget.next_timeout_ms(4_000) == 1_000
    budget.polled(0, is_answered=True)
    assert budget.empty_ms(5_000) == 1_000
    assert budget.next_timeout_ms(5_000) == 1_000  # the time is up, but so near the end it is better to know
    budget.polled(0, is_answered=True)
    assert budget.next_timeout_ms(6_000) is None
    assert budget.empty_ms(6_000) == 2_000


def test_records_begin_the_wait_for_nothing_anew() -> None:
    budget = PollBudget(DRAINED, 0)
    budget.next_timeout_ms(0)
    budget.polled(0, is_answered=True)
    budget.next_timeout_ms(1_000)
    budget.polled(1, is_answered=True)
    assert budget.empty_ms(1_500) == 0


def test_a_worker_without_partitions_knows_nothing_of_whether_the_group_is_drained() -> None:
    budget = PollBudget(DRAINED, 0)
    for now_ms in range(0, 5_000, 100):
        assert budget.next_timeout_ms(now_ms) == 100
        budget.polled(0, is_answered=False)
    assert budget.next_timeout_ms(5_000) is None
    assert budget.empty_ms(5_000) == 0


def test_a_task_that_is_to_end_takes_what_is_there_already() -> None:
    budget = PollBudget(LIMITS, 0)
    budget.next_timeout_ms(0)
    budget.polled(5, is_answered=True)
    budget.spend()
    assert budget.next_timeout_ms(20) == 0
    assert not budget.expects_another(20)
    budget.polled(0, is_answered=True)
    assert budget.next_timeout_ms(20) is None
