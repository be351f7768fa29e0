import pytest

from kafka_groups.broker.share_partitions.delivery_limits import DeliveryLimits


@pytest.mark.parametrize(("limit", "suspect_from"), [(2, 2), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (10, 5)])
def test_records_are_suspect_from_half_the_limit_on_but_not_before_two(limit: int, suspect_from: int) -> None:
    assert DeliveryLimits(limit).suspect_from == suspect_from


def test_a_suspect_batch_is_halved_again_and_again() -> None:
    limits = DeliveryLimits(10)
    assert [limits.most_at_once(16, count) for count in range(5, 10)] == [8, 4, 2, 1, 1]
    assert [limits.most_at_once(7, count) for count in range(5, 10)] == [3, 1, 1, 1, 1]


def test_the_last_attempt_is_alone_only_with_a_limit_above_two() -> None:
    assert DeliveryLimits(3).is_last_attempt(2)
    assert DeliveryLimits(3).most_at_once(1000, 2) == 1
    assert not DeliveryLimits(2).is_last_attempt(1)
    assert not DeliveryLimits(2).is_suspect(1)


def test_a_limit_that_was_lowered_leaves_one_more_attempt_alone() -> None:
    limits = DeliveryLimits(3)
    assert limits.is_exhausted(4)
    assert limits.is_last_attempt(3)
    assert limits.most_at_once(1000, 3) == 1
