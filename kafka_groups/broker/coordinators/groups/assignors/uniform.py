"""Kafka's assignor `uniform`, the default of consumer groups: balance first, then stickiness.

A group whose members all subscribe to the same topics is balanced as a whole. For other groups see
`uniform_heterogeneous`.
"""

from uuid import UUID

from kafka_groups.broker.coordinators.groups.assignors.group_spec import GroupSpec, PartitionAssignorError
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import by_topic
from kafka_groups.broker.coordinators.groups.assignors.uniform_heterogeneous import assign_heterogeneous
from kafka_groups.broker.coordinators.groups.assignors.uniform_homogeneous import assign_homogeneous
from kafka_groups.types import uuid_text

__all__ = ["NAME", "assign"]

NAME = "uniform"


def assign(group: GroupSpec) -> dict[str, dict[UUID, tuple[int, ...]]]:
    """Compute a new target assignment.

    Returns:
        The partitions of every member, including members without partitions. Kafka stores them in the same order, or in
        one with the same effect on the next assignment, so store them in this order.

    Raises:
        PartitionAssignorError: A member subscribes to a topic that does not exist.
    """
    # Kafka's assignors raise PartitionAssignorException in this case. The coordinator only passes topics that exist, so
    # it does not occur in operation; the comparison with Kafka's classes has it.
    _refuse_missing_topics(group)
    if not group.members:
        return {}
    # UniformAssignor.assign chooses by the subscription type of the group as well.
    balance = assign_homogeneous if group.homogeneous else assign_heterogeneous
    return {member: by_topic(group.members[member], partitions) for member, partitions in balance(group).items()}


def _refuse_missing_topics(group: GroupSpec) -> None:
    for member in group.members.values():
        for topic_id in member.topic_ids:
            if topic_id not in group.partition_counts:
                raise PartitionAssignorError(
                    f"Members are subscribed to topic {uuid_text(topic_id)} which doesn't exist in the topic metadata."
                )
