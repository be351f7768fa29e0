"""The Kafka sink against an embedded broker: records arrive with the place that they came from."""

import pickle
from collections.abc import Iterator

import pyarrow as pa
import pytest

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import ConfigurationError, DeliveryFailedError
from kafka_groups.librdkafka import durable_producer
from kafka_groups.spark.sinks.kafka import SOURCE_OFFSET, SOURCE_PARTITION, SOURCE_TOPIC, KafkaSink
from tests.support.spark.sink_batches import Batch, record_table


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("out", 1)
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        yield cluster
        durable_producer._producers.clear()  # they would go on looking for a broker that is gone


def upper(table: pa.Table) -> pa.Table:
    made = pa.array([b"%d!" % number for number in table["offset"].to_pylist()])
    return table.select(["topic", "partition", "offset", "key"]).append_column("value", made)


def test_records_arrive_with_their_source(cluster: EmbeddedCluster) -> None:
    config = {"bootstrap.servers": cluster.bootstrap_servers}
    sink: KafkaSink = pickle.loads(pickle.dumps(KafkaSink(config, topic="out")))
    sink(Batch(record_table([3, 4], topic="t", partition=2)))
    KafkaSink(config, topic="out", transform=upper)(Batch(record_table([9])))
    with KafkaShareConsumer(config | {"group.id": "g"}) as consumer:
        consumer.subscribe(["out"])
        records = list(consumer.poll(30))
        while len(records) < 3:
            records += consumer.poll(30)
    assert [(record.key, record.value) for record in records] == [(b"k3", b"3"), (b"k4", b"4"), (b"k9", b"9!")]
    assert records[1].timestamp == 4_000
    assert records[0].headers == [
        ("h", b"x"),
        (SOURCE_TOPIC, b"t"),
        (SOURCE_PARTITION, b"2"),
        (SOURCE_OFFSET, b"3"),
    ]
    assert dict(records[2].headers)[SOURCE_OFFSET] == b"9"


def test_the_source_of_the_last_step_is_kept(cluster: EmbeddedCluster) -> None:
    sink = KafkaSink({"bootstrap.servers": cluster.bootstrap_servers}, topic="out")
    table = record_table([1])
    headers = pa.array([[{"key": SOURCE_OFFSET, "value": b"77"}]], type=table.schema.field("headers").type)
    sink.write(table.set_column(table.column_names.index("headers"), "headers", headers))
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as consumer:
        consumer.subscribe(["out"])
        (record,) = consumer.poll(30)
    assert [value for name, value in record.headers if name == SOURCE_OFFSET] == [b"1"]


def test_what_was_not_written_is_an_error(cluster: EmbeddedCluster) -> None:
    sink = KafkaSink({"bootstrap.servers": cluster.bootstrap_servers}, topic="not a topic", timeout_s=10.0)
    with pytest.raises(DeliveryFailedError, match="not a topic"):
        sink(Batch(record_table([1])))
    with pytest.raises(ConfigurationError, match="without partition"):
        sink.write(record_table([1]).drop_columns(["partition"]))
