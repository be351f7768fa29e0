"""confluent-kafka's serialisers, unchanged, in serdes: Avro, JSON Schema and Protobuf, ids of schemas in headers."""

import json
from collections.abc import Callable
from typing import Any, assert_type

import pytest
from attrs import asdict, frozen
from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry._async.avro import AsyncAvroDeserializer, AsyncAvroSerializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer, AvroSerializerBuilder
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError, DeserializationError, SerializationError
from kafka_groups.serdes import Serde
from kafka_groups.types import Header


@frozen
class Order:
    id: int
    item: str


ORDER = Order(42, "green tea")
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


@pytest.fixture
def registry() -> SchemaRegistryClient:
    return SchemaRegistryClient.new_client({"url": "mock://"})


def to_dict(order: Order, _: object) -> dict[str, Any]:
    return asdict(order)


def from_dict(fields: dict[str, Any], _: object) -> Order:
    return Order(**fields)


def avro(registry: SchemaRegistryClient, config: dict[str, Any] | None = None) -> Serde[Order]:
    serializer = AvroSerializer(registry, AVRO, to_dict, config)
    return serdes.of(Order, serializer, AvroDeserializer(registry, from_dict=from_dict))


def json_schema(registry: SchemaRegistryClient, config: dict[str, Any] | None = None) -> Serde[Order]:
    deserializer = JSONDeserializer(None, from_dict, schema_registry_client=registry)
    return serdes.of(Order, JSONSerializer(JSON, registry, to_dict, config), deserializer)


MAKERS = (avro, json_schema)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("is_key", [True, False])
def test_values_come_back(registry: SchemaRegistryClient, make: Callable[..., Serde[Order]], *, is_key: bool) -> None:
    serde = make(registry)
    headers: list[Header] = []
    data = serde.serializer("orders", is_key=is_key)(ORDER, headers)
    assert (data[0], headers) == (0, [])
    assert serde.deserializer("orders", is_key=is_key)(data, headers) == ORDER
    assert registry.get_subjects() == [f"orders-{'key' if is_key else 'value'}"]


@pytest.mark.parametrize("make", MAKERS)
def test_the_schema_id_may_be_in_a_header(registry: SchemaRegistryClient, make: Callable[..., Serde[Order]]) -> None:
    serde = make(registry, {"schema.id.serializer": header_schema_id_serializer})
    headers: list[Header] = [("trace", b"1")]
    data = serde.serializer("orders", is_key=False)(ORDER, headers)
    assert [name for name, _ in headers] == ["trace", "__value_schema_id"]
    assert serde.deserializer("orders", is_key=False)(data, tuple(headers)) == ORDER
    key = serde.serializer("orders", is_key=True)(ORDER, headers)
    assert headers[-1][0] == "__key_schema_id"
    assert serde.deserializer("orders", is_key=True)(key, headers) == ORDER


def test_protobuf(registry: SchemaRegistryClient) -> None:
    config = {"use.deprecated.format": False}
    serde = serdes.of(
        Timestamp, ProtobufSerializer(Timestamp, registry, config), ProtobufDeserializer(Timestamp, config)
    )
    sent = Timestamp(seconds=42)
    data = serde.serializer("times", is_key=False)(sent, [])
    assert serde.deserializer("times", is_key=False)(data, ()) == sent
    assert not serde.is_immutable


def test_the_type_is_that_of_the_values(registry: SchemaRegistryClient) -> None:
    serde = serdes.of(Order, AvroSerializer(registry, AVRO, to_dict), AvroDeserializer(registry, None, from_dict))
    assert_type(serde, Serde[Order])
    assert (serde.name, serde.is_immutable) == ("serdes.of(Order)", True)


def test_a_deserialiser_that_makes_dictionaries_of_another_type_is_found(registry: SchemaRegistryClient) -> None:
    serde = serdes.of(Order, AvroSerializer(registry, AVRO, to_dict), AvroDeserializer(registry))
    data = serde.serializer("orders", is_key=False)(ORDER, [])
    with pytest.raises(DeserializationError, match="the deserializer returned dict and not Order"):
        serde.deserializer("orders", is_key=False)(data, ())


def test_values_and_bytes_that_do_not_fit_the_schema(registry: SchemaRegistryClient) -> None:
    serde = avro(registry)
    with pytest.raises(SerializationError, match=r"serdes\.of\(Order\) cannot serialise Order\(id='x', item='tea'\)"):
        serde.serializer("orders", is_key=False)(Order("x", "tea"), [])  # type: ignore[arg-type]
    with pytest.raises(DeserializationError, match=r"serdes\.of\(Order\) cannot deserialise b'ab' \(2 bytes\)"):
        serde.deserializer("orders", is_key=False)(b"ab", ())


def test_a_registry_that_is_down_is_an_error_that_may_pass() -> None:
    registry = SchemaRegistryClient({"url": "http://127.0.0.1:1", "max.retries": 0})
    with pytest.raises(DeserializationError, match="Connection refused") as raised:
        avro(registry).deserializer("orders", is_key=False)(b"\0\0\0\0\x05abc", ())
    assert raised.value.retriable


async def test_asynchronous_serialisers_and_builders_are_refused(registry: SchemaRegistryClient) -> None:
    client = AsyncSchemaRegistryClient({"url": "http://localhost:1"})
    serializer: Any = await AsyncAvroSerializer(client, AVRO)
    deserializer: Any = await AsyncAvroDeserializer(client)
    builder: Any = AvroSerializerBuilder()
    good = AvroSerializer(registry, AVRO)
    with pytest.raises(ConfigurationError, match=r"serializer=.*AsyncAvroSerializer.* is asynchronous"):
        serdes.of(dict, serializer, AvroDeserializer(registry))
    with pytest.raises(ConfigurationError, match=r"deserializer=.*AsyncAvroDeserializer.* is asynchronous"):
        serdes.of(dict, good, deserializer)
    with pytest.raises(ConfigurationError, match=r"serializer=.*AvroSerializerBuilder.* is not callable"):
        serdes.of(dict, builder, AvroDeserializer(registry))
