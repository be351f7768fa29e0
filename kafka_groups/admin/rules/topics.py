"""Questions about the cluster and its topics: brokers, partitions, creation, deletion."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from kafka_groups.client.calls.questions import (
    Answer,
    Asking,
    Question,
    errors_of_topics,
    metadata_request,
    told,
)
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.create_topics import (
    BROKER_DEFAULT,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_groups.types import TopicPartition

__all__ = [
    "TopicReplicas",
    "TopicToCreate",
    "brokers_of_cluster",
    "counts_of_topics",
    "create_topics",
    "delete_topics",
    "names_of_topics",
    "partitions_of_topics",
    "replicas_in_response",
    "replicas_of_topics",
]

_CLUSTER = "the cluster"
_FIRST_WITHOUT_CREATION: Final = 4
"""The version of Metadata from which on a request can say that it creates no topics."""
_FIRST_WITH_TOPIC_STATES = 6
_DELETION_MS = 30_000
"""The longest time that a broker waits for the controller to delete a topic."""
_CREATION_MS: Final = 30_000
"""The longest time that a broker waits for the controller to create topics."""
_MOST_TOPICS: Final = 500
"""The most topics in one request to create some, so that no request holds a broker up for long."""
_MOST_RECORDS: Final = 10_000
"""The most topics, configs and partitions together. Controllers refuse a request with more (POLICY_VIOLATION)."""


def _fixed(configs: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(configs))


@frozen
class TopicToCreate:
    """A topic that does not exist yet.

    Attributes:
        partitions: The number of its partitions; -1 for the brokers' default.
        replication_factor: The number of its replicas; -1 for the brokers' default.
        configs: Its configs.
    """

    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(factory=dict, converter=_fixed)

    @property
    def records(self) -> int:
        """The number of records that the controller writes for it."""
        return 1 + len(self.configs) + max(1, self.partitions)


async def brokers_of_cluster(ask: Asking) -> tuple[int, ...]:
    """Return the node ids of the running brokers."""

    def read(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[tuple[int, ...]]]:
        return {_CLUSTER: tuple(broker.node_id for broker in response.brokers)}

    question = Question(
        "list the brokers", ApiKey.METADATA, (_CLUSTER,), lambda _keys, version: metadata_request((), version), read
    )
    return (await ask(question))[_CLUSTER]


async def names_of_topics(ask: Asking) -> frozenset[str]:
    """Return the names of all topics that you may see, without Kafka's internal ones."""

    def build(_keys: Sequence[str], version: int) -> MetadataRequest:
        return MetadataRequest(topics=None, allow_auto_topic_creation=version < _FIRST_WITHOUT_CREATION)

    def read(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[frozenset[str]]]:
        return {_CLUSTER: frozenset(topic.name for topic in response.topics if topic.name and not topic.is_internal)}

    return (await ask(Question("list the topics", ApiKey.METADATA, (_CLUSTER,), build, read)))[_CLUSTER]


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


@frozen
class TopicReplicas:
    """The replicas of a topic's partitions.

    Attributes:
        nodes: The node ids of the brokers that have a partition, by its number.
        racks: The racks of all running brokers by node id, None for one without.
    """

    nodes: Mapping[int, tuple[int, ...]]
    racks: Mapping[int, str | None] = field(repr=False)

    @property
    def count(self) -> int:
        """The number of partitions."""
        return len(self.nodes)

    def racks_of(self, partition: int) -> frozenset[str] | None:
        """Return the racks of the running brokers that have a partition. None if there is no such partition."""
        if partition not in self.nodes:
            return None
        return frozenset(rack for node in self.nodes[partition] if (rack := self.racks.get(node)))

    def are_running(self, partition: int) -> bool:
        """Return whether all brokers that have a partition are running, so that their racks are known."""
        return all(node in self.racks for node in self.nodes.get(partition, ()))


def counts_of_topics(topics: Mapping[str, TopicReplicas]) -> dict[str, int]:
    """Return the numbers of partitions of topics."""
    return {name: each.count for name, each in topics.items()}


async def replicas_of_topics(ask: Asking, topics: Iterable[str]) -> Results[str, TopicReplicas]:
    """Return the replicas of topics. A topic that you may not see, or that does not exist, is an error."""
    return await ask(
        Question(
            "describe the topic", ApiKey.METADATA, tuple(dict.fromkeys(topics)), metadata_request, replicas_in_response
        )
    )


def replicas_in_response(
    _keys: Sequence[str], response: MetadataResponse
) -> dict[str, TopicReplicas | KafkaGroupsError]:
    """Return the replicas of the topics in a Metadata response, or their errors."""
    racks = {broker.node_id: broker.rack for broker in response.brokers}
    found = {
        topic.name or "": TopicReplicas({each.partition_index: each.replica_nodes for each in topic.partitions}, racks)
        for topic in response.topics
    }
    return {**found, **errors_of_topics(response.topics)}


async def create_topics(
    ask: Asking, topics: Mapping[str, TopicToCreate], *, validate_only: bool = False
) -> Results[str, None]:
    """Have the controller create topics, some hundred in a request, one request after the other.

    A request whose answer was lost is repeated, and a topic of its own making is then `TopicAlreadyExistsError`. The
    caller decides what an existing topic means.

    Args:
        ask: Asks the brokers.
        topics: The topics by name.
        validate_only: Whether brokers only check what they would do.

    Returns:
        None or an error for each topic, with the broker's message.
    """
    values: dict[str, None] = {}
    errors: dict[str, KafkaGroupsError] = {}
    for names in _requests(topics):
        question = _creation({name: topics[name] for name in names}, validate_only=validate_only)
        done = await ask(question)
        values |= done.values
        errors |= done.errors
    return Results(values, errors)


def _requests(topics: Mapping[str, TopicToCreate]) -> Iterator[list[str]]:
    """Yield the names of topics that go into one request."""
    names: list[str] = []
    records = 0
    for name, topic in topics.items():
        if names and (len(names) == _MOST_TOPICS or records + topic.records > _MOST_RECORDS):
            yield names
            names, records = [], 0
        names.append(name)
        records += topic.records
    if names:
        yield names


def _creation(topics: Mapping[str, TopicToCreate], *, validate_only: bool) -> Question[str, None]:
    def build(keys: Sequence[str], _version: int) -> CreateTopicsRequest:
        wanted = tuple(_creatable(key, topics[key]) for key in keys)
        return CreateTopicsRequest(topics=wanted, timeout_ms=_CREATION_MS, validate_only=validate_only)

    return Question("create the topic", ApiKey.CREATE_TOPICS, tuple(topics), build, _created)


def _creatable(name: str, topic: TopicToCreate) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()),
    )


def _created(_keys: Sequence[str], response: CreateTopicsResponse) -> Mapping[str, Answer[None]]:
    return {
        each.name: told(each.error_code, each.error_message or f"{each.error_code.name}: {each.name}", None)
        for each in response.topics
    }


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
