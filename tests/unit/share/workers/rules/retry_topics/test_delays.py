"""Names of retry topics, and the topic for a wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.rules.retry_topics.delays import LONGEST_DELAY_S, RetryTopics

delays = st.lists(st.integers(1, LONGEST_DELAY_S), min_size=1, max_size=10, unique=True).map(sorted)


def test_the_default_delays_are_ten_seconds_to_an_hour() -> None:
    assert RetryTopics("orders.retry").names == (
        "orders.retry.10s",
        "orders.retry.1m",
        "orders.retry.10m",
        "orders.retry.1h",
    )


def test_names_have_the_largest_whole_unit() -> None:
    names = RetryTopics("r", delays=[1, 60, 61, 90, 3_600, 5_400, 86_399, 86_400, 604_800]).names
    assert names == ("r.1s", "r.1m", "r.61s", "r.90s", "r.1h", "r.90m", "r.86399s", "r.1d", "r.7d")


@pytest.mark.parametrize(
    ("wait_ms", "expected"),
    [
        (0, None),
        (9_999, None),
        (10_000, ("r.10s", 10_000)),
        (59_999, ("r.10s", 10_000)),
        (60_000, ("r.1m", 60_000)),
        (604_800_000, ("r.1m", 60_000)),
    ],
)
def test_a_wait_goes_to_the_largest_delay_that_is_at_most_the_wait(wait_ms: int, expected: object) -> None:
    assert RetryTopics("r", delays=(10, 60)).topic_for(wait_ms) == expected


@given(delays=delays, wait_ms=st.integers(0, 2 * LONGEST_DELAY_S * 1_000))
def test_hops_spend_any_wait_down_to_less_than_the_smallest_delay(delays: list[int], wait_ms: int) -> None:
    topics = RetryTopics("r", delays=delays)
    spent_ms, hops = 0, []
    while (topic := topics.topic_for(wait_ms - spent_ms)) is not None:
        # The step must grow, or the test would go through millions of hops of one second.
        most = (wait_ms - spent_ms) // topic.delay_ms
        hops.append(topic)
        spent_ms += topic.delay_ms * (1 if len(hops) < 20 else most)
    assert 0 <= wait_ms - spent_ms < topics.smallest_ms
    # No larger delay follows a smaller one: each topic has taken what fits into it.
    assert hops == sorted(hops, key=lambda topic: -topic.delay_ms)


@given(delays=delays)
def test_each_delay_has_a_topic_of_its_own(delays: list[int]) -> None:
    topics = RetryTopics("r", delays=delays)
    assert len(set(topics.names)) == len(delays)
    assert [topic.delay_ms for topic in topics.topics] == [1_000 * delay for delay in delays]


@pytest.mark.parametrize("wrong", [(), range(1, 12), "10", 10, None, (60, 10), (10, 10)])
def test_delays_that_are_not_ascending_numbers_are_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"delays=.*: give 1 to 10 whole numbers of seconds, ascending"):
        RetryTopics("r", delays=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, 604_801, 1.5, 10.0, True, "10", None])
def test_a_delay_that_is_no_number_of_seconds_is_named(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"{wrong!r} is not a whole number of seconds from 1 to 604,800"):
        RetryTopics("r", delays=[wrong])  # type: ignore[list-item]


@pytest.mark.parametrize("wrong", ["", "a b", "ä", "x" * 247, None, 7])
def test_a_prefix_that_makes_no_names_of_topics_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="is not the name of a topic: give the beginning of the topics' names"):
        RetryTopics(wrong)  # type: ignore[arg-type]


def test_the_longest_prefix_leaves_room_for_the_longest_name() -> None:
    assert len(RetryTopics("x" * 245, delays=(10,)).names[0]) == 249


def test_lists_and_tuples_of_delays_are_the_same() -> None:
    assert RetryTopics("r", delays=[10]) == RetryTopics("r", delays=(10,))
    assert hash(RetryTopics("r", delays=[10])) == hash(RetryTopics("r", delays=(10,)))
