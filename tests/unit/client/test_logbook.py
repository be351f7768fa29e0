"""Warnings that repeat are logged less and less often."""

import itertools
import logging

import pytest

from kafka_groups.client.logbook import NETWORK_LOG, Logbook


class Now:
    """A clock that is set by hand."""

    ms = 5_000

    def now_ms(self) -> int:
        return self.ms

    wall_ms = now_ms


def test_the_same_subject_is_warned_about_at_growing_intervals(caplog: pytest.LogCaptureFixture) -> None:
    clock = Now()
    book, logged = Logbook(clock), list[int]()
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
    book = Logbook(Now())
    for subject in ("a", "a", "b", "b"):
        book.warn(NETWORK_LOG, subject, "broker %s", subject)
    assert [record.getMessage() for record in caplog.records] == ["broker a", "broker b"]
    assert (book.settled("a"), book.settled("a")) == (True, False)
    book.warn(NETWORK_LOG, "a", "broker %s", "a")
    assert len(caplog.records) == 3
