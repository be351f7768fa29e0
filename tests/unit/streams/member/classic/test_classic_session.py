"""The times of heartbeats of a member of a classic group."""

import random

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import NEVER_MS
from kafka_groups.streams.member.classic.classic_session import ClassicSession

NOW_MS = 10_000


def session(interval_ms: int, seed: int = 1) -> ClassicSession:
    rng = random.Random(seed)
    return ClassicSession(interval_ms, BackoffTimer(100, 1000, rng), rng)


def test_it_begins_when_the_coordinator_hears_of_the_member() -> None:
    made = session(3_000)
    assert made.remaining_ms(NOW_MS) == NEVER_MS - NOW_MS
    made.heard(NOW_MS)
    assert made.remaining_ms(NOW_MS + 1) == 2_999


@pytest.mark.parametrize("interval_ms", [401, 3_000, 60_000])
def test_a_long_interval_begins_when_the_group_has_settled(interval_ms: int) -> None:
    made = session(interval_ms)
    made.assigned(NOW_MS)
    assert 250 <= made.remaining_ms(NOW_MS) <= 400
    made.heard(NOW_MS + 1_999)
    assert 250 <= made.remaining_ms(NOW_MS + 1_999) <= 400
    made.heard(NOW_MS + 2_000)
    assert made.remaining_ms(NOW_MS + 2_000) == interval_ms


def test_a_short_interval_applies_always() -> None:
    made = session(200)
    made.assigned(NOW_MS)
    assert made.remaining_ms(NOW_MS) == 200


def test_members_that_are_assigned_tasks_together_do_not_heartbeat_together() -> None:
    times = set()
    for seed in range(20):
        made = session(3_000, seed)
        made.assigned(NOW_MS)
        times.add(made.remaining_ms(NOW_MS))
    assert len(times) > 10
