"""Drain and source in long outages of the sink, with a real Kafka; its deliveries count as its brokers count them."""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from kafka_groups.spark.draining.draining import DrainedBatch
from kafka_groups.testing import KafkaProcess
from tests.support.kafka.real_kafka import unique
from tests.unit.spark.draining import test_draining
from tests.unit.spark.draining.test_draining import Topic
from tests.unit.spark.draining.test_draining_outages import drain_of, until_empty
from tests.unit.spark.source import sparks_calls
from tests.unit.spark.source.sparks_calls import World
from tests.unit.spark.source.test_caution_crash_loops import Supervised

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@frozen
class KafkaAsCluster:
    """What these tests ask of a cluster, of a real Kafka."""

    bootstrap_servers: str

    def create_topic(self, name: str, partitions: int = 1) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        for created in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            created.result(30)

    def alter_group_configs(self, group_id: str, configs: Mapping[str, str]) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=entries)
        for altered in admin.incremental_alter_configs([resource]).values():
            altered.result(30)

    def group(self, group_id: str) -> Any:
        return SimpleNamespace(members=())


@pytest.fixture
def cluster(real_kafka: KafkaProcess, monkeypatch: pytest.MonkeyPatch) -> Any:
    names = iter(partial(unique, "outage"), None)  # the whole run shares one Kafka
    monkeypatch.setattr(sparks_calls, "_names", names)
    monkeypatch.setattr(test_draining, "_numbers", names)
    return KafkaAsCluster(real_kafka.bootstrap_servers)


@pytest.mark.parametrize("limit", [2, 5])
def test_a_drain_loses_nothing(cluster: Any, limit: int) -> None:
    topic = Topic(cluster)
    cluster.alter_group_configs(
        topic.group, {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(limit)}
    )
    topic.produce(*(b"%d" % number for number in range(300)))
    draining, clock = drain_of(topic, idle_seconds=1.5)
    mended_ms = clock.now_ms() + 3_600_000
    stored: set[bytes] = set()

    def store(batch: DrainedBatch) -> None:
        if clock.now_ms() < mended_ms:
            raise ConnectionError("the sink is down")
        stored.update(batch.table["value"].to_pylist())

    until_empty(draining, store)
    assert stored == {b"%d" % number for number in range(300)}


@pytest.mark.parametrize("limit", [2, 5])
def test_a_source_loses_nothing(cluster: Any, limit: int) -> None:
    world = World(cluster, {"share.delivery.count.limit": str(limit)}, partitions=1)
    world.produce(range(300))
    query = Supervised(world, poll_timeout_ms=5_000)
    for number in range(8):
        assert not query.run(is_sink_away=True)
        query.run(is_sink_away=True, most_batches=number % 3)
    assert query.run()
    assert query.sunk == set(range(300))
