"""Warnings that repeat are logged less and less often."""

import itertools
import logging

import pytest

from kafka_groups.client.loggers import NETWORK_LOG
from kafka_groups.net.rate_limited_log import RateLimitedLog


class Now:
    """A clock that is set by hand."""

    ms = 5_000

    def now_ms(self) -> int:
        return self.ms

    wall_ms = now_ms


def test_the_same_subject_is_warned_about_at_growing_intervals(caplog: pytest.LogCaptureFixture) -> None:
    clock = Now()
    book, logged = RateLimitedLog(clock), list[int]()
    for _ in range(3_600):
        before = len(caplog.records)
        book.warn(NETWORK_LOG, "a", "broker %s", "a")
        if len(caplog.records) > before:
            logged.append(clock.ms // 1_000 - 5)
        clock.ms += 1_000
    assert logged[:8] == [0, 1, 3, 7, 15, 31, 63, 127]
    assert {later - earlier for earlier, later in itertools.pairwise(logged[10:])} == {300}
    assert caplog.records[0].getMessage() == "broker a"
    assert caplog.records[3].getMessage() == "broker a (3 more since the last warning)"


def test_each_subject_has_its_own_intervals_and_begins_anew_when_it_is_settled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    book = RateLimitedLog(Now())
    for subject in ("a", "a", "b", "b"):
        book.warn(NETWORK_LOG, subject, "broker %s", subject)
    assert [record.getMessage() for record in caplog.records] == ["broker a", "broker b"]
    assert (book.settled("a"), book.settled("a")) == (True, False)
    book.warn(NETWORK_LOG, "a", "broker %s", "a")
    assert len(caplog.records) == 3


def test_each_kind_of_a_subject_is_logged_and_the_subject_settles_them_all(caplog: pytest.LogCaptureFixture) -> None:
    book = RateLimitedLog(Now())
    logged = [book.warn(NETWORK_LOG, "a", "failed: %s", kind, kind=kind) for kind in ("x", "x", "y", "y", "x")]
    assert logged == [True, False, True, False, False]
    assert [record.getMessage() for record in caplog.records] == ["failed: x", "failed: y"]
    assert book.settled("a")
    assert book.warn(NETWORK_LOG, "a", "failed", kind="y")


def test_kinds_without_end_share_their_intervals_and_take_bounded_memory(caplog: pytest.LogCaptureFixture) -> None:
    clock = Now()
    book = RateLimitedLog(clock)
    assert sum(book.warn(NETWORK_LOG, "a", "failed", kind=f"{number}") for number in range(10_000)) == 51
    assert len(book._subjects["a"]) == 51
    clock.ms += 400_000
    assert sum(book.warn(NETWORK_LOG, "a", "failed", kind=f"new {number}") for number in range(10_000)) == 51
    assert len(book._subjects["a"]) == 51
    assert len(caplog.records) == 102


def test_a_quiet_time_makes_the_intervals_short_again_and_loses_no_count(caplog: pytest.LogCaptureFixture) -> None:
    clock = Now()
    book = RateLimitedLog(clock)
    for wait_ms in (0, 500, 400_000, 500):
        clock.ms += wait_ms
        book.warn(NETWORK_LOG, "a", "failed")
    assert [record.getMessage() for record in caplog.records] == ["failed", "failed (1 more since the last warning)"]
    clock.ms += 600
    assert book.warn(NETWORK_LOG, "a", "failed")


def test_the_end_logs_what_was_left_out(caplog: pytest.LogCaptureFixture) -> None:
    book = RateLimitedLog(Now())
    for number in range(4):
        book.warn(NETWORK_LOG, "a", "failed: %s", number)
    book.warn(NETWORK_LOG, "b", "100 % full")
    caplog.clear()
    book.end()
    book.end()
    assert [record.getMessage() for record in caplog.records] == ["3 more since this warning: failed: 0"]


def test_a_traceback_is_logged_with_the_first_warning_alone(caplog: pytest.LogCaptureFixture) -> None:
    book = RateLimitedLog(Now())
    error = ValueError("no")
    for _ in range(3):
        book.warn(NETWORK_LOG, "a", "failed", trace=error)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error


def test_a_warning_may_have_a_level_of_its_own_which_its_count_keeps(caplog: pytest.LogCaptureFixture) -> None:
    book = RateLimitedLog(Now())
    for _ in range(2):
        book.warn(NETWORK_LOG, "a", "failed", level=logging.ERROR)
    assert (book.left_out("a"), book.left_out("b")) == (1, 0)
    book.end()
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
