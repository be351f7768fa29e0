"""The assignments of all members, as SyncGroup has them."""

from collections.abc import Iterable, Mapping

from kafka_groups.admin.rules.streams_leader.hand_over import HandedOver, Inputs, Target
from kafka_groups.admin.rules.streams_leader.leader_input import host_of
from kafka_groups.admin.rules.streams_leader.subscriptions import Subscriptions
from kafka_groups.assignment import AssignedMember, GroupAssignment
from kafka_groups.assignment.application.process_ids import in_hash_table_order
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["assignments_of_members", "encoded_errors", "host_maps", "told_to_assignor"]


def encoded_errors(subscriptions: Subscriptions, code: int) -> dict[str, bytes]:
    """Return assignments that tell all members an error. Members keep the tasks that they have.

    Versions below 4 have no errors: their members get nothing.
    """
    info = AssignmentInfo(
        version=subscriptions.version,
        commonly_supported_version=subscriptions.common_version,
        error_code=code,
    )
    data = ConsumerProtocolAssignment(user_data=info.encode()).encode()
    return dict.fromkeys(subscriptions.members, data)


def assignments_of_members(
    subscriptions: Subscriptions, handed_over: Mapping[str, HandedOver], inputs: Inputs, maps: HostMaps
) -> dict[str, ConsumerProtocolAssignment]:
    """Return the assignments of all members.

    Args:
        subscriptions: The members.
        handed_over: The tasks of each in this round.
        inputs: The partitions that each task reads.
        maps: The partitions of each host, which are the same for all.
    """
    # All members get the lowest version that was received, so that each can read it (StreamsPartitionAssignor.assign).
    version, common = subscriptions.version, subscriptions.common_version
    return {member_id: _assignment(each, inputs, maps, version, common) for member_id, each in handed_over.items()}


def _assignment(
    each: HandedOver, inputs: Inputs, maps: HostMaps, version: int, common: int
) -> ConsumerProtocolAssignment:
    # Members sort their partitions, and take the n-th task for the n-th partition, so the tasks follow this order.
    pairs = sorted((partition, task) for task in each.active for partition in inputs[task])
    info = AssignmentInfo(
        version=version,
        commonly_supported_version=common,
        active_tasks=tuple(task for _, task in pairs),
        standby_tasks=tuple((task, inputs[task]) for task in each.standby),
        host_maps=maps,
        next_rebalance_ms=each.next_rebalance_ms,
    )
    by_topic: dict[str, list[int]] = {}
    for partition, _ in pairs:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    assigned = {topic: tuple(numbers) for topic, numbers in by_topic.items()}
    return ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=info.encode())


def told_to_assignor(
    handed_over: Mapping[str, HandedOver], inputs: Inputs, assignments: Mapping[str, ConsumerProtocolAssignment]
) -> GroupAssignment:
    """Return what members get in this round, with the bytes of it, for the assignor's callback."""
    return GroupAssignment(
        {
            member_id: AssignedMember(
                active_tasks=frozenset(each.active),
                standby_tasks=frozenset(each.standby),
                partitions=frozenset(partition for task in each.active for partition in inputs[task]),
                user_data=assignments[member_id].user_data,
            )
            for member_id, each in handed_over.items()
        }
    )


def host_maps(subscriptions: Subscriptions, target: Target, inputs: Inputs) -> HostMaps:
    """Return the partitions of each process that has an endpoint.

    They show where tasks shall be in the end, so that questions need not follow a task on its way
    (StreamsPartitionAssignor.populatePartitionsByHostMaps).

    Args:
        subscriptions: The members.
        target: The tasks that members shall have in the end.
        inputs: The partitions that each task reads.
    """
    processes = subscriptions.processes
    active: dict[tuple[str, int], tuple[TopicPartition, ...]] = {}
    standby: dict[tuple[str, int], tuple[TopicPartition, ...]] = {}
    # Of two processes with the same endpoint, which is a mistake, Java's map keeps the later one.
    for process_id in in_hash_table_order(processes):
        host = host_of(processes[process_id][0])
        if host is not None:
            given = [target[each.member_id] for each in processes[process_id] if each.member_id in target]
            active[host] = _partitions((task for each in given for task in each.active_tasks), inputs)
            standby[host] = _partitions((task for each in given for task in each.standby_tasks), inputs)
    return HostMaps(tuple(active.items()), tuple(standby.items()))


def _partitions(tasks: Iterable[TaskId], inputs: Inputs) -> tuple[TopicPartition, ...]:
    return tuple(sorted({partition for task in tasks for partition in inputs[task]}))
