"""Questions about the cluster and its topics: brokers, partitions, deletion."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.client.calls.questions import (
    Answer,
    Asking,
    Question,
    errors_of_topics,
    metadata_request,
    told,
)
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from kafka_groups.protocol.messages.metadata import MetadataResponse
from kafka_groups.types import TopicPartition

__all__ = [
    "brokers_of_cluster",
    "delete_topics",
    "partitions_of_topics",
]

_CLUSTER = "the cluster"
_FIRST_WITH_TOPIC_STATES = 6
_DELETION_MS = 30_000
"""The longest time that a broker waits for the controller to delete a topic."""


async def brokers_of_cluster(ask: Asking) -> tuple[int, ...]:
    """Return the node ids of the running brokers."""

    def read(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[tuple[int, ...]]]:
        return {_CLUSTER: tuple(broker.node_id for broker in response.brokers)}

    question = Question(
        "list the brokers", ApiKey.METADATA, (_CLUSTER,), lambda _keys, version: metadata_request((), version), read
    )
    return (await ask(question))[_CLUSTER]


async def partitions_of_topics(ask: Asking, topics: Iterable[str]) -> Results[str, tuple[TopicPartition, ...]]:
    """Return the partitions of topics. A topic that you may not see, or that does not exist, is an error."""
    question = Question(
        "describe the topic", ApiKey.METADATA, tuple(dict.fromkeys(topics)), metadata_request, _partitions
    )
    return await ask(question)


def _partitions(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[tuple[TopicPartition, ...]]]:
    refused = errors_of_topics(response.topics)
    found = {
        topic.name or "": tuple(TopicPartition(topic.name or "", each.partition_index) for each in topic.partitions)
        for topic in response.topics
    }
    return {**found, **refused}


async def delete_topics(ask: Asking, topics: Iterable[str]) -> Results[str, None]:
    """Have the controller delete topics."""

    def build(keys: Sequence[str], version: int) -> DeleteTopicsRequest:
        if version < _FIRST_WITH_TOPIC_STATES:
            return DeleteTopicsRequest(topic_names=tuple(keys), timeout_ms=_DELETION_MS)
        return DeleteTopicsRequest(topics=tuple(DeleteTopicState(name=key) for key in keys), timeout_ms=_DELETION_MS)

    keys = tuple(dict.fromkeys(topics))
    return await ask(Question("delete the topic", ApiKey.DELETE_TOPICS, keys, build, _deleted))


def _deleted(_keys: Sequence[str], response: DeleteTopicsResponse) -> Mapping[str, Answer[None]]:
    return {
        each.name or "": told(each.error_code, each.error_message or f"{each.error_code.name}: {each.name}", None)
        for each in response.responses
    }
