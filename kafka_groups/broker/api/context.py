"""What a handler receives in addition to the request."""

import random
from typing import TYPE_CHECKING

from attrs import field, frozen

from kafka_groups.broker.api.fetch_sessions import FetchSessions
from kafka_groups.broker.metadata import ClusterMetadata
from kafka_groups.broker.purgatory import Purgatory
from kafka_groups.broker.security import Authentication, BrokerSecurity, ScramCredentials
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
    """The origin of a request.

    Attributes:
        id: Number of the connection, unique while the broker runs.
        host: The client's address as the coordinator shows it for a member (`/127.0.0.1`, as in Kafka).
        authentication: How far the client is with authenticating. None if it need not authenticate.
    """

    id: int
    host: str
    authentication: Authentication | None = field(default=None, eq=False)


@frozen
class BrokerServices:
    """The parts of one broker. `metadata`, `logs` and `share_state` belong to the whole cluster."""

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
    security: BrokerSecurity = field(factory=BrokerSecurity)
    scram: ScramCredentials = field(factory=ScramCredentials)


@frozen
class RequestContext:
    """The context of one request."""

    header: RequestHeader
    connection: ConnectionInfo
    services: BrokerServices

    @property
    def version(self) -> int:
        """The request's version."""
        return self.header.version

    @property
    def now_ms(self) -> int:
        """The current time of the broker's monotonic clock."""
        return self.services.clock.now_ms()

    @property
    def wall_ms(self) -> int:
        """The current time of the broker's wall clock."""
        return self.services.clock.wall_ms()
