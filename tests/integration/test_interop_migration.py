"""A rolling change of the protocol with confluent-kafka while records are written: every record is read."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.members.confluent_reader import PARTITIONS, PATIENCE_S, TOPIC, Reader, poll_until, share_all

SETTINGS = {
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.initial.rebalance.delay.ms": 100,
    "offsets.topic.num.partitions": 1,
}
AT_ONCE = 5
"""How many records of each partition follow each step."""

Make = Callable[[], Reader]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(2, settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        yield cluster


class Load:
    """Writes numbered records, and knows which of them have been read."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        self._numbers = count()
        self.written: list[bytes] = []
        self.read: list[bytes | None] = []

    def write(self) -> None:
        """Some more records, in all partitions."""
        for partition in list(range(PARTITIONS)) * AT_ONCE:
            self.written.append(str(next(self._numbers)).encode())
            self._producer.produce(TOPIC, self.written[-1], partition=partition)
        self._producer.flush()

    def read_all(self, *readers: Reader) -> None:
        """Let the readers read all that was written, and commit it."""
        poll_until(lambda: set(self.written) <= set(self._seen(readers)), *readers)
        for each in readers:
            self.read += each.values
            if each.values:
                each.consumer.commit(asynchronous=False)
            each.values.clear()

    def _seen(self, readers: tuple[Reader, ...]) -> Iterator[bytes | None]:
        yield from self.read
        for each in readers:
            yield from each.values


def roll(load: Load, readers: list[Reader], make: Make) -> None:
    """Stop one reader after the other, and start one in its place. There are new records all the time."""
    for number in range(len(readers)):
        load.write()
        readers[number].close()
        load.write()
        readers[number] = make()
        load.write()
        poll_until(lambda: share_all(*readers), *readers)
        load.read_all(*readers)


def type_of_group(cluster: EmbeddedCluster) -> str:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    [group] = admin.list_consumer_groups().result(PATIENCE_S).valid
    return str(group.type.name)


@pytest.mark.parametrize("instances", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_changes_the_protocol_and_back_and_loses_no_record(
    cluster: EmbeddedCluster, strategy: str, instances: bool
) -> None:
    names = count()

    def started(**properties: Any) -> Reader:
        instance = {"group_instance_id": f"i{next(names) % 2}"} if instances else {}
        return Reader(cluster.bootstrap_servers, **properties, **instance)

    def old() -> Reader:
        return started(partition_assignment_strategy=strategy)

    def new() -> Reader:
        return started(group_protocol="consumer", session_timeout_ms=None, heartbeat_interval_ms=None)

    load, readers = Load(cluster), [old(), old()]
    load.write()
    poll_until(lambda: share_all(*readers), *readers)
    load.read_all(*readers)
    assert type_of_group(cluster) == "CLASSIC"
    roll(load, readers, new)
    assert type_of_group(cluster) == "CONSUMER"
    roll(load, readers, old)
    assert type_of_group(cluster) == "CLASSIC"
    assert set(load.read) == set(load.written)
    for each in readers:
        assert each.fatal is None
        each.close()
