"""The partitions of the topics that a command names, before anything is read or written."""

from collections.abc import Callable, Mapping, Sequence

from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.cli.records.named_topics import NamedTopic
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import KafkaGroupsError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka_groups.types import TopicPartition

__all__ = ["existing_partitions"]


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
