"""confluent-kafka's deserialisers, unchanged, against a schema registry over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from kafka_groups import KafkaShareConsumer
from kafka_groups.testing import EmbeddedCluster
from tests.support.schema_registry import schema_registry

ORDER = {"id": 42, "item": "green tea"}
AVRO = json.dumps({
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "item", "type": "string"}],
})  # fmt: skip
JSON = json.dumps({
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "item": {"type": "string"}},
})  # fmt: skip
VALUE = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture
def registry() -> Iterator[SchemaRegistryClient]:
    with schema_registry() as url:
        yield SchemaRegistryClient({"url": url})


@pytest.fixture
def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    embedded_cluster.create_topic("orders")
    embedded_cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
    return embedded_cluster


def consumed(cluster: EmbeddedCluster, deserializer: Any, **more: Any) -> Any:
    """The one record of the topic."""
    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "invoices"}
    with KafkaShareConsumer(config, value_deserializer=deserializer, **more) as consumer:
        consumer.subscribe(["orders"])
        (record,) = consumer.poll(timeout=20)
        consumer.commit_sync()
        return record


def test_avro(registry: SchemaRegistryClient, cluster: EmbeddedCluster) -> None:
    cluster.produce("orders", [AvroSerializer(registry, AVRO)(ORDER, VALUE)])
    record = consumed(cluster, AvroDeserializer(registry))
    assert (record.value, record.error) == (ORDER, None)


def test_json(registry: SchemaRegistryClient, cluster: EmbeddedCluster) -> None:
    cluster.produce("orders", [JSONSerializer(JSON, registry)(ORDER, VALUE)])
    record = consumed(cluster, JSONDeserializer(None, schema_registry_client=registry))
    assert (record.value, record.error) == (ORDER, None)


def test_protobuf(registry: SchemaRegistryClient, cluster: EmbeddedCluster) -> None:
    serializer = ProtobufSerializer(Timestamp, registry, {"use.deprecated.format": False})
    cluster.produce("orders", [serializer(Timestamp(seconds=42), VALUE)])
    record = consumed(cluster, ProtobufDeserializer(Timestamp, {"use.deprecated.format": False}))
    assert (record.value, record.error) == (Timestamp(seconds=42), None)


def test_the_schema_id_may_be_in_a_header(registry: SchemaRegistryClient, cluster: EmbeddedCluster) -> None:
    """Deserialisers get the headers with the context, where newer serialisers put the id of the schema."""
    headers: list[tuple[str, str | bytes | None]] = []
    context = SerializationContext("orders", MessageField.VALUE, headers)
    serializer = AvroSerializer(registry, AVRO, conf={"schema.id.serializer": header_schema_id_serializer})
    value = serializer(ORDER, context)
    assert headers
    cluster.produce("orders", [value], headers=headers)
    assert consumed(cluster, AvroDeserializer(registry)).value == ORDER


def test_keys_too(registry: SchemaRegistryClient, cluster: EmbeddedCluster) -> None:
    context = SerializationContext("orders", MessageField.KEY)
    cluster.produce("orders", ["v"], keys=[AvroSerializer(registry, AVRO)(ORDER, context)])
    assert consumed(cluster, None, key_deserializer=AvroDeserializer(registry)).key == ORDER


def test_bytes_without_a_schema_are_an_error_of_the_record(
    registry: SchemaRegistryClient, cluster: EmbeddedCluster
) -> None:
    cluster.produce("orders", [b"no schema id in front"])
    record = consumed(cluster, AvroDeserializer(registry))
    assert record.value is None
    assert record.raw_value == b"no schema id in front"
    assert "magic byte" in str(record.error).lower()
    cluster.group("invoices").wait_until_released(1)
