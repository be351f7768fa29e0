"""Our consumer and confluent-kafka's against each release: the embedded broker acting as it, and Kafka itself."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType as TheirType
from confluent_kafka import KafkaException, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry
from confluent_kafka.cimpl import NewTopic

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.profile import PROFILES
from kafka_groups.net.clock import SystemClock
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import AcknowledgeType
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import values

PATIENCE_S = 30.0
RECORDS = 9
NEWEST = max(PROFILES)
_SLOW = (pytest.mark.slow,)
_REAL = (pytest.mark.real_kafka, pytest.mark.long)
BROKERS = [
    *(pytest.param((name, ""), id=f"embedded-{name}", marks=() if name == NEWEST else _SLOW) for name in PROFILES),
    *(pytest.param((name, p.release), id=f"kafka-{p.release}", marks=_REAL) for name, p in PROFILES.items()),
]


@pytest.fixture(scope="module", params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Name of the profile, and address."""
    profile, release = request.param
    with KafkaProcess(release) if release else EmbeddedCluster(profile=profile) as running:
        yield profile, running.bootstrap_servers


@pytest.fixture
def admin(broker: tuple[str, str]) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker[1]})


@pytest.fixture
def topic(broker: tuple[str, str], admin: AdminClient) -> str:
    """A topic with records."""
    name = unique("topic")
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": broker[1], "enable.idempotence": True})
    for value in values(RECORDS):
        producer.produce(name, value)
    assert producer.flush(PATIENCE_S) == 0
    return name


@pytest.fixture
def group(admin: AdminClient) -> str:
    """A group that begins at the beginning."""
    name = unique("group")
    _alter(admin, name, "share.auto.offset.reset", "earliest")
    return name


def _alter(admin: AdminClient, group: str, key: str, value: str) -> None:
    entry: Any = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def _until(poll: Callable[[], Any], count: int) -> list[Any]:
    found: list[Any] = []
    clock = SystemClock()
    deadline_ms = clock.now_ms() + PATIENCE_S * 1000
    while len(found) < count:
        found += poll()
        assert clock.now_ms() < deadline_ms, f"{len(found)} of {count}"
    return found


def test_our_consumer(broker: tuple[str, str], topic: str, group: str) -> None:
    with KafkaShareConsumer(
        bootstrap_servers=broker[1], group_id=group, acknowledgement_mode="explicit", prefetch_batches=0
    ) as consumer:
        consumer.subscribe([topic])
        records = _until(lambda: consumer.poll(timeout=1), RECORDS)
        for record in records:
            consumer.acknowledge(record, AcknowledgeType.RENEW)
        consumer.commit_sync()
        again = _until(lambda: consumer.poll(timeout=1), RECORDS)
        for record in again:
            consumer.acknowledge(record, AcknowledgeType.RELEASE if record.offset == 3 else AcknowledgeType.ACCEPT)
        consumer.commit_sync()
        (released,) = _until(lambda: consumer.poll(timeout=1), 1)
        consumer.acknowledge(released, AcknowledgeType.REJECT)
        consumer.commit_sync()

    assert [record.value for record in records] == values(RECORDS)
    assert (released.offset, released.delivery_count) == (3, 2)


def test_confluent_kafka(broker: tuple[str, str], topic: str, group: str) -> None:
    consumer = ShareConsumer({
        "bootstrap.servers": broker[1], "group.id": group, "share.acknowledgement.mode": "explicit",
    })  # fmt: skip
    consumer.subscribe([topic])
    messages = _until(lambda: consumer.poll(timeout=0.5), RECORDS)
    for message in messages:
        consumer.acknowledge(message, TheirType.RELEASE if message.offset() == 3 else TheirType.ACCEPT)
    consumer.commit_sync()
    (released,) = _until(lambda: consumer.poll(timeout=0.5), 1)
    consumer.acknowledge(released, TheirType.REJECT)
    consumer.commit_sync()
    consumer.close()

    assert [message.value() for message in messages] == values(RECORDS)
    assert (released.offset(), released.delivery_count()) == (3, 2)


def test_a_group_configuration_since_4_3(broker: tuple[str, str], admin: AdminClient, group: str) -> None:
    if broker[0] == "4.2":
        with pytest.raises(KafkaException, match="INVALID_CONFIG"):
            _alter(admin, group, "share.delivery.count.limit", "3")
        return
    _alter(admin, group, "share.delivery.count.limit", "3")
    resource = ConfigResource(ResourceType.GROUP, group)

    def limit() -> list[str]:
        found = admin.describe_configs([resource])[resource].result(PATIENCE_S)
        return [each.value for each in (found["share.delivery.count.limit"],) if each.value != "5"]

    assert _until(limit, 1) == ["3"]


def test_a_group_is_deleted(broker: tuple[str, str], admin: AdminClient, topic: str) -> None:
    group = unique("group")
    with KafkaShareConsumer(bootstrap_servers=broker[1], group_id=group) as consumer:
        consumer.subscribe([topic])
        consumer.poll(timeout=2)
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
    admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
