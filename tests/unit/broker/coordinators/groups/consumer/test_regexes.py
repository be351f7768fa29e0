"""Searches for topics by regular expressions: how much a turn does."""

import pytest

from kafka_groups.broker.coordinators.groups.consumer.regexes import TopicSearch
from kafka_groups.broker.coordinators.groups.member_client import any_topic
from kafka_groups.broker.coordinators.groups.topic_patterns import TopicPattern, compile_pattern
from tests.support.broker.consumer_groups import Consumers
from tests.support.topic_patterns import HEAVY, MOST_STEPS

BUDGET_US = 5_000
STEPS_PER_US = 70


def turns_of(search: TopicSearch) -> int:
    """Search until all is found; how many turns that took."""
    turns = 0
    while not search.is_over:
        search.go_on(BUDGET_US)
        turns += 1
    return turns


@pytest.mark.parametrize("text", [HEAVY["options"], HEAVY["few options"], "x*"])
def test_a_turn_does_a_bounded_amount_of_work(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = Consumers().topics
    for number in range(50):
        topics.create(f"{'x' * 240}-{number}", 1)
    search, pattern = TopicSearch([text], topics, any_topic), compile_pattern(text)
    steps: list[int] = []
    monkeypatch.setattr(TopicPattern, "matches", lambda pattern, name: steps.append(pattern.steps_of(name)))
    turns = []
    while not search.is_over:
        search.go_on(BUDGET_US)
        turns.append(sum(steps))
        steps.clear()
    assert sum(turns) == sum(pattern.steps_of(topic.name) for topic in topics.topics())
    assert max(turns) <= BUDGET_US * STEPS_PER_US + MOST_STEPS


def test_expressions_that_are_costly_to_compile_take_turns() -> None:
    texts = [f"(?:x?y?z?){{{number}}}" for number in range(900, 1_000)]
    assert turns_of(TopicSearch(texts, Consumers().topics, any_topic)) >= 20


def test_usual_expressions_need_few_turns() -> None:
    topics = Consumers().topics
    for number in range(300):
        topics.create(f"orders-eu-{number}", 1)
    assert turns_of(TopicSearch(["orders-.*", "[^_].*", r"orders-(eu|us)-\d+"], topics, any_topic)) <= 5
