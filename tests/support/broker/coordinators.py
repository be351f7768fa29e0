"""The coordinators of a broker without an event loop: a test says when the turns of the loop come."""

import heapq
from collections.abc import Callable
from itertools import count

from attrs import evolve

from kafka_groups.broker.authorization.authorizer import configured_authorizer
from kafka_groups.broker.coordinators.groups.settings import GroupConfigSources
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.broker.runtime.coordinators import Coordinators
from kafka_groups.broker.runtime.parts import BrokerParts, ClusterParts
from kafka_groups.broker.runtime.peers import PeerNetwork
from kafka_groups.config.cluster.broker import BrokerSettings, ConsumerGroupConfig, ShareGroupConfig, broker_settings
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.net.clock import Clock
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.session import Access
from kafka_groups.testing.clock import ManualClock


class CooperativeYield:
    """Functions that are to be called later, in virtual time."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def later(self, delay_ms: int, call: Callable[[], None]) -> None:
        """Call a function in so many milliseconds."""
        heapq.heappush(self._waiting, (self.now_ms + delay_ms, next(self._numbers), call))

    def turn(self) -> bool:
        """Call the next one, and return whether there was one."""
        if not self._waiting:
            return False
        self.now_ms, _, call = heapq.heappop(self._waiting)
        call()
        return True

    def run(self) -> None:
        """Call all of them, and those that they add."""
        while self.turn():
            pass


class Cluster:
    """Brokers that are nothing but their coordinators.

    Args:
        metadata: The metadata of the cluster. Its running brokers get coordinators.
        logs: The logs of the cluster.
        settings: The settings of the brokers.
        clock: Their clock; one that stands still when it is not given.

    Attributes:
        parts: What the brokers share.
        lent: What each broker lends to its coordinators.
        brokers: The coordinators of each broker.
    """

    def __init__(
        self,
        metadata: ClusterMetadata,
        logs: LogStore | None = None,
        settings: BrokerSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.turns = CooperativeYield()
        self.parts = evolve(parts_of(metadata, settings, clock), logs=LogStore() if logs is None else logs)
        self.lent: dict[int, BrokerParts] = {}
        self.brokers: dict[int, Coordinators] = {}
        for node_id in metadata.brokers:
            self.start(node_id)
        self.turns.run()

    def start(self, node_id: int) -> Coordinators:
        """Let a broker coordinate what it leads."""
        broker = BrokerParts(node_id, self.parts, self.turns.later, lambda _: None, lambda: None)
        self.lent[node_id] = broker
        made = self.brokers[node_id] = Coordinators(broker)
        self.parts.metadata.on_change(made.hosted.metadata_changed)
        made.start(self.parts.metadata.image)
        return made


def parts_of(
    metadata: ClusterMetadata,
    settings: BrokerSettings | None = None,
    clock: Clock | None = None,
    profile: Profile = DEFAULT_PROFILE,
) -> ClusterParts:
    """What the brokers of a cluster share, with the defaults of Kafka. Its groups do not batch assignments.

    Args:
        metadata: The metadata of the cluster.
        settings: The settings of the brokers.
        clock: Their clock; one that stands still when it is not given.
        profile: The release that they act as.
    """
    network, settings = MemoryNetwork(), settings or broker_settings()
    return ClusterParts(
        network=network,
        peer_network=PeerNetwork(network, "brokers.internal", Access(None), {}),
        clock=clock or ManualClock(),
        settings=settings,
        profile=profile,
        seed=1,
        metadata=metadata,
        group_configs=GroupConfigSources(
            lambda _group_id: ShareGroupConfig(assignment_interval_ms=0),
            lambda _group_id: ConsumerGroupConfig(assignment_interval_ms=0),
            lambda _group_id: StreamsGroupConfig(assignment_interval_ms=0),
        ),
        authorizer=configured_authorizer(metadata, settings, profile),
    )
