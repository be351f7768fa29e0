"""Responses to requests about streams groups, created from the groups."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve

from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.records import StreamsAssignment, StreamsMember, StreamsTarget
from kafka_groups.broker.coordinators.groups.streams.soft_state import ReportedOffsets
from kafka_groups.broker.coordinators.groups.streams.tasks import by_subtopology, listed_offsets, listed_tasks
from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import (
    ConfiguredSubtopology,
    ConfiguredTopology,
)
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.errors import UnknownServerError
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeAssignment,
    StreamsGroupDescribeResponseGroup,
    StreamsGroupDescribeResponseMember,
    StreamsGroupDescribeSubtopology,
    StreamsGroupDescribeTopology,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatStatus,
    StreamsGroupHeartbeatTopicPartition,
    StreamsStatus,
)
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, StreamsSubtopology, StreamsTopicInfo
from kafka_groups.types import TaskId

__all__ = [
    "described_group",
    "leave_response",
    "missing_tags",
    "partitions_by_endpoint",
    "statuses",
    "with_creation_failures",
    "with_missing_rights",
    "with_tasks",
]

_FIRST_WITH_CLIENT_TAGS = 1
"""The first version of the heartbeat whose response reports missing tags to a member."""
_NONE_REPORTED = ReportedOffsets()


def with_tasks(response: StreamsGroupHeartbeatResponse, current: StreamsAssignment) -> StreamsGroupHeartbeatResponse:
    """Return a response with the tasks that the member may own. No release of Kafka assigns warm-up tasks."""
    return evolve(
        response,
        active_tasks=listed_tasks(current.active.keys()),
        standby_tasks=listed_tasks(current.standby),
        warmup_tasks=(),
    )


def leave_response(member_id: str, epoch: int) -> StreamsGroupHeartbeatResponse:
    """Return the response to a member that left, for good or for a while."""
    # The status list is empty and not null, which would mean that it has not changed
    # (GroupMetadataManager.streamsGroupLeave).
    return StreamsGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch, status=())


# ---------------------------------------------------------------------------------------------- statuses


def statuses(
    group: StreamsGroup,
    member: StreamsMember,
    configured: ConfiguredTopology,
    delay: str | None,
    shutdown_member: str | None,
) -> Iterator[StreamsGroupHeartbeatStatus]:
    """Yield the reasons that keep the group from working, or the member from having tasks.

    Args:
        group: The group.
        member: The member.
        configured: The topology resolved against the topics of the cluster.
        delay: The reason why the tasks are assigned later, or None.
        shutdown_member: The member that asked all to shut down.
    """
    # The order of the statuses is Kafka's: stale topology, delay, problem of the topology, shutdown
    # (GroupMetadataManager.streamsGroupHeartbeat). The list is complete in each response; it never is null for
    # "unchanged".
    if group.topology is not None and member.topology_epoch < group.topology.epoch:
        detail = f"The member's topology epoch {member.topology_epoch} is behind the group's, {group.topology.epoch}."
        yield _status(StreamsStatus.STALE_TOPOLOGY, detail)
    # KIP-1071 does not have this status. It came with the initial rebalance delay and also covers the assignment
    # interval of KIP-1263.
    if delay is not None:
        yield _status(StreamsStatus.ASSIGNMENT_DELAYED, delay)
    # KIP-1071, "Handling topic topology mismatches": heartbeats succeed while the topology does not work, and the
    # status says why. Only the first problem is reported.
    if configured.problem is not None:
        yield _status(configured.problem.status, configured.problem.detail)
    # KIP-1071 has a member ask for this with its last heartbeat. All others have to see it, however late they come, so
    # the status stays until the group is empty.
    if shutdown_member is not None:
        detail = f"Member {shutdown_member} requested that all members of the group shut down."
        yield _status(StreamsStatus.SHUTDOWN_APPLICATION, detail)


def missing_tags(member: StreamsMember, needed: Sequence[str], version: int) -> Iterator[StreamsGroupHeartbeatStatus]:
    """Return the status of a member that lacks client tags, if its version of the heartbeat has that status."""
    missing = [tag for tag in needed if tag not in member.client_tags]
    # Clients of version 0 do not know the status and could fail on it.
    if missing and version >= _FIRST_WITH_CLIENT_TAGS:
        detail = f"The member lacks client tags of the group's rack-aware assignment: {', '.join(missing)}."
        yield _status(StreamsStatus.MISSING_CLIENT_TAGS, detail)


def with_creation_failures(
    response: StreamsGroupHeartbeatResponse, failures: Mapping[str, str]
) -> StreamsGroupHeartbeatResponse:
    """Return a response whose status about missing internal topics says why they could not be created."""
    if not failures or response.status is None:
        return response
    reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
    told = tuple(
        evolve(each, status_detail=f"{each.status_detail} Creation failed: {reasons}.")
        # KIP-1071, "Handling topic topology mismatches", case 3, wants the detail to say why a former attempt failed.
        if each.status_code == StreamsStatus.MISSING_INTERNAL_TOPICS
        else each
        for each in response.status
    )
    return evolve(response, status=told)


def with_missing_rights(
    response: StreamsGroupHeartbeatResponse, topics: Sequence[str]
) -> StreamsGroupHeartbeatResponse:
    """Return a response whose status about missing internal topics names those that the client may not create."""
    # The text is Kafka's (KafkaApis.handleStreamsGroupHeartbeat). Topics are created only with this status.
    added = f"; Unauthorized to CREATE on topics {', '.join(topics)}."
    told = tuple(
        evolve(each, status_detail=each.status_detail.rstrip(".") + added)
        if each.status_code == StreamsStatus.MISSING_INTERNAL_TOPICS
        else each
        for each in response.status or ()
    )
    return evolve(response, status=told)


def _status(code: StreamsStatus, detail: str) -> StreamsGroupHeartbeatStatus:
    return StreamsGroupHeartbeatStatus(status_code=code, status_detail=detail)


# ------------------------------------------------------------------------------------------- endpoints


def partitions_by_endpoint(
    group: StreamsGroup, configured: ConfiguredTopology, topics: TopicsImage
) -> tuple[EndpointToPartitions, ...]:
    """Return an entry for each member with an endpoint. Several members may have the same one.

    Raises:
        UnknownServerError: A member has an endpoint, but the topics of the topology do not work. Kafka fails, too.
    """
    return tuple(
        EndpointToPartitions(
            user_endpoint=member.user_endpoint,
            active_partitions=tuple(_partitions(group.current_of(member_id).active, _sized(configured), topics)),
            standby_partitions=tuple(_partitions(group.current_of(member_id).standby, _sized(configured), topics)),
        )
        for member_id, member in group.members.items()
        if member.user_endpoint is not None
    )


def _sized(configured: ConfiguredTopology) -> Mapping[str, ConfiguredSubtopology]:
    """Return the sub-topologies, whose topics must have numbers of partitions."""
    # With missing internal topics the sub-topologies are there, and so are their source topics, whose partitions are
    # what clients query. With the other problems nothing is known about partitions.
    if configured.problem is not None and not configured.subtopologies:
        raise UnknownServerError(
            f"There are no partitions to ask for at the members' endpoints. {configured.problem.detail}"
        )
    return configured.subtopologies


def _partitions(
    tasks: Iterable[TaskId], subtopologies: Mapping[str, ConfiguredSubtopology], topics: TopicsImage
) -> Iterator[StreamsGroupHeartbeatTopicPartition]:
    for subtopology_id, numbers in by_subtopology(tasks).items():
        subtopology = subtopologies.get(subtopology_id)
        for name in () if subtopology is None else subtopology.source_names:
            topic = topics.topic(name)
            if topic is None:
                raise UnknownServerError(f"Topic {name} does not exist, but a member has tasks that read it.")
            # Topics of one sub-topology may have different numbers of partitions. A task reads a partition of each
            # topic that has as many (EndpointToPartitionsManager.topicPartitionListForTask in Kafka).
            read = tuple(number for number in numbers if number < topic.num_partitions)
            if read:
                yield StreamsGroupHeartbeatTopicPartition(topic=name, partitions=read)


# ------------------------------------------------------------------------------------------- descriptions


def described_group(
    group: StreamsGroup,
    configured: ConfiguredTopology | None,
    reported: Mapping[str, ReportedOffsets],
    assignor: str,
) -> StreamsGroupDescribeResponseGroup:
    """Return a group as StreamsGroupDescribe shows it."""
    return StreamsGroupDescribeResponseGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_described_topology(group, configured),
        members=tuple(
            _described_member(group, member_id, reported.get(member_id, _NONE_REPORTED))
            for member_id in sorted(group.members)
        ),
        assignor_name=assignor,
    )


def _described_topology(
    group: StreamsGroup, configured: ConfiguredTopology | None
) -> StreamsGroupDescribeTopology | None:
    """Return the topology with numbers of partitions, or as members sent it while it does not work."""
    if group.topology is None:
        return None
    declared: Sequence[StreamsSubtopology] = group.topology.subtopologies
    # KIP-1071, "Describing and listing streams groups", shows the resolved topology. Until it is ready, Kafka shows
    # what members sent (StreamsGroup.asDescribedGroup).
    if configured is not None and configured.is_ready:
        declared = [each.declared for each in configured.subtopologies.values()]
    return StreamsGroupDescribeTopology(
        epoch=group.topology.epoch, subtopologies=tuple(_described_subtopology(each) for each in declared)
    )


def _described_subtopology(subtopology: StreamsSubtopology) -> StreamsGroupDescribeSubtopology:
    return StreamsGroupDescribeSubtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=tuple(sorted(subtopology.source_topics)),
        repartition_sink_topics=tuple(sorted(subtopology.repartition_sink_topics)),
        state_changelog_topics=_by_name(subtopology.state_changelog_topics),
        repartition_source_topics=_by_name(subtopology.repartition_source_topics),
    )


def _by_name(infos: Sequence[StreamsTopicInfo]) -> tuple[StreamsTopicInfo, ...]:
    return tuple(sorted(infos, key=lambda info: info.name))


def _described_member(
    group: StreamsGroup, member_id: str, reported: ReportedOffsets
) -> StreamsGroupDescribeResponseMember:
    member, current = group.members[member_id], group.current_of(member_id)
    return StreamsGroupDescribeResponseMember(
        member_id=member_id,
        member_epoch=current.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=member.user_endpoint,
        client_tags=tuple(KeyValue(key=key, value=value) for key, value in sorted(member.client_tags.items())),
        task_offsets=listed_offsets(reported.offsets),
        task_end_offsets=listed_offsets(reported.ends),
        assignment=_described_tasks(StreamsTarget(frozenset(current.active), current.standby)),
        target_assignment=_described_tasks(group.target_of(member_id)),
    )


def _described_tasks(tasks: StreamsTarget) -> StreamsGroupDescribeAssignment:
    return StreamsGroupDescribeAssignment(
        active_tasks=listed_tasks(tasks.active), standby_tasks=listed_tasks(tasks.standby)
    )
