"""The topics that a command names: their names and partitions, before anything is read or written."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import click
from attrs import frozen

from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import KafkaGroupsError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka_groups.types import TopicPartition, is_topic_name

__all__ = ["NamedTopic", "checked_topic", "existing_partitions", "named_topics"]


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


async def existing_partitions(
    ask: Asking, topics: Sequence[NamedTopic], denied: Callable[[str], KafkaGroupsError]
) -> Mapping[str, Sequence[TopicPartition]]:
    """Return the partitions of topics, those that are named.

    Args:
        ask: Asks the brokers.
        topics: The topics.
        denied: Returns the error for a topic that may not be described.

    Raises:
        UnknownTopicOrPartitionError: A topic or a partition does not exist. The message says how to create it.
        KafkaGroupsError: The brokers do not tell.
    """
    found = await partitions_of_topics(ask, [each.name for each in topics])
    for topic, error in found.errors.items():
        if isinstance(error, TopicAuthorizationFailedError):
            raise denied(topic) from error
    if missing := [name for name, error in found.errors.items() if isinstance(error, UnknownTopicOrPartitionError)]:
        raise UnknownTopicOrPartitionError(_missing(missing))
    return {each.name: _chosen(each, found[each.name]) for each in topics}


def _missing(topics: Sequence[str]) -> str:
    names = " ".join(topics)
    if len(topics) == 1:
        return f"Topic {names} does not exist. Create it: kafka-groups topics create {names}"
    return f"The topics {', '.join(topics)} do not exist. Create them: kafka-groups topics create {names}"


def _chosen(topic: NamedTopic, found: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    if topic.partitions is None:
        return found
    known = {place.partition for place in found}
    for number in topic.partitions:
        if number not in known:
            last = max(known, default=0)
            text = f"Topic {topic.name} has no partition {number}: its partitions are 0 to {last}."
            raise UnknownTopicOrPartitionError(text)
    return [TopicPartition(topic.name, number) for number in topic.partitions]
