"""The topics that a command names."""

from collections.abc import Iterable, Sequence

import click
from attrs import frozen

from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.types import is_topic_name

__all__ = ["NamedTopic", "checked_topic", "named_topics"]


@frozen
class NamedTopic:
    """A topic, or some of its partitions.

    Attributes:
        name: The topic.
        partitions: The numbers of the partitions; None: all.
    """

    name: str
    partitions: tuple[int, ...] | None = None


def checked_topic(name: str) -> str:
    """Return the name of a topic.

    Raises:
        click.BadParameter: No topic can have it.
    """
    if not is_topic_name(name):
        raise click.BadParameter(
            f"{name!r} is not the name of a topic. Use letters, digits, '.', '_' and '-', 249 at most."
        )
    return name


def named_topics(texts: Iterable[str]) -> Sequence[NamedTopic]:
    """Return the topics of arguments such as `orders` and `orders:0,2`.

    Raises:
        click.BadParameter: One has the wrong form, or a topic is given twice.
    """
    topics = [_named_topic(text) for text in texts]
    refuse_repeated([each.name for each in topics], "TOPIC")
    return topics


def _named_topic(text: str) -> NamedTopic:
    name, colon, numbers = text.partition(":")
    if not colon:
        return NamedTopic(checked_topic(name))
    listed = numbers.split(",")
    if not all(number.isascii() and number.isdecimal() for number in listed):
        raise click.BadParameter(f"{text!r} is not of the form TOPIC:PARTITION,PARTITION.")
    return NamedTopic(checked_topic(name), tuple(sorted(set(map(int, listed)))))
