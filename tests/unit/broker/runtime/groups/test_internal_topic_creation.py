"""Internal topics of streams groups: created once, and what failed is tried again after a while."""

import random
from collections.abc import Callable

import pytest

from kafka_groups.broker.coordinators.groups.streams.effects import CreateInternalTopics
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.runtime.groups.internal_topic_creation import InternalTopicCreation
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.protocol.messages.streams_group_parts import StreamsTopicInfo
from kafka_groups.testing.clock import ManualClock
from tests.support.members.streams_topologies import internal

INTERVAL_MS = 5_000


class Scene:
    """A cluster of one broker, and the calls that are to be made soon."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self.metadata = metadata
        self.clock = ManualClock()
        self.calls: list[Callable[[], None]] = []
        self.creation = InternalTopicCreation(metadata, BrokerSettings(), self.clock, self.calls.append)

    def want(self, *topics: StreamsTopicInfo) -> None:
        self.creation.perform(CreateInternalTopics("app", topics, INTERVAL_MS))

    def run(self) -> int:
        """Make the calls; returns their number."""
        calls, self.calls[:] = self.calls[:], []
        for call in calls:
            call()
        return len(calls)


@pytest.fixture
def scene() -> Scene:
    metadata = ClusterMetadata(random.Random(1))
    metadata.register_broker(BrokerEndpoint(0, "127.0.0.1", 9092))
    return Scene(metadata)


def test_a_topic_is_created_with_its_configs(scene: Scene) -> None:
    info = internal("store", 3, configs={"cleanup.policy": "compact"})
    scene.want(info)
    scene.want(info)
    assert scene.run() == 1, "one creation is on its way"

    topic = scene.metadata.topic("store")
    assert topic is not None
    assert topic.num_partitions == 3
    assert scene.creation.failures_of(["store"]) == {}


def test_a_topic_that_exists_by_now_is_left_as_it_is(scene: Scene) -> None:
    scene.want(internal("store", 3))
    scene.metadata.create_topic("store", 1)
    scene.run()

    assert scene.creation.failures_of(["store"]) == {}


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (internal("store", 3, configs={"cleanup.policy": "nonsense"}), "cleanup.policy"),
        (StreamsTopicInfo(name="store", partitions=3, replication_factor=5), "replicate"),
    ],
)
def test_what_failed_is_told_and_tried_again_after_two_heartbeats(
    scene: Scene, info: StreamsTopicInfo, reason: str
) -> None:
    scene.want(info)
    scene.run()
    assert reason in scene.creation.failures_of(["store", "other"])["store"]
    scene.clock.advance(2 * INTERVAL_MS - 1)
    scene.want(info)
    assert scene.run() == 0
    scene.clock.advance(1)
    assert scene.creation.failures_of(["store"]) == {}
    scene.want(info)
    assert scene.run() == 1
