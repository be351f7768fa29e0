"""Regular expressions for topics: what matches, what is refused, and the bounds of both."""

import contextlib
import time

import pytest

from kafka_groups.broker.coordinators.groups.topic_patterns import compile_pattern
from kafka_groups.errors import InvalidRegularExpressionError
from kafka_groups.protocol.error_codes import ErrorCode
from tests.support.topic_patterns import HEAVY, LONG_NAMES, MOST_STEPS, matching

MOST_S = 0.04
TRIES = 5
LONGEST_NAME = max(map(len, LONG_NAMES))
TOO_LARGE = {
    "longer than a string of Kafka": "a" * 32_768,
    "longer in bytes": "é" * 16_384,
    "nested repetitions": "(a{500}){500}",
    "many repetitions": "a{0,1000}" * 11,
    "many open repetitions": "a{1000,}" * 11,
    "a large program": r"\pL{300}",
    "many parts": HEAVY["escapes"],
    "more than 8,000 instructions": HEAVY["more options"],
}


def test_a_pattern_matches_whole_names() -> None:
    pattern = compile_pattern("orders|orders-.*")
    names = ["orders", "orders-eu", "my-orders", "orders2", "__consumer_offsets"]
    assert matching(pattern, names) == ["orders", "orders-eu"]


def test_internal_topics_match() -> None:
    assert matching(compile_pattern(".*"), ["__consumer_offsets"]) == ["__consumer_offsets"]


def test_patterns_of_one_text_are_equal() -> None:
    assert compile_pattern("a+") == compile_pattern("a+")
    assert repr(compile_pattern("a+")) == "TopicPattern(text='a+')"


def test_an_invalid_pattern() -> None:
    with pytest.raises(InvalidRegularExpressionError) as caught:
        compile_pattern("orders[")
    assert str(caught.value) == "SubscribedTopicRegex `orders[` is not a valid regular expression: missing closing ]."
    assert caught.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_an_unmatched_parenthesis() -> None:
    with pytest.raises(InvalidRegularExpressionError, match=r"expression: unexpected \)\."):
        compile_pattern("a)")


@pytest.mark.parametrize("text", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_pattern_that_is_too_large(text: str) -> None:
    with pytest.raises(InvalidRegularExpressionError, match=r"pattern too large|invalid repeat count"):
        compile_pattern(text)


def test_the_message_shows_the_beginning_of_a_long_pattern() -> None:
    with pytest.raises(InvalidRegularExpressionError) as caught:
        compile_pattern("a" * 40_000)
    assert len(str(caught.value)) < 1_100


def test_two_thousand_names_are_not_too_large() -> None:
    names = [f"topic-{number}" for number in range(2_000)]
    assert matching(compile_pattern("|".join(names)), [*names, "topic-2000"]) == names


@pytest.mark.parametrize("text", [r"\Q\C\E", r"\\C", r"\(?P<a>(?P<a>b)", r"\x{41}" + r"\x{1000}" * 11])
def test_what_only_looks_refused(text: str) -> None:
    assert compile_pattern(text).text == text


def test_backtracking_patterns_take_no_longer_than_others() -> None:
    assert matching(compile_pattern("(a+)+b"), ["a" * 249]) == []


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_no_pattern_keeps_others_waiting(text: str) -> None:
    # Processor time of this thread, and the best of some tries: it may share a core and its caches with other tests.
    assert min(longest_step_s(text) for _ in range(TRIES)) < MOST_S


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_no_name_takes_more_than_some_instructions(text: str) -> None:
    with contextlib.suppress(InvalidRegularExpressionError):
        assert compile_pattern(text).steps_of("x" * LONGEST_NAME) <= MOST_STEPS


def test_the_cost_of_compiling_counts_what_repetitions_make() -> None:
    many, few = compile_pattern("(?:x?y?){1000}"), compile_pattern("(?:x?y?){10}")
    assert many.cost_us > 20 * few.cost_us


def longest_step_s(text: str) -> float:
    steps_s, begun_s = [], time.thread_time()
    with contextlib.suppress(InvalidRegularExpressionError):
        pattern = compile_pattern(text)
        steps_s.append(time.thread_time() - begun_s)
        for name in LONG_NAMES:
            begun_s = time.thread_time()
            pattern.matches(name)
            steps_s.append(time.thread_time() - begun_s)
    return max([*steps_s, time.thread_time() - begun_s])


@pytest.mark.parametrize("text", [HEAVY["properties"], HEAVY["quantifiers"], HEAVY["named groups"]])
def test_a_pattern_that_would_take_too_long_is_refused(text: str) -> None:
    with pytest.raises(InvalidRegularExpressionError, match="pattern too large"):
        compile_pattern(text)


@pytest.mark.parametrize("text", ["(?i)orders-.*", r"\pL+", "(?P<a>b)", "[^_].*", HEAVY["classes"], HEAVY["names"]])
def test_costs_are_positive_and_do_not_exclude_what_is_usual(text: str) -> None:
    pattern = compile_pattern(text)
    assert pattern.cost_us > 0
    assert pattern.cost_of_us("a") > 0
