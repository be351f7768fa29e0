"""Questions about the topics and brokers of a cluster: list, describe (Metadata, DescribeCluster)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve

from kafka_groups.admin.rules.authorized import operations_of
from kafka_groups.admin.rules.topic_values import (
    BrokerDescription,
    ClusterDescription,
    PartitionDescription,
    TopicDescription,
    TopicListing,
)
from kafka_groups.client.calls.questions import Answer, Asking, Question, errors_of_topics, metadata_request, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_groups.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

__all__ = ["describe_cluster", "describe_topics", "list_topics"]

_CLUSTER: Final = "the cluster"
_FIRST_WITHOUT_CREATION: Final = 4
_FIRST_WITH_OPERATIONS: Final = 8
_FIRST_WITH_FENCED_BROKERS: Final = 2


async def list_topics(ask: Asking, *, include_internal: bool) -> tuple[TopicListing, ...]:
    """Ask any broker for all topics that you may see."""

    def build(_keys: Sequence[str], version: int) -> MetadataRequest:
        # Null means all topics, also in a version that could create named ones.
        return MetadataRequest(topics=None, allow_auto_topic_creation=version < _FIRST_WITHOUT_CREATION)

    def read(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[tuple[TopicListing, ...]]]:
        found = (_listing_of(each) for each in response.topics if include_internal or not each.is_internal)
        return {_CLUSTER: tuple(sorted(found, key=lambda each: each.name))}

    return (await ask(Question("list the topics", ApiKey.METADATA, (_CLUSTER,), build, read)))[_CLUSTER]


def _listing_of(topic: MetadataResponseTopic) -> TopicListing:
    replicas = len(topic.partitions[0].replica_nodes) if topic.partitions else 0
    return TopicListing(topic.name or "", topic.topic_id, len(topic.partitions), replicas, topic.is_internal)


async def describe_topics(
    ask: Asking, topics: Iterable[str], *, authorized_operations: bool
) -> Results[str, TopicDescription]:
    """Ask any broker for topics. A topic that you may not see, or that does not exist, is an error."""

    def build(keys: Sequence[str], version: int) -> MetadataRequest:
        if authorized_operations and version < _FIRST_WITH_OPERATIONS:
            raise UnsupportedVersionError(f"Metadata v{version} has no authorized operations of topics.")
        return evolve(metadata_request(keys, version), include_topic_authorized_operations=authorized_operations)

    keys = tuple(dict.fromkeys(topics))
    return await ask(Question("describe the topic", ApiKey.METADATA, keys, build, _described))


def _described(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[TopicDescription]]:
    found = {topic.name or "": _description_of(topic) for topic in response.topics}
    return {**found, **errors_of_topics(response.topics)}


def _description_of(topic: MetadataResponseTopic) -> TopicDescription:
    return TopicDescription(
        name=topic.name or "",
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(sorted(map(_partition_of, topic.partitions), key=lambda each: each.partition)),
        authorized_operations=operations_of(topic.topic_authorized_operations),
    )


def _partition_of(found: MetadataResponsePartition) -> PartitionDescription:
    return PartitionDescription(
        partition=found.partition_index,
        leader=_known(found.leader_id),
        leader_epoch=_known(found.leader_epoch),
        replicas=found.replica_nodes,
        in_sync_replicas=found.isr_nodes,
        offline_replicas=found.offline_replicas,
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number


async def describe_cluster(ask: Asking, *, include_fenced: bool, authorized_operations: bool) -> ClusterDescription:
    """Ask any broker for the id, the controller and the brokers of the cluster.

    Raises:
        UnsupportedVersionError: The broker is too old for what is asked.
        KafkaGroupsError: No broker answered.
    """

    def build(_keys: Sequence[str], version: int) -> DescribeClusterRequest:
        if include_fenced and version < _FIRST_WITH_FENCED_BROKERS:
            raise UnsupportedVersionError(f"DescribeCluster v{version} does not tell which brokers are fenced.")
        return DescribeClusterRequest(
            include_cluster_authorized_operations=authorized_operations, include_fenced_brokers=include_fenced
        )

    return (await ask(Question("describe", ApiKey.DESCRIBE_CLUSTER, (_CLUSTER,), build, _cluster)))[_CLUSTER]


def _cluster(_keys: Sequence[str], response: DescribeClusterResponse) -> Mapping[str, Answer[ClusterDescription]]:
    found = ClusterDescription(
        cluster_id=response.cluster_id,
        controller_id=_known(response.controller_id),
        brokers=tuple(sorted(map(_broker_of, response.brokers), key=lambda each: each.node_id)),
        authorized_operations=operations_of(response.cluster_authorized_operations),
    )
    return {_CLUSTER: told(response.error_code, response.error_message, found)}


def _broker_of(found: DescribeClusterBroker) -> BrokerDescription:
    return BrokerDescription(found.broker_id, found.host, found.port, found.rack, found.is_fenced)
