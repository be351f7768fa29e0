"""Deserialisers give the records their types; mypy checks this file in every run."""

from typing import assert_type

from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.records import ShareRecord
from kafka_groups.share.delivery.share_records import ShareRecords


def test_without_deserialisers_keys_and_values_are_bytes() -> None:
    consumer = KafkaShareConsumer(bootstrap_servers="localhost:9092", group_id="g")
    assert_type(consumer, KafkaShareConsumer[bytes, bytes])
    assert consumer._config.value_deserializer is None


def test_a_deserialiser_gives_its_type() -> None:
    consumer = KafkaShareConsumer(
        bootstrap_servers="localhost:9092", group_id="g", key_deserializer=int, value_deserializer=bytes.decode
    )
    assert_type(consumer, KafkaShareConsumer[int, str])
    assert consumer._config.value_deserializer is bytes.decode


async def test_the_asynchronous_consumer_does_the_same() -> None:
    consumer = AsyncKafkaShareConsumer(
        bootstrap_servers="localhost:9092", group_id="g", value_deserializer=bytes.decode
    )
    assert_type(consumer, AsyncKafkaShareConsumer[bytes, str])
    assert consumer._config.key_deserializer is None


def values_of(records: ShareRecords[int, str]) -> list[str]:
    return [record.value for record in records if record.value is not None]


def key_of(record: ShareRecord[int, str]) -> int | None:
    return record.key
