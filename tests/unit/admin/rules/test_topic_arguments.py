"""Bad input for calls about topics is refused before anything is sent, with the value and the remedy."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.admin import TopicToCreate
from kafka_groups.admin.rules.topic_arguments import checked_deletions, checked_new_topics, checked_totals
from kafka_groups.client.calls.record_deletion import HIGH_WATERMARK
from kafka_groups.errors import ConfigurationError
from kafka_groups.types import TopicPartition

FIRST = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (checked_new_topics, ["orders"], "topics=['orders']: give a dictionary, such as {'orders': TopicToCreate(3)}"),
        (checked_new_topics, {}, "topics={}: give a dictionary, such as {'orders': TopicToCreate(3)}"),
        (checked_new_topics, {"orders": 3}, "topics: 3 of orders is not a TopicToCreate: give one, such as"),
        (checked_new_topics, {"a b": TopicToCreate(1)}, "topics: 'a b' is not the name of a topic: use 1 to 249 ASCII"),
        (
            checked_new_topics,
            {"orders": TopicToCreate(0)},
            "The number of partitions of orders, 0, is invalid: use a whole number from 1 to 2,147,483,647, or -1 for",
        ),
        (
            checked_new_topics,
            {"orders": TopicToCreate(1, 40_000)},
            "The replication factor of orders, 40000, is invalid: use a whole number from 1 to 32,767, or -1 for the",
        ),
        (
            checked_new_topics,
            {"orders": TopicToCreate(1, configs={"retention.ms": 5})},  # type: ignore[dict-item]
            "configs of orders: retention.ms=5 is not text: give '5'",
        ),
        (checked_totals, {}, "totals={}: give a dictionary of numbers of partitions, such as {'orders': 6}"),
        (checked_totals, {"orders": 0}, "totals: 0 of orders is invalid: give the number of partitions that it will"),
        (checked_totals, {"orders": 2**31}, "totals: 2147483648 of orders is invalid: give the number of partitions"),
        (checked_totals, {"orders": True}, "totals: True of orders is invalid: give the number of partitions that it"),
        (checked_deletions, {}, "before={}: give a dictionary of offsets by TopicPartition"),
        (checked_deletions, {("orders", 0): 3}, "before: ('orders', 0) is not a TopicPartition of kafka_groups: give"),
        (checked_deletions, {FIRST: -1}, "before: -1 is not an offset of orders-0: give a number, 0 or more, or"),
        (checked_deletions, {FIRST: "end"}, "before: 'end' is not an offset of orders-0: give a number, 0 or more, or"),
        (checked_deletions, {FIRST: 2**63}, "before: 9223372036854775808 is not an offset of orders-0: give a number"),
    ],
)
def test_refusals_name_the_value_and_the_remedy(check: Callable[[Any], object], given: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(given)
    assert str(caught.value).startswith(message)


def test_what_is_right_is_passed_on() -> None:
    topics = {"orders": TopicToCreate(3, configs={"retention.ms": "5"}), "invoices": TopicToCreate()}
    assert checked_new_topics(topics) == topics
    assert checked_totals({"orders": 6}) == {"orders": 6}
    assert checked_deletions({FIRST: 5, TopicPartition("orders", 1): "latest"}) == {
        FIRST: 5,
        TopicPartition("orders", 1): HIGH_WATERMARK,
    }
