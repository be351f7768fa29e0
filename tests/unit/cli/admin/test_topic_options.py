"""Which topics of a streams group the options name."""

import click
import pytest

from kafka_groups.cli.admin.topic_options import chosen_topics, topic_partitions
from kafka_groups.types import TopicPartition


def test_topics_and_partitions() -> None:
    assert topic_partitions("orders") == ("orders",)
    assert topic_partitions("orders:0, 2") == (TopicPartition("orders", 0), TopicPartition("orders", 2))
    assert chosen_topics(["a", "b:1"], all_input_topics=False) == ("a", TopicPartition("b", 1))
    assert chosen_topics([], all_input_topics=True) is None


@pytest.mark.parametrize("text", ["orders:", "orders:x", "orders:1,", "orders:-1", ":1"])
def test_what_is_no_partition_is_named(text: str) -> None:
    with pytest.raises(click.UsageError, match=f"'{text}' is not of the form"):
        topic_partitions(text)


@pytest.mark.parametrize(("some", "every"), [([], False), (["orders"], True)])
def test_topics_are_named_in_one_way(some: list[str], every: bool) -> None:
    with pytest.raises(click.UsageError, match="either --topic, once or several times, or --all-topics"):
        chosen_topics(some, all_input_topics=every)
