"""The parts of a broker that its handlers use."""

import random

from attrs import Factory, field, frozen

from kafka_groups.broker.configs.effective import BrokerConfigs
from kafka_groups.broker.requests.fetch_sessions import FetchSessions
from kafka_groups.broker.runtime.coordinators import Coordinators
from kafka_groups.broker.runtime.parts import BrokerParts, ClusterParts
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.broker.share_partitions.leader import SharePartitionLeader

__all__ = ["BrokerServices"]


@frozen(eq=False)
class BrokerServices:
    """The parts of one broker.

    Attributes:
        coordinators: The coordinators of this broker, and the way to those of others.
        share: The share-partitions that this broker leads.
        purgatory: The fetches that wait.
        rng: Randomness for the broker's part of logins.
        fetch_sessions: The fetch sessions of consumers.
        node_id: The broker.
        cluster: The parts that all brokers share, such as metadata, logs and settings.
        configs: Its configs.
    """

    _broker: BrokerParts
    coordinators: Coordinators
    share: SharePartitionLeader
    purgatory: Purgatory
    rng: random.Random
    fetch_sessions: FetchSessions = field(factory=FetchSessions)
    node_id: int = field(init=False, default=Factory(lambda self: self._broker.node_id, takes_self=True))
    cluster: ClusterParts = field(init=False, default=Factory(lambda self: self._broker.cluster, takes_self=True))
    configs: BrokerConfigs = field(init=False, default=Factory(lambda self: self._broker.configs, takes_self=True))
