"""Topics and groups for the benchmarks, made by confluent-kafka."""

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from kafka_groups.types import random_uuid

PARTITIONS = 4
RECORDS_PER_BATCH = {"large": 1_100, "small": 150}
"""How many records the producer puts into a batch: at least 1,000, or about 150."""

TINY = "tiny"
_PER_TINY_BATCH = 10

_VALUE = bytes(100)
_SERVE_EVERY = 10_000


def new_topic(bootstrap_servers: str, partitions: int = PARTITIONS, *, name: str | None = None) -> str:
    """A topic that nobody has used before."""
    topic = name or unique_name("benchmark")
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
    _wait_for(admin.create_topics([NewTopic(topic, partitions, 1)]))
    return topic


def delete_topic(bootstrap_servers: str, topic: str) -> None:
    """Give its memory back, where the broker keeps records in memory."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
    _wait_for(admin.delete_topics([topic]))


def delete_topics_of(bootstrap_servers: str, application_id: str) -> None:
    """Delete the internal topics of a streams application."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
    internal = [topic for topic in admin.list_topics(timeout=30.0).topics if topic.startswith(f"{application_id}-")]
    if internal:
        _wait_for(admin.delete_topics(internal))


def new_group(bootstrap_servers: str, configs: Mapping[str, str] = MappingProxyType({})) -> str:
    """A share group that nobody has used before, and which begins at the start of the log."""
    group_id = unique_name("benchmark")
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in {"share.auto.offset.reset": "earliest", **configs}.items()
    ]
    resource = ConfigResource(ConfigResource.Type.GROUP, group_id, incremental_configs=entries)
    admin = AdminClient(
        {"bootstrap.servers": bootstrap_servers, "log_level": 3}
    )  # it must live until the answer is there
    _wait_for(admin.incremental_alter_configs([resource]))
    return group_id


def produce(
    bootstrap_servers: str,
    topic: str,
    records: int,
    batches: str,
    partitions: int = PARTITIONS,
    *,
    value: bytes = _VALUE,
) -> None:
    """Write so many records, of 100 bytes by default, in whole batches for one partition after the other."""
    per_batch = _PER_TINY_BATCH if batches == TINY else RECORDS_PER_BATCH[batches]
    producer = Producer({
        "bootstrap.servers": bootstrap_servers,
        "linger.ms": 50,
        "queue.buffering.max.messages": 2_000_000,
        "batch.num.messages": per_batch,
        "batch.size": 10_000_000,
    })  # fmt: skip
    for number in range(records):
        _produce_one(producer, topic, (number // per_batch) % partitions, value)
        if number % _SERVE_EVERY == 0:
            producer.poll(0)
    assert producer.flush(120.0) == 0, "not all records were written"


def _produce_one(producer: Producer, topic: str, partition: int, value: bytes) -> None:
    while True:
        try:
            producer.produce(topic, value, partition=partition)
        except BufferError:
            producer.poll(0.1)
        else:
            return


def _wait_for(futures: dict[Any, Any]) -> None:
    for future in futures.values():
        future.result(30.0)


def unique_name(prefix: str) -> str:
    return f"{prefix}-{random_uuid(random.Random()).hex[:12]}"
