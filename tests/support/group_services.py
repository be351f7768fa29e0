"""A request context for the handlers of group requests: real metadata, logs, share state and coordinator."""

import random
from typing import Any

from attrs import evolve

from kafka_groups.broker.api.context import ConnectionInfo, RequestContext
from kafka_groups.broker.coordinators.groups.coordinator import GroupCoordinator
from kafka_groups.broker.coordinators.internal_topic import internal_topics
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.persister import LocalPersister
from kafka_groups.broker.runtime.purgatory import Purgatory
from kafka_groups.config.broker import BrokerSettings, ShareGroupConfig
from kafka_groups.protocol.codec import RequestHeader
from tests.support.group_journal import MemoryJournal
from tests.support.share_state import share_coordinator


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


def group_context(*, features: dict[str, int] | None = None, brokers: int = 1) -> RequestContext:
    """The context of a request to broker 0, with a coordinator that does not batch assignments."""
    metadata = ClusterMetadata(random.Random(1), features={"share.version": 1} if features is None else features)
    for node_id in range(brokers):
        metadata.register_broker(BrokerEndpoint(node_id, f"host{node_id}", 9092 + node_id))
    logs = LogStore()
    coordinator = share_coordinator(metadata, logs)
    share_state = LocalPersister(coordinator)
    clock = StoppedClock()
    not_used: Any = None
    services = BrokerServices(
        node_id=0,
        clock=clock,
        rng=random.Random(1),
        metadata=metadata,
        logs=logs,
        groups=GroupCoordinator(
            metadata, share_state, lambda _: ShareGroupConfig(assignment_interval_ms=0), 200, MemoryJournal()
        ),
        share=not_used,
        share_state=share_state,
        share_coordinator=coordinator,
        internal_topics=internal_topics(BrokerSettings(), metadata),
        purgatory=Purgatory(clock),
        settings=BrokerSettings(),
    )
    return RequestContext(RequestHeader(-1, 0, 1, "test-client", -1), ConnectionInfo(1, "/127.0.0.1"), services)


def at_version(context: RequestContext, version: int) -> RequestContext:
    """The same context for a request of a given version."""
    return evolve(context, header=evolve(context.header, version=version))


def elsewhere(context: RequestContext) -> str:
    """The id of a group that another broker coordinates."""
    metadata = context.services.metadata
    return next(name for name in map(str, range(100)) if metadata.coordinator_of(name) != context.services.node_id)
