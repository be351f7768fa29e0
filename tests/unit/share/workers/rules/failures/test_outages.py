"""The rule for outages of the sink, in virtual time."""

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.share.workers.rules.failures.outages import Outage, Waits, may_spend


def outage(longest_ms: int = 5_000) -> Outage:
    return Outage(Waits.of_tries_in_hand(longest_ms), random.Random(1))


@given(
    outcomes=st.lists(st.booleans(), max_size=60),
    longest_ms=st.integers(0, 3_600_000),
    limit=st.integers(2, 25),
    delivery_count=st.integers(1, 25),
)
def test_a_last_delivery_is_spent_only_after_a_success(
    outcomes: list[bool], longest_ms: int, limit: int, delivery_count: int
) -> None:
    rule, now_ms, since_ms, has_succeeded = outage(longest_ms), 0, None, False
    for succeeds in outcomes:
        if succeeds:
            rule.succeeded()
            since_ms, has_succeeded = None, True
        else:
            rule.failed(now_ms)
            since_ms = now_ms if since_ms is None else since_ms
        assert rule.failing_since_ms == since_ms
        assert rule.may_spend(delivery_count, limit) == (since_ms is None or delivery_count < limit)
        assert 0 <= rule.remaining_ms(now_ms) <= math.ceil(1.2 * longest_ms)
        assert rule.is_unproven == (since_ms is not None or not has_succeeded)
        now_ms += rule.remaining_ms(now_ms) + 1


def test_waits_grow_up_to_the_longest_and_start_over_after_a_success() -> None:
    costly = Waits.of_deliveries(300_000)
    assert [costly.after(n, random.Random(1)) for n in range(7)] == [0, 800, 4_800, 28_800, 172_800, 300_000, 300_000]
    held = outage()
    waits = []
    for _ in range(8):
        held.failed(0)
        waits.append(held.remaining_ms(0))
    assert all(0.8 * n <= wait <= 1.2 * n for n, wait in zip((200, 400, 800, 1_600, 3_200, 5_000), waits, strict=False))
    held.go_on()
    assert (held.remaining_ms(0), held.is_suspected) == (0, True), "only a success shows that the sink works"
    held.succeeded()
    held.failed(0)
    assert held.remaining_ms(0) <= 240


def test_others_that_succeed_allow_a_last_delivery_to_be_spent() -> None:
    assert may_spend(5, 5, others_succeed=True)
    assert not may_spend(5, 5, others_succeed=False)
    assert may_spend(4, 5, others_succeed=False)
