"""A share coordinator of its own, for tests of those who use it."""

import random

from kafka_groups.broker.coordinators.share_state.coordinator import ShareCoordinator
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.runtime.persister import LocalPersister
from kafka_groups.config.broker import BrokerSettings, broker_settings

WALL_MS = 1_700_000_000_000


def cluster_of_one() -> ClusterMetadata:
    """The metadata of a cluster with one broker."""
    metadata = ClusterMetadata(random.Random(1))
    metadata.register_broker(BrokerEndpoint(0, "host", 9092))
    return metadata


def share_coordinator(
    metadata: ClusterMetadata | None = None, logs: LogStore | None = None, settings: BrokerSettings | None = None
) -> ShareCoordinator:
    """A share coordinator, in a cluster of one broker unless metadata is given."""
    metadata = metadata or cluster_of_one()
    logs = LogStore() if logs is None else logs
    return ShareCoordinator(metadata, logs, settings or broker_settings(), lambda: WALL_MS)


def persister() -> LocalPersister:
    """A persister to a share coordinator of its own."""
    return LocalPersister(share_coordinator())
