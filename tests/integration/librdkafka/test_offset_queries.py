"""Questions about partitions whose leader was away when the client first asked."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.librdkafka.partition_reader import PartitionReader
from kafka_groups.testing import FAST_SETTINGS
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until

PLACES = [TopicPartition("a", number) for number in range(2)]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """Two brokers, each of which leads a partition that nobody else can lead."""
    with EmbeddedCluster(2, settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("a", len(PLACES))
        yield cluster


def test_bounds_are_known_when_the_leader_is_back(cluster: EmbeddedCluster) -> None:
    client = PartitionReader({"bootstrap.servers": cluster.bootstrap_servers}, "g")
    cluster.kill_broker(2)
    wait_until(lambda: not all(_answers(partial(client.bounds, place, 2)) for place in PLACES))
    cluster.start_broker(2)
    wait_until(lambda: all(_answers(partial(client.bounds, place, 2)) for place in PLACES))
    client.close()


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except KafkaGroupsError:
        return False
    return True
