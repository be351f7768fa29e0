"""When an application is overdue."""

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.streams.member.rules.inbox import ApplicationCalls


def test_before_the_first_call_nobody_is_late() -> None:
    assert ApplicationCalls(1_000).remaining_ms(10**9) == NEVER_MS


def test_each_call_restarts_the_interval() -> None:
    calls = ApplicationCalls(1_000)
    calls.called(5_000)
    assert [calls.remaining_ms(now_ms) for now_ms in (5_000, 5_400, 6_000, 7_000)] == [1_000, 600, 0, 0]
    calls.called(7_000)
    assert calls.remaining_ms(7_500) == 500


def test_an_application_that_waits_for_the_member_is_never_late() -> None:
    calls = ApplicationCalls(1_000)
    calls.called(0)
    calls.is_waiting = True
    assert calls.remaining_ms(10_000) == NEVER_MS
