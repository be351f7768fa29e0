"""A request context for the handlers of group requests: real metadata, logs, share state and coordinator."""

import random
from typing import Any

from attrs import evolve

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.requests.context import ConnectionInfo, RequestContext
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.protocol.codec import RequestHeader
from tests.support.broker.coordinators import Cluster


class StoppedClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time_ms = 1_000_000

    def now_ms(self) -> int:
        """Monotonic time."""
        return self.time_ms

    def wall_ms(self) -> int:
        """Wall-clock time."""
        return self.time_ms


def group_context(
    *, features: dict[str, int] | None = None, brokers: int = 1, has_internal_topics: bool = True
) -> RequestContext:
    """The context of a request to broker 0, with a coordinator that does not batch assignments."""
    metadata = ClusterMetadata(random.Random(1), features={"share.version": 1} if features is None else features)
    for node_id in range(brokers):
        metadata.register_broker(BrokerEndpoint(node_id, f"host{node_id}", 9092 + node_id))
    clock = StoppedClock()
    cluster = Cluster(metadata, settings=BrokerSettings(), clock=clock)
    coordinators = cluster.brokers[0]
    for topic in coordinators.hosted.topics.values() if has_internal_topics else ():
        topic.ensured()
    not_used: Any = None
    services = BrokerServices(cluster.lent[0], coordinators, not_used, Purgatory(clock), random.Random(1))
    return RequestContext(RequestHeader(-1, 0, 1, "test-client", -1), ConnectionInfo(1, "/127.0.0.1"), services)


def at_version(context: RequestContext, version: int) -> RequestContext:
    """The same context for a request of a given version."""
    return evolve(context, header=evolve(context.header, version=version))


def elsewhere(context: RequestContext) -> str:
    """The id of a group that another broker coordinates."""
    metadata = context.services.cluster.metadata
    return next(name for name in map(str, range(100)) if metadata.coordinator_of(name) != context.services.node_id)
