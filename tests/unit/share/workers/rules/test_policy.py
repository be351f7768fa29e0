"""What delivery counts call for."""

import pytest

from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.types import AcknowledgeType


@pytest.mark.parametrize(("limit", "singles_from", "copy_from"), [(2, 2, 2), (3, 2, 2), (5, 4, 4), (10, 9, 9)])
def test_records_are_kept_apart_and_copied_before_their_last_delivery(
    limit: int, singles_from: int, copy_from: int
) -> None:
    policy = DeliveryPolicy(limit)
    assert (policy.singles_from, policy.copy_from) == (singles_from, copy_from)


@pytest.mark.parametrize(
    ("rejects", "delivery_count", "expected"),
    [(False, 4, "RELEASE"), (False, 1, "RELEASE"), (False, 5, "REJECT"), (True, 1, "REJECT")],
)
def test_the_verdict_on_a_record_that_failed_for_good(rejects: bool, delivery_count: int, expected: str) -> None:
    assert DeliveryPolicy(5).verdict(delivery_count, rejects=rejects) is AcknowledgeType[expected]


def test_new_records_go_first_and_together_the_others_in_small_sub_batches() -> None:
    counts = [2] * 100 + [1, 4, 5, 1]
    sub_batches = DeliveryPolicy(5).sub_batches(counts)
    assert sub_batches == [[100, 103], list(range(64)), list(range(64, 100)), [102], [101]]


@pytest.mark.parametrize("limit", range(4, 11))
@pytest.mark.parametrize("bad", [0, 7, 70, 1_499])
def test_a_record_that_kills_the_worker_each_time_takes_no_other_with_it(limit: int, bad: int) -> None:
    policy, waiting = DeliveryPolicy(limit), list(range(1_500))
    for delivery in range(1, limit + 1):
        for sub_batch in policy.sub_batches([delivery] * len(waiting))[:]:
            done = [waiting[row] for row in sub_batch]
            if bad in done:
                break
            waiting = [record if record not in done else -1 for record in waiting]
        waiting = [record for record in waiting if record >= 0]
    assert waiting == [bad]


@pytest.mark.parametrize(("limit", "singles"), [(5, 65), (10, 65)])
def test_few_records_are_processed_one_by_one(limit: int, singles: int) -> None:
    assert len(DeliveryPolicy(limit).sub_batches([2] * 1_500)) < singles


@pytest.mark.parametrize(("delivery_count", "wait_ms"), [(1, 0), (3, 0), (4, 100), (5, 0)])
def test_a_crash_loop_is_slowed_down_but_not_while_records_are_on_their_last_delivery(
    delivery_count: int, wait_ms: int
) -> None:
    assert DeliveryPolicy(5).wait_ms(delivery_count) == wait_ms
