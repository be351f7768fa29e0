"""Checks of heartbeats of streams groups that do not depend on the group."""

from collections.abc import Iterable, Mapping

from kafka_groups.broker.coordinators.groups.epochs.members import refuse_blank
from kafka_groups.broker.coordinators.groups.streams.tasks import OwnedTasks, TaskOffsets, owned_tasks
from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import ConfiguredSubtopology
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import check_topic_names, check_topology
from kafka_groups.errors import InvalidRequestError
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    StreamsGroupHeartbeatRequest,
)
from kafka_groups.protocol.messages.streams_group_parts import TaskOffset
from kafka_groups.types import TaskId

__all__ = ["check_owned", "reported_offsets", "validate"]

_NOT_SET = -1


def validate(request: StreamsGroupHeartbeatRequest, *, is_4_4: bool = True) -> None:
    """Check a heartbeat.

    Args:
        request: The heartbeat.
        is_4_4: Whether static members and offsets of tasks are supported, as from Kafka 4.4 on.

    Raises:
        InvalidRequestError: A field is missing or has an invalid value.
        StreamsInvalidTopologyError: The topology contradicts itself, or has an invalid topic.
    """
    # The order of the checks decides which error a request with several faults gets. Kafka checks the names of topics
    # before the request reaches the group coordinator (KafkaApis.handleStreamsGroupHeartbeat).
    if request.topology is not None:
        check_topic_names(request.topology)
    _check_names(request)
    # Kafka 4.2 and 4.3 reject these parts of KIP-1071, which they do not implement.
    if not is_4_4:
        _check_unsupported(request)
    # The cases are those of GroupCoordinatorService.throwIfStreamsGroupHeartbeatRequestIsInvalid in Kafka 4.4 and of
    # KIP-1071, "Request Validation". Kafka does not check that the lists of tasks are disjoint.
    if request.member_epoch == JOIN_GROUP_EPOCH:
        _check_joining(request)
    elif request.topology is not None:
        raise InvalidRequestError("Topology can only be provided when (re-)joining.")
    elif request.member_epoch == LEAVE_STATIC_EPOCH and request.instance_id is None:
        raise InvalidRequestError("InstanceId can't be null with member epoch -2.")
    elif request.member_epoch < LEAVE_STATIC_EPOCH:
        raise InvalidRequestError(f"MemberEpoch is {request.member_epoch}, but must be -2 or more.")
    if request.topology is not None:
        check_topology(request.topology)
    # The lists must be given together also by members that do not join; the result is not needed here.
    owned_tasks(request)


def check_owned(owned: OwnedTasks | None, subtopologies: Mapping[str, ConfiguredSubtopology]) -> None:
    """Check that the tasks exist that a member owns.

    Raises:
        InvalidRequestError: One does not.
    """
    if owned is None:
        return
    for subtopology_id, partition in sorted(owned.active | owned.standby | owned.warmup):
        subtopology = subtopologies.get(subtopology_id)
        # KIP-1071, "Request Validation", allows only tasks of the group's topology. throwIfRequestContainsInvalidTasks
        # in Kafka also rejects numbers that the sub-topology does not have.
        if subtopology is None:
            raise InvalidRequestError(f"The topology has no sub-topology {subtopology_id}.")
        if not 0 <= partition < subtopology.number_of_tasks:
            raise InvalidRequestError(
                f"Sub-topology {subtopology_id} has {subtopology.number_of_tasks} tasks. Task {partition} is not one."
            )


def reported_offsets(listed: Iterable[TaskOffset]) -> TaskOffsets:
    """Return the offsets of tasks that a member reports.

    Raises:
        InvalidRequestError: A task is listed twice.
    """
    offsets: dict[TaskId, int] = {}
    for each in listed:
        task = TaskId(each.subtopology_id, each.partition)
        # MemberTaskOffsets.toNestedMap in Kafka also rejects this: nothing says which of the two counts.
        if task in offsets:
            raise InvalidRequestError(f"The offset of task {task} is given twice.")
        offsets[task] = each.offset
    return offsets


# ----------------------------------------------------------------------------------------------- insides


def _check_names(request: StreamsGroupHeartbeatRequest) -> None:
    refuse_blank("MemberId", request.member_id)
    refuse_blank("GroupId", request.group_id)
    refuse_blank("InstanceId", request.instance_id)
    refuse_blank("RackId", request.rack_id)


def _check_unsupported(request: StreamsGroupHeartbeatRequest) -> None:
    if request.instance_id is not None:
        raise InvalidRequestError("Static members of streams groups need Kafka 4.4 or later.")
    if request.task_offsets is not None or request.task_end_offsets is not None:
        raise InvalidRequestError("Offsets of tasks need Kafka 4.4 or later.")
    if request.warmup_tasks:
        raise InvalidRequestError("Warm-up tasks are not supported.")


def _check_joining(request: StreamsGroupHeartbeatRequest) -> None:
    # KIP-1071, "Request Validation", wants a timeout above zero. Kafka only rejects a missing one.
    if request.rebalance_timeout_ms == _NOT_SET:
        raise InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        # A member that joins must not own tasks. Null would mean that it still has those of its last heartbeat.
        if tasks is None or tasks:
            raise InvalidRequestError(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise InvalidRequestError("Topology must be provided when (re-)joining.")
