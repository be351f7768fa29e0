"""The target assignment of a streams group: which assignor computes it, when, and what it becomes (KIP-1071)."""

import logging
from collections.abc import Iterable, Mapping

from kafka_groups.assignment import (
    AssignmentConfigs,
    DescribedSubtopology,
    GroupAssignment,
    GroupTaskAssignor,
    MemberAssignment,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TaskAssignors,
    TasksBySubtopology,
    TopologyDescriber,
    check_assignment,
)
from kafka_groups.broker.coordinators.groups.streams.configured_topology import ConfiguredTopology
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.records import (
    StreamsGroupTargetAssignmentMember,
    StreamsGroupTargetAssignmentMetadata,
    StreamsTarget,
    StreamsTargetEpoch,
)
from kafka_groups.broker.coordinators.groups.streams.soft_state import ReportedOffsets
from kafka_groups.broker.coordinators.groups.streams.tasks import TaskOffsets, Tasks, by_subtopology
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import UnknownServerError
from kafka_groups.types import TaskId

__all__ = ["assignor_for", "may_compute_target", "update_target"]

_log = logging.getLogger(__name__)

_NOTHING = MemberAssignment()
_NONE_REPORTED = ReportedOffsets()


def assignor_for(config: StreamsGroupConfig, offered: TaskAssignors) -> GroupTaskAssignor:
    """Return the assignor of a group. One that the broker does not have any more is replaced with the default."""
    return offered.named(config.assignor_name) if config.assignor_name in offered.names else offered.default


def may_compute_target(group: StreamsGroup, interval_ms: int, wall_ms: int) -> bool:
    """Return whether the assignment interval has passed since the last target assignment (KIP-1263)."""
    known = group.target_epoch
    return known is None or known.timestamp_ms == 0 or wall_ms >= known.timestamp_ms + interval_ms


def update_target(
    draft: StreamsDraft,
    configured: ConfiguredTopology,
    assignor: GroupTaskAssignor,
    config: StreamsGroupConfig,
    reported: Mapping[str, ReportedOffsets],
    wall_ms: int,
) -> None:
    """Compute the target assignment for the group epoch. As long as the topology does not work, nobody has tasks.

    Raises:
        UnknownServerError: The assignor failed, or its assignment cannot be used. Nothing was written.
    """
    group = draft.group
    assigned: Mapping[str, MemberAssignment] = {}
    if configured.is_ready:
        assigned = _assigned(assignor, _group_spec(group, config, reported), _described(configured), group.epoch)
    for member_id in group.members:
        target = _as_target(assigned.get(member_id, _NOTHING))
        if group.target.get(member_id) != target:
            draft.write(StreamsGroupTargetAssignmentMember(group.group_id, member_id, target))
    draft.write(StreamsGroupTargetAssignmentMetadata(group.group_id, StreamsTargetEpoch(group.epoch, wall_ms)))


def _assigned(
    assignor: GroupTaskAssignor, spec: StreamsGroupSpec, topology: TopologyDescriber, epoch: int
) -> Mapping[str, MemberAssignment]:
    try:
        assignment: GroupAssignment = assignor.assign(spec, topology)
        check_assignment(assignment, spec, topology)
    except Exception as error:  # an assignor may be anybody's
        _log.warning("The task assignor %s failed for epoch %d.", assignor.name, epoch, exc_info=True)
        raise UnknownServerError(f"Failed to compute a new target assignment for epoch {epoch}: {error}") from error
    return assignment.members


def _group_spec(
    group: StreamsGroup, config: StreamsGroupConfig, reported: Mapping[str, ReportedOffsets]
) -> StreamsGroupSpec:
    members = {id_: _member_spec(group, id_, reported.get(id_, _NONE_REPORTED)) for id_ in group.members}
    return StreamsGroupSpec(members, AssignmentConfigs(config.num_standby_replicas, config.rack_aware_assignment_tags))


def _member_spec(group: StreamsGroup, member_id: str, reported: ReportedOffsets) -> StreamsMemberSpec:
    """Describe a member to the assignor. As in Kafka, its former tasks are those that it has now."""
    member, current = group.members[member_id], group.current_of(member_id)
    return StreamsMemberSpec(
        process_id=member.process_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_tags=member.client_tags,
        active_tasks=_sets(current.active),
        standby_tasks=_sets(current.standby),
        task_offsets=_offsets(reported.offsets),
        task_end_offsets=_offsets(reported.ends),
    )


def _described(configured: ConfiguredTopology) -> TopologyDescriber:
    return TopologyDescriber(
        {
            subtopology_id: DescribedSubtopology(each.number_of_tasks, bool(each.declared.state_changelog_topics))
            for subtopology_id, each in configured.subtopologies.items()
        }
    )


def _as_target(assignment: MemberAssignment) -> StreamsTarget:
    return StreamsTarget(_tasks(assignment.active_tasks), _tasks(assignment.standby_tasks))


def _tasks(tasks: TasksBySubtopology) -> Tasks:
    return frozenset(TaskId(subtopology_id, partition) for subtopology_id, each in tasks.items() for partition in each)


def _sets(tasks: Iterable[TaskId]) -> TasksBySubtopology:
    return {subtopology_id: frozenset(partitions) for subtopology_id, partitions in by_subtopology(tasks).items()}


def _offsets(offsets: TaskOffsets) -> Mapping[str, Mapping[int, int]]:
    return {
        subtopology_id: {partition: offsets[TaskId(subtopology_id, partition)] for partition in partitions}
        for subtopology_id, partitions in by_subtopology(offsets).items()
    }
