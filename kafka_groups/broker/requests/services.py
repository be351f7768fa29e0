"""The parts of a broker that its handlers use."""

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from kafka_groups.broker.configs.effective import BrokerConfigs
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.broker.requests.fetch_sessions import FetchSessions
from kafka_groups.broker.runtime.purgatory import Purgatory
from kafka_groups.broker.security import BrokerSecurity, ScramCredentials
from kafka_groups.net.clock import Clock

if TYPE_CHECKING:
    from kafka_groups.broker.coordinators.internal_topic import InternalTopic
    from kafka_groups.broker.log.store import LogStore
    from kafka_groups.broker.runtime.group_coordinator import GroupCoordinator
    from kafka_groups.broker.runtime.persister import SharePersister
    from kafka_groups.broker.runtime.share_coordinator import ShareCoordinator
    from kafka_groups.broker.share_partitions.leader import SharePartitionLeader
    from kafka_groups.config.cluster.broker import BrokerSettings

__all__ = ["BrokerServices"]


@frozen
class BrokerServices:
    """The parts of one broker. `metadata` and `logs` belong to the whole cluster."""

    node_id: int
    clock: Clock
    rng: random.Random
    metadata: ClusterMetadata
    logs: "LogStore"
    groups: "GroupCoordinator"
    share: "SharePartitionLeader"
    persister: "SharePersister"
    share_coordinator: "ShareCoordinator"
    internal_topics: Mapping[str, "InternalTopic"]
    purgatory: Purgatory
    settings: "BrokerSettings"
    profile: Profile = DEFAULT_PROFILE
    fetch_sessions: FetchSessions = field(factory=FetchSessions)
    security: BrokerSecurity = field(factory=BrokerSecurity)
    scram: ScramCredentials = field(factory=ScramCredentials)
    configs: BrokerConfigs = field(init=False)

    @configs.default
    def _configs(self) -> BrokerConfigs:
        return BrokerConfigs(self.node_id, self.settings, self.metadata, self.profile)
