"""The parts that brokers of a cluster share, and those that one broker gives to its coordinators."""

import random
from collections import Counter
from collections.abc import Callable

from attrs import field, frozen

from kafka_groups.broker.authorization.authorizer import Authorizer
from kafka_groups.broker.configs.effective import BrokerConfigs, append_rules
from kafka_groups.broker.coordinators.groups.settings import GroupConfigSources
from kafka_groups.broker.faults import Faults
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.broker.runtime.directory import CoordinatorDirectory, LeaderDirectory
from kafka_groups.broker.runtime.peers import PeerNetwork
from kafka_groups.broker.runtime.running_aside import RunAside, in_thread
from kafka_groups.broker.security import BrokerSecurity, ScramCredentials
from kafka_groups.broker.share_partitions.history import DeliveryHistory
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.net.clock import Clock
from kafka_groups.net.network import Network
from kafka_groups.types import TopicIdPartition

__all__ = ["BrokerParts", "ClusterParts"]


@frozen(kw_only=True, eq=False)
class ClusterParts:
    """The parts that all brokers of a cluster share.

    Attributes:
        network: The network on which clients reach the brokers.
        peer_network: The network on which the brokers reach each other.
        clock: Their clock.
        settings: The settings that they started with.
        profile: The release that they act as.
        seed: The seed of the brokers' randomness.
        metadata: Brokers, topics, leaders, configs.
        group_configs: The effective configuration of each group.
        security: The authentication of clients.
        peer_security: The authentication of brokers to each other.
        scram: The SCRAM credentials.
        authorizer: Decides what clients may do. Without it, every client may do everything.
        logs: The logs of all partitions.
        history: The deliveries to share groups that ended, for tests.
        directory: The coordinators of all brokers that run, for tests.
        leaders: The share-partition leaders of all brokers that run, for tests.
        faults: The faults that tests inject.
        failures: Takes the errors that no request is answered with.
        run_aside: Runs code of users off the event loop.
    """

    network: Network
    peer_network: PeerNetwork
    clock: Clock
    settings: BrokerSettings
    profile: Profile = DEFAULT_PROFILE
    seed: int
    metadata: ClusterMetadata
    group_configs: GroupConfigSources
    security: BrokerSecurity = field(factory=BrokerSecurity)
    peer_security: BrokerSecurity = field(factory=BrokerSecurity)
    scram: ScramCredentials = field(factory=ScramCredentials)
    authorizer: Authorizer | None = None
    logs: LogStore = field(factory=LogStore)
    history: DeliveryHistory = field(factory=DeliveryHistory)
    directory: CoordinatorDirectory = field(factory=CoordinatorDirectory)
    leaders: LeaderDirectory = field(factory=LeaderDirectory)
    faults: Faults = field(factory=Faults)
    failures: list[BaseException] = field(factory=list)
    run_aside: RunAside = in_thread
    _streams: Counter[str] = field(init=False, factory=Counter)

    def new_rng(self, purpose: str) -> random.Random:
        """Return randomness for a purpose, other than what the same purpose had before.

        A broker that is started again must not give out the ids that it gave out before.
        """
        self._streams[purpose] += 1
        return random.Random(f"{self.seed}/{purpose}/{self._streams[purpose]}")


@frozen(eq=False)
class BrokerParts:
    """The parts of one broker that its coordinators use.

    Attributes:
        node_id: The broker.
        cluster: The parts that all brokers of the cluster share.
        later: Calls a function after a number of milliseconds, unless the broker has stopped by then.
        grown: Takes a partition of an internal topic that has more records for readers.
        waits: Called when a request waits, and there may be an earlier deadline.
        configs: The broker's configs.
    """

    node_id: int
    cluster: ClusterParts
    later: Callable[[int, Callable[[], None]], None]
    grown: Callable[[TopicIdPartition], object]
    waits: Callable[[], object]
    configs: BrokerConfigs = field(init=False)

    @configs.default
    def _configs(self) -> BrokerConfigs:
        return BrokerConfigs(self.node_id, self.cluster.settings, self.cluster.metadata, self.cluster.profile)

    def soon(self, call: Callable[[], None]) -> None:
        """Call a function in the next turn of the event loop, or when the storage has read the next slice of a log."""
        self.later(self.cluster.logs.storage.next_slice_ms(), call)

    def max_batch_bytes(self, topic: str) -> Callable[[], int]:
        """Return a function for the largest batch that a topic takes (`max.message.bytes`).

        It is called with each append, and looks only if the configs have changed.
        """
        known_configs, most = None, 0

        def max_batch_bytes() -> int:
            nonlocal known_configs, most
            configs = self.configs.dynamic
            if configs is not known_configs:
                known_configs, most = configs, append_rules(self.configs, topic).max_message_bytes
            return most

        return max_batch_bytes
