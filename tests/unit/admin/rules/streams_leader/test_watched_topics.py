"""The topics that a leader watches."""

import asyncio

from kafka_groups.admin.rules.streams_leader.watched_topics import changed_topics, counts_to_watch
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.unit.admin.rules.streams_leader.scenes import ALL_COUNTS, IN, WORD_COUNT, WORDS, group, led, member


def test_topics_that_have_grown_or_vanished_are_named() -> None:
    watched = {"a": 1, "b": 2, "c": 3, "d": 4}
    assert changed_topics(watched, {"a": 1, "b": 3, "d": 3, "e": 1}) == ("b", "c", "d")


def test_all_topics_that_tasks_read_are_watched_after_an_assignment() -> None:
    assert led(group(member("m"))).watched == {IN: 2, WORDS: 2}


def test_topics_that_were_just_created_have_not_changed() -> None:
    done = led(group(member("m"), counts={IN: 2}))
    assert changed_topics(done.watched, {IN: 2, WORDS: 2}) == ()


def test_a_leader_that_skips_the_assignment_asks_for_them() -> None:
    assert asyncio.run(counts_to_watch(AnsweringTopics(dict(ALL_COUNTS)), WORD_COUNT)) == {IN: 2, WORDS: 2}
