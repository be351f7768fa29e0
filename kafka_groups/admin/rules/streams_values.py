"""The values that an admin client returns about streams groups (KIP-1071)."""

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from kafka_groups.admin.rules.returned_values import total_lag
from kafka_groups.assignment.group.group_assignor import OffsetsBySubtopology, TasksBySubtopology
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TaskId, TopicPartition

__all__ = [
    "ListedStreamsGroup",
    "StreamsGroupDescription",
    "StreamsGroupList",
    "StreamsGroupMemberDescription",
    "StreamsGroupOffset",
    "StreamsGroupTasks",
    "StreamsInternalTopic",
    "StreamsSubtopologyDescription",
    "StreamsTopologyDescription",
]


@frozen
class ListedStreamsGroup:
    """A streams group in a list.

    Attributes:
        group_id: The group, which is the `application.id` of its application.
        state: `Empty`, `NotReady`, `Assigning`, `Reconciling`, `Stable` or `Dead`.
    """

    group_id: str
    state: str


@frozen
class StreamsGroupList:
    """The streams groups of a cluster. Each broker lists those that it coordinates.

    Attributes:
        groups: The groups, sorted by id.
        errors: Brokers that did not answer, by node id. Their groups are missing.
    """

    groups: tuple[ListedStreamsGroup, ...] = ()
    errors: Mapping[int, KafkaGroupsError] = field(factory=dict)


@frozen(kw_only=True)
class StreamsInternalTopic:
    """A changelog or repartition topic of a streams group. The coordinator creates it.

    Attributes:
        name: The topic's name.
        partitions: The number of partitions; None while the coordinator has not derived it.
        replication_factor: The replication factor; None for the brokers' default.
        configs: The configs that the application wants for it.
    """

    name: str
    partitions: int | None
    replication_factor: int | None
    configs: Mapping[str, str]


@frozen(kw_only=True)
class StreamsSubtopologyDescription:
    """A sub-topology of a streams group.

    Attributes:
        subtopology_id: The first half of the ids of its tasks.
        source_topics: Topics that it reads, without repartition topics.
        repartition_sources: Repartition topics that it reads.
        repartition_sinks: Names of the repartition topics that it writes to.
        changelogs: The changelogs of its stores.
    """

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    repartition_sources: tuple[StreamsInternalTopic, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[StreamsInternalTopic, ...] = ()


@frozen
class StreamsTopologyDescription:
    """The topology of a streams group, as the coordinator has it.

    Attributes:
        epoch: Its number.
        subtopologies: Its parts; none if the coordinator does not show them.
    """

    epoch: int
    subtopologies: tuple[StreamsSubtopologyDescription, ...] = ()

    @property
    def source_topics(self) -> frozenset[str]:
        """Names of the topics that it reads and that the application does not own."""
        return frozenset(name for each in self.subtopologies for name in each.source_topics)

    @property
    def repartition_topics(self) -> frozenset[str]:
        """Names of the topics through which its sub-topologies send each other records."""
        return frozenset(topic.name for each in self.subtopologies for topic in each.repartition_sources)

    @property
    def read_topics(self) -> frozenset[str]:
        """Names of all topics that it reads, for which the group commits offsets."""
        return self.source_topics | self.repartition_topics

    @property
    def changelog_topics(self) -> frozenset[str]:
        """Names of the changelogs. A source topic may be one, if the application optimises its topology."""
        return frozenset(topic.name for each in self.subtopologies for topic in each.changelogs)


@frozen(kw_only=True)
class StreamsGroupTasks:
    """Tasks of a member: sets of partition numbers by sub-topology id.

    Attributes:
        active: Tasks that it processes.
        standby: Tasks whose state it keeps up to date, so that it can take over.
        warmup: Tasks whose state it restores before it takes over.
    """

    active: TasksBySubtopology = field(factory=dict)
    standby: TasksBySubtopology = field(factory=dict)
    warmup: TasksBySubtopology = field(factory=dict)


@frozen(kw_only=True)
class StreamsGroupMemberDescription:
    """A member of a streams group.

    Attributes:
        member_id: Its id.
        epoch: Its member epoch.
        process_id: The process that it runs in. Members of one process share a state directory.
        instance_id: Its instance id; None for a dynamic member.
        rack: Its rack, or None.
        client_id: The name of its client.
        client_host: The address that it connects from.
        user_endpoint: Host and port at which its process answers interactive queries, or None.
        client_tags: Its client tags.
        topology_epoch: The number of its topology.
        assignment: The tasks that it has.
        target_assignment: The tasks that it will have.
        task_offsets: How far its local state of each task is: a sum over changelog partitions, by sub-topology id and
            partition number. Empty if it has not reported any.
        task_end_offsets: The ends of those changelogs, where it knows them.
        is_classic: Whether it uses the classic protocol.
    """

    member_id: str
    epoch: int
    process_id: str
    instance_id: str | None
    rack: str | None
    client_id: str
    client_host: str
    user_endpoint: tuple[str, int] | None
    client_tags: Mapping[str, str]
    topology_epoch: int
    assignment: StreamsGroupTasks
    target_assignment: StreamsGroupTasks
    task_offsets: OffsetsBySubtopology
    task_end_offsets: OffsetsBySubtopology
    is_classic: bool

    @property
    def task_lags(self) -> Mapping[TaskId, int]:
        """For each task of which the member reported both offsets, how many changelog records its stores lack."""
        return {
            TaskId(subtopology, partition): max(0, end - self.task_offsets[subtopology][partition])
            for subtopology, ends in self.task_end_offsets.items()
            for partition, end in ends.items()
            if partition in self.task_offsets.get(subtopology, ())
        }


@frozen
class StreamsGroupOffset:
    """The progress of a streams group in one partition.

    Attributes:
        offset: The committed offset, from which the group continues; None if it has not committed any.
        leader_epoch: The leader epoch of the last record before it; None if it is unknown.
        end_offset: The offset of the next record that producers will write.
        lag: How many records the group has not processed: up to the end from its offset, or from the beginning of the
            partition if it has not committed any.
    """

    offset: int | None
    leader_epoch: int | None
    end_offset: int
    lag: int


@frozen(kw_only=True)
class StreamsGroupDescription:
    """A streams group.

    Attributes:
        group_id: The group, which is the `application.id` of its application.
        state: `Empty`, `NotReady`, `Assigning`, `Reconciling`, `Stable` or `Dead`.
        epoch: The group epoch, which grows with every change that needs a new assignment.
        assignment_epoch: The group epoch that the target assignment is for.
        assignor: The name of the task assignor; None before Kafka 4.4.
        topology: The topology, or None if the coordinator does not know it.
        members: The members.
        lag: How many records the group has not processed in each partition that it reads; None if it is unknown.
        lag_error: Why the lag is missing, or None.
    """

    type: ClassVar[str] = "streams"

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str | None
    topology: StreamsTopologyDescription | None
    members: tuple[StreamsGroupMemberDescription, ...]
    lag: Mapping[TopicPartition, int | None] = field(factory=dict)
    lag_error: KafkaGroupsError | None = None

    @property
    def total_lag(self) -> int | None:
        """The sum of the lags; None if there are no partitions, or if one lag is unknown."""
        return total_lag(self.lag)

    @property
    def has_members(self) -> bool:
        """True if the group has members, so that its offsets and internal topics must stay."""
        return bool(self.members)

    @property
    def read_topics(self) -> tuple[str, ...]:
        """Names of all topics that the application reads: input topics and repartition topics, sorted."""
        return () if self.topology is None else tuple(sorted(self.topology.read_topics))

    @property
    def input_topics(self) -> tuple[str, ...]:
        """Names of the topics that the application reads and does not own, sorted."""
        return () if self.topology is None else tuple(sorted(self.topology.source_topics))

    @property
    def internal_topics(self) -> tuple[str, ...]:
        """Names of the changelogs and repartition topics that belong to the group alone, sorted.

        These are the ones whose name begins with the group's id and a hyphen, as Kafka Streams names them.
        """
        if self.topology is None:
            return ()
        named = (self.topology.changelog_topics | self.topology.repartition_topics) - self.topology.source_topics
        return tuple(sorted(name for name in named if name.startswith(f"{self.group_id}-")))
