"""A classic group before a plan, as the brokers describe it: members, topics, offsets. Nothing is created."""

from collections.abc import Mapping

from attrs import field, frozen

from kafka_groups.admin.rules.classic_streams.classic_groups import EMPTY, DecodedClassicGroup, classic_groups
from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.plans.classic_topology import TopologyOf, check_topology, subtopologies_with_patterns
from kafka_groups.admin.rules.streams_leader.application_tasks import application_tasks
from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.admin.rules.streams_leader.internal_topics import (
    check_counts,
    needed_topics,
    topics_of_topology,
)
from kafka_groups.admin.rules.streams_leader.lags import ChangelogEnds, ask_for_ends
from kafka_groups.admin.rules.streams_leader.replica_racks import ReplicaRacks
from kafka_groups.admin.rules.streams_leader.topology_counts import TopologyCounts, missing_sources, topology_counts
from kafka_groups.admin.rules.topics import TopicReplicas, replicas_of_topics
from kafka_groups.assignment import TaskAssignmentError, TaskInfo
from kafka_groups.client.calls.partition_offsets import EARLIEST, offsets_at
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results
from kafka_groups.client.events import listed
from kafka_groups.errors import GroupIdNotFoundError, IllegalStateError, UnknownTopicOrPartitionError
from kafka_groups.errors.texts import sentences
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["ClassicSituation", "ask_for_classic_situation"]


@frozen(kw_only=True)
class ClassicSituation:
    """A classic group as the brokers have described it.

    Attributes:
        group: The group. It has members.
        tasks: The tasks of its topology.
        ends: The ends of their changelogs.
        starts: The starts of the partitions of changelogs.
        racks: The racks of the replicas of all topics.
        missing_topics: Internal topics that do not exist.
    """

    group: DecodedClassicGroup
    tasks: Mapping[TaskId, TaskInfo] = field(repr=False)
    ends: ChangelogEnds = field(repr=False)
    starts: Results[TopicPartition, int] = field(repr=False)
    racks: ReplicaRacks = field(repr=False)
    missing_topics: tuple[str, ...] = ()


async def ask_for_classic_situation(ask: Asking, group_id: str, topology_of: TopologyOf) -> ClassicSituation:
    """Ask the brokers for a classic group and all that belongs to it.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        topology_of: Returns the topology of its application.

    Raises:
        IllegalStateError: The group has no members, it rebalances, or its topics do not fit together.
        ConfigurationError: The topology is not that of the group.
        KafkaGroupsError: The coordinator refused the group, or a topic cannot be described.
    """
    group = await _group(ask, group_id)
    _check_has_tasks(group)
    # Patterns read what members have found, as in a round of the leader, but for topics that were deleted since.
    topics = await _existing(ask, topology_of(group.subscribed_topics))
    topology = topology_of(group.subscribed_topics & topics.keys())
    counts = _counts(topology, topics, subtopologies_with_patterns(topology_of, topology))
    missing = tuple(name for name in needed_topics(topology, counts, -1) if name not in topics)
    racks = ReplicaRacks(topics)
    tasks = application_tasks(topology, counts, racks, group_id)
    check_topology(group, topology, tasks)
    return ClassicSituation(
        group=group,
        tasks=tasks,
        ends=await ask_for_ends(ask, group_id, tasks, missing),
        starts=await _starts(ask, tasks, frozenset(missing)),
        racks=racks,
        missing_topics=missing,
    )


async def _group(ask: Asking, group_id: str) -> DecodedClassicGroup:
    try:
        return (await classic_groups(ask, [group_id]))[group_id]
    except GroupIdNotFoundError as error:
        advice = (
            "A plan with a topology is one of a classic group of a streams application: a streams group has its own"
        )
        raise GroupIdNotFoundError(sentences(str(error), advice)) from error


def _check_has_tasks(group: DecodedClassicGroup) -> None:
    if group.state == EMPTY or not group.members:
        raise IllegalStateError(
            f"The classic group {group.group_id} is {group.state}. It has no members, so there is nothing to move. "
            "Start its application first."
        )
    errors = {each.assignment_info.error_code for each in group.members} - {0}
    if errors:
        raise IllegalStateError(
            f"The leader of the classic group {group.group_id} has assigned no tasks, but told its members the error "
            f"{max(errors)}: 1 if a source topic is missing, 3 if the assignor failed, 4 if all members shall shut "
            "down. Its log has the cause."
        )


async def _existing(ask: Asking, topology: GroupTopology) -> Mapping[str, TopicReplicas]:
    """Return the topics that exist."""
    found = await replicas_of_topics(ask, topics_of_topology(topology))
    for error in found.errors.values():
        if not isinstance(error, UnknownTopicOrPartitionError):
            raise error
    return found.values


def _counts(
    topology: GroupTopology, topics: Mapping[str, TopicReplicas], with_patterns: frozenset[str]
) -> TopologyCounts:
    missing = missing_sources(topology, topics)
    if missing:
        raise IllegalStateError(
            f"Source topics of the topology do not exist: {listed(missing)}. Create them, or give the topology of the "
            "application that runs."
        )
    existing = {name: each.count for name, each in topics.items()}
    try:
        counts = topology_counts(topology, existing, with_patterns)
        check_counts(topology, counts, existing)
    except (LeadingError, TaskAssignmentError) as error:
        raise IllegalStateError(str(error)) from error
    return counts


async def _starts(
    ask: Asking, tasks: Mapping[TaskId, TaskInfo], missing: frozenset[str]
) -> Results[TopicPartition, int]:
    changelogs = [
        each.topic_partition for info in tasks.values() for each in info.topic_partitions if each.is_changelog
    ]
    found = await offsets_at(ask, [each for each in changelogs if each.topic not in missing], EARLIEST)
    new = dict.fromkeys((each for each in changelogs if each.topic in missing), 0)
    return Results({**found.values, **new}, found.errors)
