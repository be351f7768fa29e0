"""What a handler is given besides the request."""

import random
from typing import TYPE_CHECKING

from attrs import field, frozen

from kafka_groups.broker.api.fetch_sessions import FetchSessions
from kafka_groups.broker.metadata import ClusterMetadata
from kafka_groups.broker.purgatory import Purgatory
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.codec import RequestHeader

if TYPE_CHECKING:
    from kafka_groups.broker.coordinator.groups import GroupCoordinator
    from kafka_groups.broker.log.store import LogStore
    from kafka_groups.broker.share.leader import SharePartitionLeader
    from kafka_groups.broker.share.state_log import ShareStateStore
    from kafka_groups.config.broker import BrokerSettings

__all__ = ["BrokerServices", "ConnectionInfo", "RequestContext"]


@frozen
class ConnectionInfo:
    """Where a request came from.

    Attributes:
        id: Number of the connection, unique within the broker's life.
        host: The client's address, as the coordinator shows it for a member (`/127.0.0.1` in Kafka's manner).
    """

    id: int
    host: str


@frozen
class BrokerServices:
    """What one broker consists of; `metadata`, `logs` and `share_state` are those of the whole cluster."""

    node_id: int
    clock: Clock
    rng: random.Random
    metadata: ClusterMetadata
    logs: "LogStore"
    groups: "GroupCoordinator"
    share: "SharePartitionLeader"
    share_state: "ShareStateStore"
    purgatory: Purgatory
    settings: "BrokerSettings"
    fetch_sessions: FetchSessions = field(factory=FetchSessions)


@frozen
class RequestContext:
    """One request's surroundings."""

    header: RequestHeader
    connection: ConnectionInfo
    services: BrokerServices

    @property
    def version(self) -> int:
        """The request's version."""
        return self.header.version

    @property
    def now_ms(self) -> int:
        """The broker's monotonic clock, now."""
        return self.services.clock.now_ms()

    @property
    def wall_ms(self) -> int:
        """The broker's wall clock, now."""
        return self.services.clock.wall_ms()
