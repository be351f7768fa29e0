"""Manual assignment of partitions to brokers, used by CreateTopics and CreatePartitions."""

from collections.abc import Collection, Iterable

from kafka_groups.errors import InvalidReplicaAssignmentError

__all__ = ["checked_replicas"]


def checked_replicas(lists: Iterable[Collection[int]], alive: Collection[int], factor: int) -> list[tuple[int, ...]]:
    """Validate the replicas of each partition and return them.

    Args:
        lists: Node ids of each partition's replicas. The leader is first.
        alive: Node ids of the running brokers.
        factor: Number of replicas that each partition must have.

    Raises:
        InvalidReplicaAssignmentError: A list has another length, contains a broker twice, or one that is not running.
    """
    checked = [tuple(replicas) for replicas in lists]
    for replicas in checked:
        # All partitions of a topic have the same number of replicas.
        if not replicas or len(replicas) != factor:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment {list(replicas)} does not have the replication factor {factor}."
            )
        if len(set(replicas)) != len(replicas):
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment {list(replicas)} contains a broker twice."
            )
        # A broker that is stopped is not registered here, so it cannot get replicas. Kafka knows brokers that are
        # fenced, and accepts them as long as one of the others is not.
        if not set(replicas) <= set(alive):
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment {list(replicas)} contains a broker that is not registered."
            )
    return checked
