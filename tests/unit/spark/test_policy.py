"""What delivery counts call for, and when the rest is not worth trying."""

import pytest

from kafka_groups.spark.policy import DeliveryPolicy, FailureRun
from kafka_groups.types import AcknowledgeType


@pytest.mark.parametrize(("limit", "isolate_from", "copy_from"), [(2, 2, 2), (3, 2, 2), (5, 3, 4), (10, 8, 9)])
def test_records_are_kept_apart_before_they_are_copied_and_never_on_their_first_delivery(
    limit: int, isolate_from: int, copy_from: int
) -> None:
    policy = DeliveryPolicy(limit)
    assert (policy.isolate_from, policy.copy_from) == (isolate_from, copy_from)


@pytest.mark.parametrize(
    ("on_error", "delivery_count", "expected"),
    [("release", 4, "RELEASE"), ("per_record", 1, "RELEASE"), ("per_record", 5, "REJECT"), ("reject", 1, "REJECT")],
)
def test_what_becomes_of_a_record_that_failed(on_error: str, delivery_count: int, expected: str) -> None:
    assert DeliveryPolicy(5).verdict(on_error, delivery_count) is AcknowledgeType[expected]


def test_every_good_record_has_its_turn_although_one_kills_the_worker_each_time() -> None:
    policy, bad = DeliveryPolicy(5), 7
    waiting, deliveries = set(range(20)), 3
    for deliveries in (3, 4):
        for row in policy.isolated_order(sorted(waiting), deliveries):
            if row == bad:
                break
            waiting.remove(row)
    assert waiting == {bad}


@pytest.mark.parametrize(("delivery_count", "wait_ms"), [(1, 0), (2, 0), (3, 100), (4, 200), (5, 400), (400, 5_000)])
def test_a_crash_loop_is_slowed_down(delivery_count: int, wait_ms: int) -> None:
    assert DeliveryPolicy(5).wait_ms(delivery_count) == wait_ms


def test_when_the_first_ones_all_fail_it_is_not_the_records() -> None:
    run = FailureRun(longest=3)
    for _ in range(3):
        assert not run.is_hopeless
        run.ended(succeeded=False)
    assert run.is_hopeless


def test_one_success_shows_that_it_is_the_records() -> None:
    run = FailureRun(longest=2)
    run.ended(succeeded=True)
    for _ in range(9):
        run.ended(succeeded=False)
    assert not run.is_hopeless
