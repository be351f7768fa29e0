"""Manual assignment of partitions to brokers, as CreateTopics and CreatePartitions carry it."""

from collections.abc import Collection, Iterable

from kafka_groups.errors import InvalidReplicaAssignmentError

__all__ = ["checked_replicas"]


def checked_replicas(lists: Iterable[Collection[int]], alive: Collection[int], factor: int) -> list[tuple[int, ...]]:
    """The replicas of each partition.

    Args:
        lists: Node ids of each partition's replicas, the leader first.
        alive: Node ids of the brokers that are up.
        factor: How many replicas each partition must have.

    Raises:
        InvalidReplicaAssignmentError: A list has another length, names a broker twice, or one that is not up.
    """
    checked = [tuple(replicas) for replicas in lists]
    for replicas in checked:
        if not replicas or len(replicas) != factor:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment {list(replicas)} has not the replication factor {factor}."
            )
        if len(set(replicas)) != len(replicas):
            raise InvalidReplicaAssignmentError(f"The manual partition assignment {list(replicas)} names a node twice.")
        if not set(replicas) <= set(alive):
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment {list(replicas)} names a broker that is not registered."
            )
    return checked
