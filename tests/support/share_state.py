"""A share coordinator of its own, for tests of those who use it."""

import random

from kafka_groups.broker.coordinators.internal_topic import internal_topics
from kafka_groups.broker.coordinators.share_state.coordinator import ShareCoordinator
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC
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
    settings = settings or broker_settings()
    topic = internal_topics(settings, metadata or cluster_of_one())[SHARE_STATE_TOPIC]
    logs = LogStore() if logs is None else logs
    return ShareCoordinator(topic, logs, settings.share_updates_per_snapshot, lambda: WALL_MS)


def persister() -> LocalPersister:
    """A persister to a share coordinator of its own."""
    return LocalPersister(share_coordinator())
