"""The coordinators and share-partition leaders of all brokers of a cluster, for tests."""

from typing import Protocol

from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.share_state.share_partition_state import SharePartitionState, StateKey
from kafka_groups.broker.share_partitions.leader import SharePartitionLeader
from kafka_groups.broker.share_partitions.partition import SharePartition

__all__ = ["CoordinatedState", "CoordinatorDirectory", "LeaderDirectory"]


class CoordinatedState(Protocol):
    """The state that the coordinators of one broker have now, to look at."""

    def group_now(self, group_id: str) -> ShareGroup | None:
        """Return a share group, if the broker coordinates it and has loaded it."""
        ...

    def state_now(self, key: StateKey) -> SharePartitionState | None:
        """Return the state of a share-partition, if the broker coordinates it and has loaded it."""
        ...


class CoordinatorDirectory:
    """The coordinators of the brokers that run."""

    def __init__(self) -> None:
        self._by_node: dict[int, CoordinatedState] = {}

    def __repr__(self) -> str:
        return f"<CoordinatorDirectory of brokers {sorted(self._by_node)}>"

    def add(self, node_id: int, coordinators: CoordinatedState) -> None:
        """Add those of a broker that starts."""
        self._by_node[node_id] = coordinators

    def remove(self, node_id: int) -> None:
        """Remove those of a broker that stops."""
        self._by_node.pop(node_id, None)

    def group_now(self, group_id: str) -> ShareGroup | None:
        """Return a group if a coordinator has it now. Do not modify it."""
        found = (each.group_now(group_id) for each in self._by_node.values())
        return next((group for group in found if group is not None), None)

    def state_now(self, key: StateKey) -> SharePartitionState | None:
        """Return the state of a share-partition if a coordinator has it now. Do not modify it."""
        found = (each.state_now(key) for each in self._by_node.values())
        return next((state for state in found if state is not None), None)


class LeaderDirectory:
    """The share-partition leaders of the brokers that run."""

    def __init__(self) -> None:
        self._by_node: dict[int, SharePartitionLeader] = {}

    def __repr__(self) -> str:
        return f"<LeaderDirectory of brokers {sorted(self._by_node)}>"

    def add(self, node_id: int, leader: SharePartitionLeader) -> None:
        """Add that of a broker that starts."""
        self._by_node[node_id] = leader

    def remove(self, node_id: int) -> None:
        """Remove that of a broker that stops."""
        self._by_node.pop(node_id, None)

    def share_partitions_now(self, group_id: str) -> list[SharePartition]:
        """Return the share-partitions of a group that leaders have loaded now. Do not modify them."""
        return [each for leader in self._by_node.values() for each in leader.led.of_group(group_id)]
