"""A streams group as assignors of applications see it (KIP-924), and the target assignment from a result."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from kafka_groups.assignment import AssignedMember, AssignmentConfigs, ProcessId, TaskInfo
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput
from kafka_groups.assignment.application.reports import input_of_streams_group
from kafka_groups.assignment.application.tasks import source_partitions
from kafka_groups.assignment.application.topology_tasks import SubtopologyTopics, tasks_of_topology
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.records import StreamsTarget
from kafka_groups.broker.coordinators.groups.streams.settings import StreamsRules
from kafka_groups.broker.coordinators.groups.streams.soft_state import ReportedOffsets
from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import (
    ConfiguredSubtopology,
    ConfiguredTopology,
)
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.types import TaskId

__all__ = ["application_input", "target_of"]

_NONE_REPORTED = ReportedOffsets()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def application_input(
    group: StreamsGroup,
    configured: ConfiguredTopology,
    config: StreamsGroupConfig,
    rules: StreamsRules,
    reported: Mapping[str, ReportedOffsets],
    topics: TopicsImage,
) -> ApplicationInput:
    """Return what an assignor is to see of a group.

    Args:
        group: The group.
        configured: Its topology, whose topics exist.
        config: Its configuration.
        rules: The settings of the broker.
        reported: The offsets that its members have reported.
        topics: The topics of the cluster.

    Raises:
        ConfigurationError: Its configuration is not possible with such assignors.
    """
    tasks = tasks_of_topology(_topics(configured, topics), topics.replica_racks, application_id=group.group_id)
    # A classic application subscribes to the source topics of all its sub-topologies, whichever tasks a consumer has.
    # The assignors of KIP-924 expect to see that subscription.
    names = frozenset(name for each in configured.subtopologies.values() for name in each.source_names)
    members = {
        id_: _member(group, id_, reported.get(id_, _NONE_REPORTED), tasks, names) for id_ in sorted(group.members)
    }
    # The broker's configuration decides, not that of the clients: KIP-1071, "Global & Dynamic Group Configuration".
    configs = AssignmentConfigs(
        acceptable_recovery_lag=rules.acceptable_recovery_lag,
        num_standby_replicas=config.num_standby_replicas,
        rack_aware_assignment_tags=config.rack_aware_assignment_tags,
    )
    return input_of_streams_group(members, tasks, configs, _EPOCH + timedelta(milliseconds=rules.wall_ms()))


def target_of(member: AssignedMember) -> StreamsTarget:
    """Return the tasks of a member as the group's records have them."""
    return StreamsTarget(member.active_tasks, member.standby_tasks)


def _topics(configured: ConfiguredTopology, topics: TopicsImage) -> dict[str, SubtopologyTopics]:
    return {id_: _subtopology(each, topics) for id_, each in configured.subtopologies.items()}


def _subtopology(subtopology: ConfiguredSubtopology, topics: TopicsImage) -> SubtopologyTopics:
    changelogs = [info.name for info in subtopology.declared.state_changelog_topics]
    return SubtopologyTopics(_counts(subtopology.source_names, topics), _counts(changelogs, topics))


def _counts(names: Iterable[str], topics: TopicsImage) -> dict[str, int]:
    found = {name: topics.topic(name) for name in names}
    return {name: topic.num_partitions for name, topic in found.items() if topic is not None}


def _member(
    group: StreamsGroup,
    member_id: str,
    reported: ReportedOffsets,
    tasks: Mapping[TaskId, TaskInfo],
    names: frozenset[str],
) -> MemberInput:
    member, current = group.members[member_id], group.current_of(member_id)
    return MemberInput(
        process_id=ProcessId(member.process_id),
        active_tasks=frozenset(current.active),
        standby_tasks=frozenset(current.standby),
        task_offsets=dict(reported.offsets),
        task_end_offsets=dict(reported.ends),
        topics=names,
        owned_partitions=source_partitions(current.active, tasks),
        instance_id=member.instance_id,
        generation_id=current.member_epoch,
        rack_id=member.rack_id or None,
        host_info=None if member.user_endpoint is None else (member.user_endpoint.host, member.user_endpoint.port),
        client_tags=dict(member.client_tags),
    )
