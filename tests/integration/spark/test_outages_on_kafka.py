"""Workers, drain and source in long outages of the sink, with a real Kafka; its brokers count the deliveries."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from kafka_groups.net.clock import SystemClock
from kafka_groups.spark.draining.drain import DrainedBatch
from kafka_groups.spark.workers.consumers import close_idle
from kafka_groups.spark.workers.share_workers import ShareWorkers
from kafka_groups.spark.workers.task_body import run_worker
from kafka_groups.testing import KafkaProcess
from tests.integration.spark.test_worker_outages import SINK, store
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import LOCK_MS, SHORT_LOCKS
from tests.unit.spark.draining import test_drain
from tests.unit.spark.draining.test_drain import Topic
from tests.unit.spark.draining.test_drain_outages import drain_of, until_empty
from tests.unit.spark.source import sparks_calls
from tests.unit.spark.source.rules.test_redelivery_limits_crash_loops import Supervised
from tests.unit.spark.source.sparks_calls import World

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
    monkeypatch.setattr(test_drain, "_numbers", names)
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


@pytest.mark.parametrize("limit", [2, 5])
def test_workers_lose_nothing_and_spend_no_delivery(cluster: Any, limit: int) -> None:
    topic = Topic(cluster)
    cluster.alter_group_configs(
        topic.group,
        {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(limit), **SHORT_LOCKS},
    )
    topic.produce(*(b"%d" % number for number in range(300)))
    SINK.__init__()  # type: ignore[misc]
    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": topic.group, "fetch.max.wait.ms": 100}
    made = ShareWorkers(config, topics=[topic.name], process=store, backoff_seconds=0.2)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_worker, made.task(2_000), 0)
        wait_until(lambda: SINK.tries > 0, timeout_s=60)
        began_ms = SystemClock().now_ms()
        wait_until(lambda: SystemClock().now_ms() - began_ms > 2.5 * LOCK_MS)
        SINK.is_up = True
        done = running.result(60)
    close_idle()
    assert SINK.stored == {(0, offset) for offset in range(300)}
    assert (done.accepted, done.released, done.rejected, done.lock_lost) == (300, 0, 0, 0)
    assert done.max_delivery_count == 1
