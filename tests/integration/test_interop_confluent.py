"""confluent-kafka's clients against the embedded broker over TCP, and our consumer against librdkafka's mock broker.

What librdkafka's producer and administration of topics and clusters do stands in `test_tcp_librdkafka.py`, and more of
its share consumer in `test_tcp_share_consumer.py`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType as TheirType
from confluent_kafka import KafkaException, Producer, ShareConsumer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.net.clock import SystemClock
from kafka_groups.share.consumer import KafkaShareConsumer
from tests.support.members.consuming import values

QUICK = {
    "group.share.min.heartbeat.interval.ms": 200,
    "group.share.heartbeat.interval.ms": 200,
    "group.share.assignment.interval.ms": 0,
}
PATIENCE_S = 60.0


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=QUICK) as cluster:
        cluster.create_topic("t", 2)
        yield cluster


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


def produce(bootstrap_servers: str, sent: list[bytes], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 5})
    for value in sent:
        producer.produce("t", value=value, partition=partition)
    assert producer.flush(PATIENCE_S) == 0


def altered(kind: ResourceType, name: str, key: str, value: str) -> ConfigResource:
    entry: Any = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    return ConfigResource(kind, name, incremental_configs=[entry])


def poll_until(poll: Callable[[], Any], count: int) -> list[Any]:
    """Everything that polls bring until there is so much; more is an error."""
    clock = SystemClock()
    deadline_ms = clock.now_ms() + PATIENCE_S * 1000
    got: list[Any] = []
    while len(got) < count and clock.now_ms() < deadline_ms:
        got += poll()
    assert len(got) == count
    return got


# -------------------------------------------------------------- confluent-kafka against the embedded broker


def test_topics_are_described(cluster: EmbeddedCluster, admin: AdminClient) -> None:
    described = admin.describe_topics(TopicCollection(["t"]))["t"].result(PATIENCE_S)

    assert described.name == "t"
    assert [(part.id, part.leader.id) for part in described.partitions] == [(0, 1), (1, 1)]
    assert not described.is_internal


@pytest.mark.parametrize(
    ("kind", "name", "key", "value"),
    [
        (ResourceType.TOPIC, "t", "retention.ms", "77000"),
        (ResourceType.GROUP, "g", "share.auto.offset.reset", "earliest"),
    ],
)
def test_configs_are_altered_and_described(
    admin: AdminClient, kind: ResourceType, name: str, key: str, value: str
) -> None:
    resource = ConfigResource(kind, name)
    before = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    change = altered(kind, name, key, value)
    admin.incremental_alter_configs([change])[change].result(PATIENCE_S)
    after = admin.describe_configs([resource])[resource].result(PATIENCE_S)

    assert before[key].value != value
    assert after[key].value == value
    assert not after[key].is_default
    assert before.keys() == after.keys()


def test_offsets_are_listed_and_records_deleted(cluster: EmbeddedCluster, admin: AdminClient) -> None:
    produce(cluster.bootstrap_servers, values(10))
    partition = TopicPartition("t", 0)
    specs: Any = OffsetSpec

    def offset(spec: Any) -> int:
        listed: int = admin.list_offsets({partition: spec})[partition].result(PATIENCE_S).offset
        return listed

    assert (offset(specs.earliest()), offset(specs.latest())) == (0, 10)
    upto = TopicPartition("t", 0, 4)
    assert admin.delete_records([upto])[upto].result(PATIENCE_S).low_watermark == 4
    assert (offset(specs.earliest()), offset(specs.latest())) == (4, 10)


def test_a_share_group_is_deleted_when_it_is_empty(cluster: EmbeddedCluster, admin: AdminClient) -> None:
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as consumer:
        consumer.subscribe(["t"])
        consumer.poll(timeout=0.5)
        listed = admin.list_consumer_groups().result(PATIENCE_S)
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    with pytest.raises(KafkaException, match="GROUP_ID_NOT_FOUND"):
        admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)

    assert (listed.valid, listed.errors) == ([], [])  # librdkafka leaves share groups out, of a real Kafka too


def test_a_share_consumer_accepts_releases_and_rejects(cluster: EmbeddedCluster) -> None:
    cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
    produce(cluster.bootstrap_servers, values(9))
    kinds = (TheirType.ACCEPT, TheirType.RELEASE, TheirType.REJECT)

    consumer = ShareConsumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "share.acknowledgement.mode": "explicit",
    })  # fmt: skip
    consumer.subscribe(["t"])
    for message in poll_until(lambda: consumer.poll(timeout=0.5), 9):
        consumer.acknowledge(message, kinds[message.offset() % 3])
    consumer.commit_sync()
    again = poll_until(lambda: consumer.poll(timeout=0.5), 3)
    for message in again:
        consumer.acknowledge(message, TheirType.ACCEPT)
    consumer.commit_sync()
    consumer.close()

    assert [message.offset() for message in again] == [1, 4, 7]
    assert {message.delivery_count() for message in again} == {2}


def test_our_consumer_and_theirs_share_a_group(cluster: EmbeddedCluster) -> None:
    cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
    produce(cluster.bootstrap_servers, values(50, "p0"), 0)
    produce(cluster.bootstrap_servers, values(50, "p1"), 1)

    seen: list[bytes] = []
    theirs = ShareConsumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    theirs.subscribe(["t"])
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g", max_poll_records=10) as ours:
        ours.subscribe(["t"])

        def poll_both() -> list[Any]:
            of_theirs: list[Any] = [message.value() for message in theirs.poll(timeout=0.1)]
            return of_theirs + [record.value for record in ours.poll(timeout=0.1)]

        seen = poll_until(poll_both, 100)
        ours.commit_sync()
    theirs.close()

    assert sorted(seen) == values(50, "p0") + values(50, "p1")


# ---------------------------------------------------------------- our consumer against librdkafka's mock broker


@pytest.fixture
def mock_broker() -> Iterator[tuple[Producer, str]]:
    """A producer that holds a mock cluster of librdkafka, with the topic `t` in it, and the cluster's address."""
    producer = Producer({"bootstrap.servers": "replaced", "test.mock.num.brokers": 1, "log_level": 0})
    producer.produce("t", value=b"makes the topic")  # share groups there do not wait for a topic to come
    assert producer.flush(PATIENCE_S) == 0
    brokers: Any = producer.list_topics(timeout=PATIENCE_S).brokers
    yield producer, ",".join(f"{broker.host}:{broker.port}" for broker in brokers.values())
    producer.flush(PATIENCE_S)


def produce_to_mock(producer: Producer, sent: list[bytes]) -> None:
    for value in sent:
        producer.produce("t", value=value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def test_our_consumer_works_against_a_broker_that_speaks_first_versions_only(
    mock_broker: tuple[Producer, str],
) -> None:
    producer, address = mock_broker
    with KafkaShareConsumer(bootstrap_servers=address, group_id="g", prefetch_batches=0) as consumer:
        consumer.subscribe(["t"])
        assert not consumer.poll(timeout=1)  # groups of the mock begin at the end
        produce_to_mock(producer, values(20))
        records = poll_until(lambda: consumer.poll(timeout=1), 20)
        assert list(consumer.commit_sync().values()) == [None]
        produce_to_mock(producer, values(5, "later"))
        later = poll_until(lambda: consumer.poll(timeout=1), 5)
        assert list(consumer.commit_sync().values()) == [None]

    assert [record.value for record in records] == values(20)
    assert [record.value for record in later] == values(5, "later")
    assert {record.delivery_count for record in (*records, *later)} == {1}


def test_renewal_is_refused_there_with_its_reason(mock_broker: tuple[Producer, str]) -> None:
    producer, address = mock_broker
    with KafkaShareConsumer(bootstrap_servers=address, group_id="g", acknowledgement_mode="explicit") as consumer:
        consumer.subscribe(["t"])
        assert not consumer.poll(timeout=1)
        produce_to_mock(producer, values(3))
        records = poll_until(lambda: consumer.poll(timeout=1), 3)
        [refusal] = consumer.renew().values()
        for record in records:
            consumer.acknowledge(record)
        assert list(consumer.commit_sync().values()) == [None]

    assert isinstance(refusal, UnsupportedVersionError)
    assert "needs version 2" in str(refusal)
