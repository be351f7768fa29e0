"""The options that say which topics of a group are meant, with the names of Kafka's tools."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from kafka_groups.types import TopicPartition

__all__ = ["chosen_topics", "topic_options", "topic_partitions"]

F = TypeVar("F", bound=Callable[..., Any])


def topic_options(command: F) -> F:
    """Add the options to a command, which gets `input_topics` and `all_input_topics`."""
    some = click.option(
        "--topic",
        "--input-topic",
        "input_topics",
        multiple=True,
        metavar="TOPIC[:PARTITION,...]",
        help="This topic, or some of its partitions. Repeatable.",
    )
    every = click.option(
        "--all-topics", "--all-input-topics", "all_input_topics", is_flag=True, help="All topics that the group reads."
    )
    return some(every(command))


def chosen_topics(input_topics: Iterable[str], *, all_input_topics: bool) -> tuple[str | TopicPartition, ...] | None:
    """Return the topics and partitions; None for all input topics.

    Raises:
        click.UsageError: None or both of the options are given, or a partition is not a number.
    """
    if bool(input_topics) == all_input_topics:
        raise click.UsageError("Give either --topic, once or several times, or --all-topics.")
    return None if all_input_topics else tuple(each for text in input_topics for each in topic_partitions(text))


def topic_partitions(text: str) -> tuple[str | TopicPartition, ...]:
    """Return a topic, or the partitions that are named after it: `orders` or `orders:0,2`.

    Raises:
        click.UsageError: A partition is not a number.
    """
    topic, colon, numbers = text.partition(":")
    if not colon:
        return (topic,)
    listed = [number.strip() for number in numbers.split(",")]
    if not topic or not all(number.isdecimal() for number in listed):
        raise click.UsageError(f"{text!r} is not of the form TOPIC:PARTITION,PARTITION.")
    return tuple(TopicPartition(topic, int(number)) for number in listed)
