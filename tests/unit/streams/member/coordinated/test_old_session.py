"""How long a static member waits for its old session to expire."""

import random

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.streams.member.coordinated.old_session import SESSION_TIMEOUT, OldSession
from tests.support.members.old_session import configs_of, old_session


def waits(life: OldSession, now_ms: int = 1_000) -> list[int]:
    found = []
    while (wait_ms := life.refused(now_ms)) is not None:
        found.append(wait_ms)
        now_ms += wait_ms
    return found


def test_the_waits_grow_and_end_exactly_with_the_session() -> None:
    found = waits(old_session(random.Random(2), 20_000))
    assert sum(found) == 20_000
    assert found[:3] == sorted(found[:3])
    assert 800 <= found[0] <= 1_200
    assert max(found) <= 12_000


def test_the_sessions_of_a_group_may_be_longer_than_kafkas_default() -> None:
    configs = configs_of()
    life = OldSession(BackoffTimer(1_000, 10_000, random.Random(2)), configs)
    asked_before = configs.wanted
    first = life.refused(0)
    assert (asked_before, configs.wanted) == (False, True)
    assert first is not None
    configs.values = {SESSION_TIMEOUT: 60_000}
    assert first + sum(waits(life, first)) == 60_000


def test_a_session_timeout_that_is_unknown_is_kafkas_default() -> None:
    assert sum(waits(old_session(random.Random(2)))) == 45_000


def test_acceptance_starts_the_wait_over() -> None:
    life = old_session(random.Random(2), 20_000)
    assert life.refused(0) is not None
    life.over()
    again = life.refused(60_000)
    assert again is not None
    assert again <= 1_200
