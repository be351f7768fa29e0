"""A poller over librdkafka's own consumer: partitions that were paused, given up and read again."""

from collections.abc import Iterator

import pytest

from kafka_groups.librdkafka.partition_poller import PartitionPoller
from kafka_groups.records.interface import ListedRecords
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.types import FetchedRecord, TopicPartition
from tests.support.conditions import wait_until

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", 2)
        for partition in (0, 1):
            cluster.produce("t", [b"a", b"b"], partition=partition)
        yield cluster


@pytest.fixture
def poller(cluster: EmbeddedCluster) -> Iterator[PartitionPoller]:
    made = PartitionPoller({"bootstrap.servers": cluster.bootstrap_servers}, "g")
    yield made
    made.close()


def values(poller: PartitionPoller, place: TopicPartition, count: int) -> list[bytes | None]:
    """Poll until there are so many records of a partition."""
    found: list[FetchedRecord] = []

    def has_all() -> bool:
        found.extend(poller.poll(10).batches.get(place, ListedRecords()).records())
        return len(found) >= count

    wait_until(has_all, 60)
    return [record.value for record in found]


def test_a_partition_that_was_paused_and_given_up_is_read_when_it_is_assigned_again(poller: PartitionPoller) -> None:
    poller.assign({PLACE: 0})
    assert values(poller, PLACE, 2) == [b"a", b"b"]
    poller.pause([PLACE])
    poller.unassign([PLACE])
    poller.assign({OTHER: 0})
    assert values(poller, OTHER, 2) == [b"a", b"b"]
    poller.assign({PLACE: 0})
    assert values(poller, PLACE, 2) == [b"a", b"b"]


def test_a_partition_that_was_paused_is_read_from_another_offset_when_it_is_assigned_again(
    poller: PartitionPoller,
) -> None:
    poller.assign({PLACE: 0})
    assert values(poller, PLACE, 2) == [b"a", b"b"]
    poller.pause([PLACE])
    poller.assign({PLACE: 1})
    assert values(poller, PLACE, 1) == [b"b"]
