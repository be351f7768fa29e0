"""A share group works on Kafka in a container; without an engine the test says why it is skipped."""

from typing import Any

import pytest
from confluent_kafka import Message, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from kafka_groups.testing.kafka_container import KafkaContainer, environment_of, missing_engine
from tests.support.kafka.real_kafka import unique

RECORDS = 20


def test_a_share_group_works_in_a_container(kafka_container: KafkaContainer) -> None:
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": kafka_container.bootstrap_servers}
    topic, group = unique("topic"), unique("group")
    _prepare(servers, topic, group)

    consumer = ShareConsumer({**servers, "group.id": group})
    consumer.subscribe([topic])
    values = _poll_all(consumer)
    consumer.close()

    assert sorted(values) == sorted(f"value-{i}".encode() for i in range(RECORDS))


def test_property_names_become_those_of_the_official_image() -> None:
    assert environment_of({"node.id": "1", "a_b.c-d": "x"}) == {"KAFKA_NODE_ID": "1", "KAFKA_A__B_C___D": "x"}


def test_without_an_engine_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")

    assert "no container engine answers" in (missing_engine() or "")


def _prepare(servers: dict[str, str | int | float | bool], topic: str, group: str) -> None:
    admin = AdminClient(servers)
    for future in admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)]).values():
        future.result(timeout=30)
    _consume_from_the_beginning(admin, group)
    producer = Producer(servers)
    for i in range(RECORDS):
        producer.produce(topic, value=f"value-{i}")
    assert producer.flush(30) == 0


def _consume_from_the_beginning(admin: AdminClient, group: str) -> None:
    entry: Any = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(timeout=30)


def _poll_all(consumer: ShareConsumer) -> list[bytes]:
    values: list[bytes] = []
    for _ in range(60):
        values += [_value(message) for message in consumer.poll(timeout=0.5)]
        if len(values) >= RECORDS:
            break
    return values


def _value(message: Message) -> bytes:
    assert message.error() is None
    value = message.value()
    assert isinstance(value, bytes)
    return value
