"""When a member of a streams group heartbeats."""

import random

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.streams.member.coordinated.pace import HeartbeatPace
from tests.support.members.old_session import old_session

INTERVAL_MS = 5_000


def answered(now_ms: int = 0) -> HeartbeatPace:
    """A pace after its first heartbeat."""
    pace = HeartbeatPace(
        BackoffTimer(100, 1000, random.Random(1)), old_session(random.Random(2), 20_000), random.Random(3)
    )
    assert pace.remaining_ms(now_ms) == 0
    pace.sent(now_ms)
    pace.answered(INTERVAL_MS, 0, now_ms)
    return pace


def beat(pace: HeartbeatPace, now_ms: int) -> None:
    pace.sent(now_ms)
    pace.answered(INTERVAL_MS, 0, now_ms)


def test_nothing_hurries_by_itself() -> None:
    pace = answered()
    assert pace.interval_ms == INTERVAL_MS
    assert pace.remaining_ms(0) == INTERVAL_MS
    assert pace.remaining_ms(INTERVAL_MS) == 0


def test_hurrying_is_jittered_and_ends_ten_seconds_after_an_epoch_began() -> None:
    pace, now_ms, waits = answered(), 0, []
    pace.hurry(7, now_ms)
    while (wait_ms := pace.remaining_ms(now_ms)) < INTERVAL_MS:
        waits.append(wait_ms)
        now_ms += wait_ms
        beat(pace, now_ms)
        pace.hurry(7, now_ms)
    assert all(250 <= each <= 400 for each in waits)
    assert len(set(waits)) > 10
    assert 9_600 <= now_ms <= 10_000
    pace.hurry(8, now_ms)
    assert 250 <= pace.remaining_ms(now_ms) <= 400


def test_confirmations_are_sent_at_once_but_at_most_four_heartbeats_a_second() -> None:
    pace = answered()
    for now_ms in (10, 20, 30):
        pace.confirm(now_ms)
        assert pace.remaining_ms(now_ms) == 0
        beat(pace, now_ms)
    pace.confirm(40)
    assert pace.remaining_ms(40) == 960
    assert pace.remaining_ms(1_000) == 0


def test_an_early_heartbeat_does_not_delay_a_planned_one() -> None:
    pace = answered()
    pace.hurry(1, 4_900)
    assert pace.remaining_ms(4_900) == 100


def test_early_heartbeats_respect_throttling_and_the_back_off() -> None:
    pace = answered()
    pace.sent(0)
    pace.answered(INTERVAL_MS, 700, 0)
    pace.confirm(0)
    assert pace.remaining_ms(0) == 700


def test_joining_waits_for_a_old_session_until_its_session_has_ended() -> None:
    pace, now_ms = answered(), 1_000
    while (wait_ms := pace.awaits_release(now_ms)) is not None:
        assert pace.remaining_ms(now_ms) == wait_ms
        now_ms += wait_ms
    assert now_ms == 21_000


def test_a_success_starts_the_wait_for_a_release_over() -> None:
    pace = answered()
    first = pace.awaits_release(0)
    assert first is not None
    beat(pace, first)
    again = pace.awaits_release(60_000)
    assert again is not None
    assert again <= 1_200
