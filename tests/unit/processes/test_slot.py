"""When a process that died is replaced."""

from functools import partial

from kafka_groups.processes.slot import RestartRule

endless = partial(RestartRule, first_wait_ms=100)
limited = partial(RestartRule, first_wait_ms=200, most_deaths=5)


def test_the_wait_doubles_with_each_death_up_to_half_a_minute() -> None:
    rule, now_ms, found = endless(), 0, []
    for _ in range(12):
        found.append((rule.died(now_ms) or 0) - now_ms)
        now_ms += 1_000
    assert found == [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000]
    assert rule.died(now_ms + 600_000) == now_ms + 600_100


def test_the_wait_doubles_until_the_worker_is_given_up() -> None:
    rule = limited()
    assert [rule.died(at) for at in range(6)] == [200, 401, 802, 1603, 3204, None]


def test_deaths_are_forgotten_after_ten_minutes() -> None:
    rule = limited()
    for at in range(5):
        rule.died(at)
    assert rule.died(700_000) == 700_200
