"""The coordinators of one broker, and what they need of each other."""

from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.share_state.state import SharePartitionState, StateKey
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.runtime.groups.group_coordinator import GroupCoordinator
from kafka_groups.broker.runtime.hosting import HostedCoordinators
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.broker.runtime.share_state.persister import SharePersister
from kafka_groups.broker.runtime.share_state.share_coordinator import ShareCoordinator

__all__ = ["Coordinators"]


class Coordinators:
    """The coordinators of one broker, and how they reach those of others.

    Another coordinator is one more attribute and its entry in `hosted`.

    Args:
        broker: The parts of the broker.

    Attributes:
        peers: The connections to other brokers.
        share: The share coordinator.
        persister: The way to the share coordinators of all brokers.
        groups: The group coordinator.
        hosted: All of them, as the broker starts, stops and expires them.
    """

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self.peers = Peers(broker.node_id, broker.cluster.peer_network)
        self.share = ShareCoordinator(broker)
        self.persister = SharePersister(broker, self.share, self.peers)
        self.groups = GroupCoordinator(broker, self.persister)
        self.hosted = HostedCoordinators((self.share, self.groups))

    def __repr__(self) -> str:
        return f"<Coordinators of broker {self._broker.node_id}: {self.hosted!r}>"

    def start(self, image: MetadataImage) -> None:
        """Begin to lead what the broker leads by this image."""
        self._broker.cluster.directory.add(self._broker.node_id, self)
        self.hosted.follow(image)

    def stop(self, *, answers: bool = True) -> None:
        """Lead nothing any more. Requests that wait are answered with NOT_COORDINATOR, unless the broker is dead."""
        self._broker.cluster.directory.remove(self._broker.node_id)
        self.peers.stop()
        self.hosted.stop(answers=answers)

    def group_now(self, group_id: str) -> ShareGroup | None:
        """Return a share group of this broker if it is there, to look at: for tests."""
        return self.groups.group_now(group_id)

    def state_now(self, key: StateKey) -> SharePartitionState | None:
        """Return the state of a share-partition of this broker if it is there, to look at: for tests."""
        return self.share.state_now(key)
