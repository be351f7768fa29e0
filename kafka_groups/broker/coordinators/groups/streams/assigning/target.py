"""Increases the epoch of a streams group and computes its target assignment (KIP-1071)."""

import logging
from collections.abc import Mapping

from attrs import evolve, frozen

from kafka_groups.assignment import (
    DescribedSubtopology,
    GroupAssignorConfigs,
    GroupTaskAssignor,
    MemberAssignment,
    MemberAssignments,
    OfferedAssignor,
    Registered,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TaskAssignors,
    TopologyDescriber,
    check_assignment,
)
from kafka_groups.assignment.group.by_subtopology import grouped_offsets, grouped_tasks, tasks_in
from kafka_groups.broker.coordinators.groups.epochs.target import (
    NO_TOPICS_HASH,
    existing_topics,
    hash_of,
    settle_empty_group,
)
from kafka_groups.broker.coordinators.groups.streams.assigning.application_target import application_input
from kafka_groups.broker.coordinators.groups.streams.computation import AssignmentComputation
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.records import NOT_VALIDATED, StreamsTarget
from kafka_groups.broker.coordinators.groups.streams.settings import StreamsRules
from kafka_groups.broker.coordinators.groups.streams.soft_state import ReportedOffsets, StreamsSoftState
from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import ConfiguredTopology
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import ConfigurationError, UnknownServerError
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.errors.texts import text_of
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.streams_group import (
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMember,
    StreamsGroupTargetAssignmentMetadata,
)

__all__ = [
    "SLOW_ASSIGNOR_MS",
    "TargetContext",
    "TargetStep",
    "assign_if_due",
    "assignment_configs",
    "assignor_for",
    "follow_departure",
    "increase_epoch",
    "increase_if_due",
    "metadata_hash",
    "write_target",
]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

_NUM_STANDBY_REPLICAS, _RACK_TAGS = "num.standby.replicas", "rack.aware.assignment.tags"
_NOTHING = StreamsTarget()
_NONE_REPORTED = ReportedOffsets()
SLOW_ASSIGNOR_MS = 50
"""An assignor that takes longer is logged. Those that assign to members keep the coordinator from anything else."""
_INTERVAL = "The next assignment of tasks waits for its interval (streams.assignment.interval.ms)."
_COMPUTING = "The next assignment of tasks is being computed (streams.assignor.name)."


# ------------------------------------------------------------------------------------------- group epoch


def assignment_configs(config: StreamsGroupConfig) -> Mapping[str, str]:
    """Return the configs that assignors may use, as the group's record has them."""
    tags = ",".join(config.rack_aware_assignment_tags)
    # Kafka also leaves the tags out if there are none (GroupMetadataManager.streamsGroupAssignmentConfigs). An entry
    # with an empty value would differ from the record of an earlier release and cause a rebalance after an upgrade.
    return {_NUM_STANDBY_REPLICAS: str(config.num_standby_replicas)} | ({_RACK_TAGS: tags} if tags else {})


def metadata_hash(group: StreamsGroup, topics: TopicsImage, *, departed: int = 0) -> int:
    """Return a number that changes when the target assignment may have to change.

    It depends on the topology's topics with their ids and numbers of partitions, and on the number of members: if only
    the first records of an operation are stored, a member is new or gone, and the group epoch did not follow.

    Args:
        group: The group.
        topics: The topics of the cluster.
        departed: The number of departed members to count.
    """
    names = () if group.topology is None else group.topology.required_topics
    # KIP-1071, "Rebalance Process", only watches input topics. Kafka's StreamsGroup.computeMetadataHash covers all
    # topics that the topology requires, because a changelog that was deleted makes the group NOT_READY as well.
    found = [(each.name, each.topic_id.hex, each.num_partitions) for each in existing_topics(names, topics)]
    if not found:
        return NO_TOPICS_HASH
    return hash_of((found, len(group.members) + departed))


def increase_if_due(
    draft: StreamsDraft, soft: StreamsSoftState, topics: TopicsImage, config: StreamsGroupConfig, *, has_changed: bool
) -> None:
    """Increase the group epoch by one if its members have changed, or its topics, or the configs of assignors.

    Nothing is looked at if topics, configuration and the group's record are those of the last time.

    Args:
        draft: The group.
        soft: Its soft state. Its topology is configured.
        topics: The topics of the cluster.
        config: The group's configuration.
        has_changed: Whether its members have changed.
    """
    if not has_changed and soft.looked_at == (topics.version, draft.group.metadata, config):
        return
    known = draft.group.metadata
    configured = soft.configured
    # A topology that begins or ceases to work changes nothing in the topics that the record knows of, but it decides
    # between real and empty assignments. Its epoch is therefore compared as well (StreamsGroup.validatedTopologyEpoch
    # in Kafka).
    validated = NOT_VALIDATED if configured is None or not configured.is_ready else configured.epoch
    facts = (metadata_hash(draft.group, topics), validated, assignment_configs(config))
    # All reasons increase the epoch by one, however many apply at once. KIP-1071, "Rebalance Process", lists them.
    if has_changed or facts != (known.metadata_hash, known.validated_topology_epoch, known.assignment_configs):
        _increase(draft, *facts)
    soft.looked_at = (topics.version, draft.group.metadata, config)


def follow_departure(draft: StreamsDraft, topics: TopicsImage) -> None:
    """Increase the group epoch because a member has gone. The target assignment of an empty group is current.

    As in Kafka, changes of topics are left to the next heartbeat.
    """
    group, known = draft.group, draft.group.metadata
    # The hash of the record also covers the number of members. If the topics are the same, it is brought up to the new
    # number; if they are not, the old hash stays in the record, so that the next heartbeat sees the difference.
    has_same_topics = metadata_hash(group, topics, departed=1) == known.metadata_hash
    hashed = metadata_hash(group, topics) if has_same_topics else known.metadata_hash
    _increase(draft, hashed, known.validated_topology_epoch, known.assignment_configs)
    settle_empty_group(draft)


def _increase(draft: StreamsDraft, hashed: int, validated_topology_epoch: int, configs: Mapping[str, str]) -> None:
    known = draft.group.metadata
    epoch = evolve(
        known,
        epoch=known.epoch + 1,
        metadata_hash=hashed,
        validated_topology_epoch=validated_topology_epoch,
        assignment_configs=configs,
    )
    draft.write(StreamsGroupMetadata(draft.group.group_id, epoch))


def increase_epoch(draft: StreamsDraft) -> None:
    """Increase the group epoch by one, so that tasks are assigned once more, though nothing has changed."""
    known = draft.group.metadata
    _increase(draft, known.metadata_hash, known.validated_topology_epoch, known.assignment_configs)


# ------------------------------------------------------------------------------------- target assignment


@frozen
class TargetContext:
    """The facts from which a target assignment is computed, apart from the group.

    Attributes:
        configured: The topology resolved against the topics of the cluster.
        config: The configuration of the group.
        rules: The settings of the broker.
        reported: The offsets that members have reported.
        topics: The topics of the cluster.
        computation: The computation that takes its time, if one is running.
        now_ms: The time.
    """

    configured: ConfiguredTopology
    config: StreamsGroupConfig
    rules: StreamsRules
    reported: Mapping[str, ReportedOffsets]
    topics: TopicsImage
    computation: AssignmentComputation
    now_ms: int


@frozen
class TargetStep:
    """The outcome for a target assignment that was due.

    Attributes:
        delay: Why it is not computed yet, for the status of members; None if it is there.
        effects: The computation that has to begin.
    """

    delay: str | None = None
    effects: tuple[ComputeAssignment, ...] = ()


def assignor_for(config: StreamsGroupConfig, offered: TaskAssignors) -> OfferedAssignor:
    """Return the assignor of a group. One that the broker does not have any more is replaced with the default."""
    return offered.named(config.assignor_name) if config.assignor_name in offered.names else offered.default


def assign_if_due(draft: StreamsDraft, context: TargetContext) -> TargetStep:
    """Compute the target assignment if it is older than the group epoch, or begin to.

    Raises:
        UnknownServerError: The assignor failed, or its assignment cannot be used. Nothing was written.
    """
    # The cases follow GroupMetadataManager.maybeUpdateStreamsTargetAssignment in Kafka: the target assignment is
    # current, it has to wait for its interval, or it is computed.
    if not draft.group.needs_target:
        return TargetStep()
    config, wall_ms = context.config, context.rules.wall_ms()
    if not draft.group.may_have_new_target(config.assignment_interval_ms, wall_ms):
        # KIP-1263 collects the changes of an interval in one assignment. Until then members keep their tasks and
        # receive the status ASSIGNMENT_DELAYED.
        return TargetStep(_INTERVAL)
    # KIP-1071, "Handling topic topology mismatches": all members get an empty assignment while the group is NOT_READY.
    # The assignor is not asked, because it could not know how many tasks there are.
    if not context.configured.is_ready:  # no member has tasks
        write_target(draft, {}, wall_ms)
        return TargetStep()
    assignor = assignor_for(config, context.rules.assignors)
    # An assignor of applications (KIP-924) may run for seconds and does not run on the thread of the coordinator. Those
    # of KIP-1357 run at once, as in Kafka without group.streams.assignor.offload.enable.
    if isinstance(assignor, Registered):
        return _begun(draft.group, assignor, context)
    spec, topology = _group_spec(draft.group, config, context.reported), _described(context.configured)
    assigned = _assigned(assignor, spec, topology, draft.group.epoch)
    took_ms = context.rules.wall_ms() - wall_ms
    # The broker has one event loop, so an assignor that runs on it delays the heartbeats of all other groups.
    if took_ms > SLOW_ASSIGNOR_MS:
        _log.warning("group %s: the task assignor %s took %d ms.", draft.group.group_id, assignor.name, took_ms)
    write_target(draft, {member_id: _as_target(each) for member_id, each in assigned.items()}, wall_ms)
    return TargetStep()


def write_target(draft: StreamsDraft, targets: Mapping[str, StreamsTarget], wall_ms: int) -> None:
    """Write the target assignment for the group epoch.

    Args:
        draft: The group.
        targets: The tasks of members. A missing member gets no tasks.
        wall_ms: The time.
    """
    group = draft.group
    # Only targets that differ are written, as in TargetAssignmentBuilder.build of streams groups in Kafka: with many
    # members, most targets stay the same. Members that are gone lost theirs when they were removed.
    for member_id in group.members:
        target = targets.get(member_id, _NOTHING)
        if group.target.get(member_id) != target:
            draft.write(StreamsGroupTargetAssignmentMember(group.group_id, member_id, target))
    draft.write(StreamsGroupTargetAssignmentMetadata(group.group_id, TargetEpoch(group.epoch, wall_ms)))


def _begun(group: StreamsGroup, assignor: Registered, context: TargetContext) -> TargetStep:
    """Ask for the computation of the target assignment, unless one is running, or has failed just now."""
    if not context.computation.may_begin(group.epoch, assignor.name, context.now_ms):
        return TargetStep(_COMPUTING)
    try:
        given = application_input(
            group, context.configured, context.config, context.rules, context.reported, context.topics
        )
    except ConfigurationError as error:
        raise UnknownServerError(f"The task assignor {assignor.name} cannot be used: {error}") from error
    return TargetStep(_COMPUTING, (ComputeAssignment(group.group_id, group.epoch, assignor, given),))


def _assigned(
    assignor: GroupTaskAssignor, spec: StreamsGroupSpec, topology: TopologyDescriber, epoch: int
) -> Mapping[str, MemberAssignment]:
    try:
        assignment: MemberAssignments = assignor.assign(spec, topology)
        # Kafka does not check what an assignor returns. Here, a wrong assignment fails instead of being stored: members
        # would run it as it is, and a task with two active owners would be processed twice.
        check_assignment(assignment, spec, topology)
    # Kafka answers with UNKNOWN_SERVER_ERROR as well and writes nothing, so the next heartbeat tries again.
    except Exception as error:  # an assignor may be anybody's
        _log.warning("The task assignor %s failed for epoch %d.", assignor.name, epoch, exc_info=True)
        told = text_of(error)
        raise UnknownServerError(f"Failed to compute a new target assignment for epoch {epoch}: {told}") from error
    return assignment.members


def _group_spec(
    group: StreamsGroup, config: StreamsGroupConfig, reported: Mapping[str, ReportedOffsets]
) -> StreamsGroupSpec:
    members = {id_: _member_spec(group, id_, reported.get(id_, _NONE_REPORTED)) for id_ in group.members}
    return StreamsGroupSpec(
        members, GroupAssignorConfigs(config.num_standby_replicas, config.rack_aware_assignment_tags)
    )


def _member_spec(group: StreamsGroup, member_id: str, reported: ReportedOffsets) -> StreamsMemberSpec:
    """Describe a member to the assignor. As in Kafka, its former tasks are those that it has now."""
    member, current = group.members[member_id], group.current_of(member_id)
    return StreamsMemberSpec(
        process_id=member.process_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_tags=member.client_tags,
        # The assignor is sticky to tasks that members run, not to the last target assignment, which they may not have
        # reached (TargetAssignmentBuilder.createMemberMetadataAndState in Kafka).
        active_tasks=grouped_tasks(current.active),
        standby_tasks=grouped_tasks(current.standby),
        task_offsets=grouped_offsets(reported.offsets),
        task_end_offsets=grouped_offsets(reported.ends),
    )


def _described(configured: ConfiguredTopology) -> TopologyDescriber:
    return TopologyDescriber(
        {
            subtopology_id: DescribedSubtopology(each.number_of_tasks, bool(each.declared.state_changelog_topics))
            for subtopology_id, each in configured.subtopologies.items()
        }
    )


def _as_target(assignment: MemberAssignment) -> StreamsTarget:
    return StreamsTarget(tasks_in(assignment.active_tasks), tasks_in(assignment.standby_tasks))
