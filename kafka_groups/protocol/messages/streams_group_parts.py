"""Parts that the requests, responses and records of streams groups share: topologies, tasks, endpoints (KIP-1071)."""

from attrs import frozen

from kafka_groups.protocol.fields import Int16, Int32, Int64, UInt16


@frozen(kw_only=True)
class KeyValue:
    """A config of a topic, or a tag of a client."""

    key: str
    value: str


@frozen(kw_only=True)
class StreamsTopicInfo:
    """An internal topic of a topology, which the group coordinator creates.

    The number of partitions is 0 unless the application fixes it. A replication factor of -1 or 0 means the default.
    """

    name: str
    partitions: Int32 = 0
    replication_factor: Int16 = 0
    topic_configs: tuple[KeyValue, ...] = ()


@frozen(kw_only=True)
class CopartitionGroup:
    """Topics that need equally many partitions, as positions in the lists of their sub-topology."""

    source_topics: tuple[Int16, ...] = ()
    source_topic_regex: tuple[Int16, ...] = ()
    repartition_source_topics: tuple[Int16, ...] = ()


@frozen(kw_only=True)
class StreamsSubtopology:
    """A part of a topology that shares no topics or stores with others, except by repartition topics.

    Attributes:
        subtopology_id: The first half of the ids of its tasks.
        source_topics: Topics of others that it reads.
        source_topic_regex: Regular expressions of topics that it reads. No release of Kafka accepts any.
        state_changelog_topics: The changelogs of its stores.
        repartition_sink_topics: Repartition topics that it writes to.
        repartition_source_topics: Repartition topics that it reads.
        copartition_groups: Which of its sources need equally many partitions.
    """

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[StreamsTopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[StreamsTopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


@frozen(kw_only=True)
class TaskIds:
    """Tasks of one sub-topology, by their partitions."""

    subtopology_id: str
    partitions: tuple[Int32, ...] = ()


@frozen(kw_only=True)
class TaskOffset:
    """The sum of a task's offsets in its changelogs."""

    subtopology_id: str
    partition: Int32
    offset: Int64


@frozen(kw_only=True)
class UserEndpoint:
    """The address at which a process answers interactive queries."""

    host: str
    port: UInt16
