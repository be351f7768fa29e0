"""What may be left for a group: computed from offsets, ends and the reset, and never 0 only because it is unknown."""

from typing import Any

import pytest

from kafka_groups.admin.rules.returned_values import ShareOffset
from kafka_groups.spark.rules.remaining import GroupPositions, Remaining, remaining_of, unread_starts
from kafka_groups.types import TopicPartition

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
NO_START = ShareOffset(None, None, None)


def told(offset: ShareOffset | None = None, *, begin: int = 0, end: int = 10, **more: Any) -> GroupPositions:
    """What is told of one partition; without an offset, no member has had it."""
    values = {"offsets": {} if offset is None else {FIRST: offset}, "reset": "latest", **more}
    return GroupPositions(group_id="g", begins={FIRST: begin}, ends={FIRST: end}, **values)


def least_and_most(positions: GroupPositions) -> tuple[int, int | None]:
    remaining = remaining_of(positions)
    assert (remaining.doubt is None) == remaining.is_known
    return remaining.least, remaining.most


@pytest.mark.parametrize("reset", ["earliest", "latest", "by_duration:PT1H", None])
def test_a_lag_that_is_told_counts_up_to_what_the_log_still_has(reset: str | None) -> None:
    assert least_and_most(told(ShareOffset(3, 0, 5), reset=reset)) == (5, 5)
    assert least_and_most(told(ShareOffset(3, 0, 0), reset=reset)) == (0, 0)
    assert least_and_most(told(ShareOffset(3, 0, 7), begin=8, reset=reset)) == (2, 2), "retention"


@pytest.mark.parametrize("offset", [NO_START, None])
def test_all_is_left_where_a_group_from_the_beginning_has_finished_nothing(offset: ShareOffset | None) -> None:
    assert least_and_most(told(offset, begin=4, reset="earliest")) == (6, 6)
    assert least_and_most(told(offset, end=0, reset="earliest")) == (0, 0)


def test_nothing_is_left_at_the_end_only_where_no_member_was() -> None:
    assert least_and_most(told()) == (0, 0)
    assert least_and_most(told(NO_START)) == (0, 10)
    assert least_and_most(told(NO_START, begin=10)) == (0, 0)
    assert least_and_most(told(NO_START, unread={FIRST: 10})) == (0, 0), "no member was there when it had 10 records"
    assert least_and_most(told(NO_START, unread={FIRST: 8})) == (0, 2)


def test_what_is_younger_than_a_duration_is_left() -> None:
    by_duration: dict[str, Any] = {"reset": "by_duration:PT1H", "since": {FIRST: 7}}
    assert least_and_most(told(**by_duration)) == (3, 3)
    assert least_and_most(told(NO_START, **by_duration)) == (3, 10)
    assert least_and_most(told(NO_START, unread={FIRST: 7}, **by_duration)) == (3, 3)
    assert least_and_most(told(NO_START, unread={FIRST: 8}, **by_duration)) == (3, 3), "clocks differ"


def test_a_reset_that_nobody_may_read_leaves_all_in_doubt() -> None:
    for offset in (NO_START, None):
        remaining = remaining_of(told(offset, reset=None, patience_ms=7))
        assert (remaining.least, remaining.most, remaining.patience_ms) == (0, 10, 7)
        assert "Allow its user to DESCRIBE_CONFIGS of the group." in str(remaining.doubt)


def test_without_the_right_to_ask_only_empty_partitions_are_known() -> None:
    remaining = remaining_of(told(offsets=None, refusal="GROUP_AUTHORIZATION_FAILED: g", reset="earliest"))
    assert (remaining.least, remaining.most, remaining.patience_ms) == (0, 10, 0)
    assert "GROUP_AUTHORIZATION_FAILED: g). Allow its user to DESCRIBE the group" in str(remaining.doubt)
    assert least_and_most(told(offsets=None, end=0)) == (0, 0)


def test_brokers_that_tell_no_lag_tell_where_the_group_is() -> None:
    remaining = remaining_of(told(ShareOffset(4, 0, None)))
    assert (remaining.least, remaining.most, remaining.patience_ms) == (0, 6, 0)
    assert "Use Kafka 4.2 or newer" in str(remaining.doubt)
    assert least_and_most(told(ShareOffset(10, 0, None))) == (0, 0)
    assert least_and_most(told(NO_START, reset="earliest")) == (10, 10)


def test_the_records_of_open_transactions_do_not_count_for_those_who_read_committed_ones() -> None:
    committed: dict[str, Any] = {"end": 6, "high_watermarks": {FIRST: 10}}
    assert least_and_most(told(ShareOffset(0, 0, 9), **committed)) == (5, 5)
    assert least_and_most(told(ShareOffset(0, 0, 4), **committed)) == (0, 0)
    assert least_and_most(told(NO_START, reset="earliest", **committed)) == (6, 6)


def test_all_partitions_count_and_the_text_names_some() -> None:
    many = [TopicPartition("t", number) for number in range(5)]
    positions = GroupPositions(
        group_id="g",
        begins=dict.fromkeys(many, 0),
        ends=dict.fromkeys(many, 10),
        offsets={**dict.fromkeys(many[:4], NO_START), many[4]: ShareOffset(5, 0, 5)},
        reset="latest",
        patience_ms=30_000,
    )
    remaining = remaining_of(positions)
    assert (remaining.least, remaining.most, remaining.patience_ms) == (5, 45, 30_000)
    assert str(remaining.doubt).startswith(
        "Up to 40 records of t-0, t-1, t-2 and 1 more may be left for the share group g"
    )
    assert "share.auto.offset.reset=latest" in str(remaining.doubt)


def test_where_a_group_begins_at_the_earliest_is_known_while_no_member_was_there() -> None:
    assert unread_starts(told()) == {FIRST: 10}
    assert unread_starts(told(since={FIRST: 7}, reset="by_duration:PT1H")) == {FIRST: 7}
    for positions in (told(NO_START), told(end=0), told(reset="earliest"), told(reset=None), told(offsets=None)):
        assert unread_starts(positions) == {}


def test_no_answer_is_not_zero() -> None:
    remaining = Remaining.unanswered("g", TimeoutError("too late"))
    assert (remaining.least, remaining.most, remaining.is_known) == (0, None, False)
    assert remaining.patience_ms > 0
    assert "because the brokers did not answer: too late" in str(remaining.doubt)
