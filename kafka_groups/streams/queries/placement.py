"""The process of an application that has a key, as its group tells its members."""

from collections.abc import Collection, Iterable, Set
from typing import Any, Final

from attrs import frozen

from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.records.partitioning import partition_of
from kafka_groups.serdes import Serde
from kafka_groups.serdes.windowed import WindowedSerde
from kafka_groups.streams.errors import StoreNotAvailableError, StreamsError
from kafka_groups.streams.topology.internal_topics import changelog_topic, topic_name
from kafka_groups.streams.topology.node_graph import NodeGraph, TopologyStore
from kafka_groups.streams.topology.nodes import Partitioner
from kafka_groups.streams.topology.partitioning import check_partition, chosen_partitions
from kafka_groups.streams.topology.subtopologies import node_groups
from kafka_groups.streams.workers.query_places import QueryPlaces
from kafka_groups.types import TopicPartition

__all__ = [
    "KeyQueryMetadata",
    "StreamsMetadata",
    "active_process",
    "all_clients",
    "default_partition",
    "input_topics",
    "known_partitions",
    "place_of_key",
]

_NO_VALUE: Final = None


@frozen
class KeyQueryMetadata:
    """The place of a key of a store (Java's class of this name).

    Attributes:
        active: The `application_server` of the process whose task has the key. None: the group does not tell it now,
            or the process was configured without one.
        standbys: Those of processes with a copy.
        partition: The partition of the key.
    """

    active: UserEndpoint | None
    standbys: frozenset[UserEndpoint]
    partition: int


@frozen
class StreamsMetadata:
    """A process of the application, and what it has (Java's class of this name).

    Attributes:
        host: Its `application_server`.
        active: The partitions of source topics whose tasks it processes.
        standby: Those of whose tasks it has copies.
    """

    host: UserEndpoint
    active: frozenset[TopicPartition]
    standby: frozenset[TopicPartition]


def all_clients(places: QueryPlaces) -> tuple[StreamsMetadata, ...]:
    """Return the processes that have an `application_server`, in the order of their addresses."""
    known = sorted(places.endpoints.items(), key=lambda each: (each[0].host, each[0].port))
    return tuple(StreamsMetadata(host, its.active, its.standby) for host, its in known)


def place_of_key(
    topology: NodeGraph,
    application_id: str,
    place: TopologyStore,
    key: Any,
    partitioner: Partitioner | None,
    places: QueryPlaces,
) -> KeyQueryMetadata:
    """Return where a key is.

    Raises:
        StoreNotAvailableError: This process does not know the topics of the store yet.
        StreamsError: The store is a global one, or the partitioner chose no partition that there is.
    """
    name = place.definition.name
    if place.is_global:
        raise StreamsError(f"Store {name!r} is a global store: every process has all of it.")
    topics = input_topics(topology, application_id, name, places.partition_counts)
    partitions = known_partitions(topics, places)
    if not partitions:
        raise StoreNotAvailableError(
            f"The topics of store {name!r} are not known yet ({', '.join(topics)}). Call wait_until_running first."
        )
    partition = _partition(place, application_id, key, partitioner, partitions)
    wanted = {TopicPartition(topic, partition) for topic in topics}
    standbys = frozenset(host for host, its in places.endpoints.items() if wanted & its.standby)
    return KeyQueryMetadata(_active_of(wanted, places), standbys, partition)


def active_process(
    topology: NodeGraph, application_id: str, store: str, partition: int, places: QueryPlaces
) -> UserEndpoint | None:
    """Return the process that has the active task of a store's partition; None if the group does not tell it."""
    topics = input_topics(topology, application_id, store, places.partition_counts)
    return _active_of({TopicPartition(topic, partition) for topic in topics}, places)


def _active_of(wanted: Set[TopicPartition], places: QueryPlaces) -> UserEndpoint | None:
    return next((host for host, its in places.endpoints.items() if wanted & its.active), None)


def default_partition(key_serde: Serde[Any], key: bytes, partitions: int) -> int:
    """Return the partition of a key in a store whose stream has no partitioner of its own.

    Args:
        key_serde: The serde of the store's keys.
        key: The serialised key.
        partitions: The number of the store's partitions.
    """
    # Streams whose keys are windows have another partitioner, if the program gives none.
    return partition_of(key_serde.inner_bytes(key) if isinstance(key_serde, WindowedSerde) else key, partitions)


def input_topics(topology: NodeGraph, application_id: str, store: str, existing: Iterable[str]) -> list[str]:
    """Return the topics that the tasks of a store read, repartition topics among them.

    Args:
        topology: The topology.
        application_id: Prefix of the internal topics.
        store: The name of the store.
        existing: Topics that exist, of which patterns match some.
    """
    groups = [group for group in node_groups(topology) if any(each.definition.name == store for each in group.stores)]
    read = [topic for group in groups for source in group.sources for topic in source.topics]
    named = [topic_name(topology, application_id, topic) for topic in dict.fromkeys(read)]
    patterns = [source for group in groups for source in group.sources if source.pattern is not None]
    return [*named, *sorted(topic for topic in existing if any(each.matches(topic) for each in patterns))]


def known_partitions(topics: Iterable[str], places: QueryPlaces) -> int:
    """Return the number of partitions of a store whose tasks read these topics; 0 before it is known."""
    return max((places.partition_counts.get(topic, 0) for topic in topics), default=0)


def _partition(
    place: TopologyStore, application_id: str, key: Any, partitioner: Partitioner | None, partitions: int
) -> int:
    topic = changelog_topic(place, application_id)
    chosen: Collection[int | None] = (None,)
    if partitioner is not None:
        chosen = chosen_partitions(partitioner, topic, key, _NO_VALUE, partitions)
        if len(chosen) != 1:
            raise StreamsError(f"The partitioner chose {list(chosen)} for a key. Return one partition, or None.")
    (partition,) = chosen
    if partition is None:
        definition: Any = place.definition
        key_bytes = definition.key.serializer(topic, is_key=True)(key, [])
        return default_partition(definition.key, key_bytes, partitions)
    check_partition(topic, partition, partitions)
    return partition
