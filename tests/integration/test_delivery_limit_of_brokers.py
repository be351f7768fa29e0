"""Before Kafka 4.3 the delivery limit is the brokers': the consumer reads it there, and misses no release."""

from collections.abc import Iterator

import pytest

from kafka_groups import AcknowledgeType, ArchivedRecords, AsyncKafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.recording.profile_capture import RELEASES
from tests.support.cluster_client import ClusterClient
from tests.support.members.consuming import consume

SETTINGS = {"group.share.delivery.count.limit": "2"}


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow])])
def broker(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "embedded":
        with EmbeddedCluster(profile="4.2", settings=SETTINGS) as cluster:
            yield cluster.bootstrap_servers
    else:
        with KafkaProcess(RELEASES["4.2"], SETTINGS) as kafka:
            yield kafka.bootstrap_servers


async def test_the_limit_of_the_brokers_counts(broker: str) -> None:
    host, _, port = broker.rpartition(":")
    cluster = ClusterClient(TcpNetwork(), host, int(port))
    topic = await cluster.create_topic()
    await cluster.produce(topic, [b"poison"])
    await cluster.set_group_config("g", {"share.auto.offset.reset": "earliest"})
    told: list[ArchivedRecords] = []

    async with AsyncKafkaShareConsumer(
        bootstrap_servers=broker, group_id="g", acknowledgement_mode="explicit"
    ) as consumer:
        consumer.set_archive_callback(told.append)
        await consumer.subscribe([topic.name])
        for _ in range(2):
            assert told == []
            (record,) = await consume(consumer, 1)
            consumer.acknowledge(record, AcknowledgeType.RELEASE)

    assert told == [ArchivedRecords(topic.name, 0, (0,), 2, is_assumed=False)]
    await cluster.close()
