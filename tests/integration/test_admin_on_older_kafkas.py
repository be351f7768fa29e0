"""The admin client on older releases of Kafka: what they have works, and what they lack is said."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from kafka_groups import KafkaAdmin
from kafka_groups.acls import AclOperation
from kafka_groups.admin import (
    ClassicGroupDescription,
    ConfigResource,
    TopicToCreate,
    UserDescription,
    UserScramCredentialUpsertion,
)
from kafka_groups.errors import (
    GroupIdNotFoundError,
    KafkaGroupsError,
    SecurityDisabledError,
    UnsupportedVersionError,
)
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

pytestmark = [pytest.mark.real_kafka, pytest.mark.long, pytest.mark.timeout(300)]

PATIENCE_S = 30.0


@pytest.fixture(scope="module", params=["4.2.1", "3.9.1", "3.7.2"])
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaProcess]:
    with KafkaProcess(request.param) as started:
        yield started


@pytest.fixture
def admin(kafka: KafkaProcess) -> Iterator[KafkaAdmin]:
    with KafkaAdmin(bootstrap_servers=kafka.bootstrap_servers) as client:
        yield client


def new_topic(admin: KafkaAdmin, partitions: int) -> str:
    name = unique("topic")
    admin.create_topics({name: TopicToCreate(partitions, configs={"retention.ms": "60000"})}).checked()
    wait_until(lambda: name in admin.describe_topics([name]).values)
    return name


def test_topics_and_configs(admin: KafkaAdmin) -> None:
    name = new_topic(admin, 2)
    topic = admin.describe_topics([name], include_authorized_operations=True)[name]
    assert (len(topic.partitions), topic.replication_factor) == (2, 1)
    assert topic.authorized_operations is not None
    assert AclOperation.ALTER in topic.authorized_operations
    assert name in [each.name for each in admin.list_topics()]
    admin.create_partitions({name: 3}).checked()
    wait_until(lambda: len(admin.describe_topics([name])[name].partitions) == 3)
    resource = ConfigResource("topic", name)
    assert admin.describe_configs([resource])[resource]["retention.ms"].is_set
    admin.alter_configs({resource: {"retention.ms": None}}).checked()
    wait_until(lambda: not admin.describe_configs([resource])[resource]["retention.ms"].is_set)
    assert admin.delete_records({TopicPartition(name, 0): "latest"}).values == {TopicPartition(name, 0): 0}
    admin.delete_topics([name]).checked()


def test_the_cluster(kafka: KafkaProcess, admin: KafkaAdmin) -> None:
    cluster = admin.describe_cluster()
    assert [(each.host, each.port) for each in cluster.brokers] == [(kafka.host, kafka.port)]
    if kafka.version < "4":
        with pytest.raises(UnsupportedVersionError, match=r"DescribeCluster v1 does not tell which brokers are fenced"):
            admin.describe_cluster(include_fenced=True)
    else:
        assert admin.describe_cluster(include_fenced=True) == cluster


def test_classic_groups(kafka: KafkaProcess, admin: KafkaAdmin) -> None:
    topic, group, absent = new_topic(admin, 1), unique("group"), unique("absent")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(3):
        producer.produce(topic, str(number).encode())
    assert producer.flush(PATIENCE_S) == 0
    consumer = Consumer({
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"
    })  # fmt: skip
    consumer.subscribe([topic])
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    consumer.commit(message=message, asynchronous=False)
    place = TopicPartition(topic, 0)
    described = admin.describe_groups([group, absent])
    found = described[group]
    assert isinstance(found, ClassicGroupDescription)
    assert (found.state, found.protocol_type, found.lag) == ("Stable", "consumer", {place: 2})
    assert [(each.topics, each.assignment) for each in found.members] == [((topic,), (place,))]
    assert isinstance(described.errors[absent], GroupIdNotFoundError)
    consumer.close()
    [listed] = [each for each in admin.list_groups(states=["Empty"]).groups if each.group_id == group]
    assert listed.type == ("" if kafka.version < "3.8" else "classic")
    assert reasons(admin) == ({UnsupportedVersionError} if kafka.version < "3.8" else set())
    assert admin.delete_groups([group]).values == {group: None}


def reasons(admin: KafkaAdmin) -> set[type[KafkaGroupsError]]:
    """Why brokers cannot list groups by type."""
    return {type(error) for error in admin.list_groups(types=["classic"]).errors.values()}


def test_users_acls_and_transactions(admin: KafkaAdmin) -> None:
    user = unique("ann")
    admin.alter_users([UserScramCredentialUpsertion(user, "SCRAM-SHA-256", "secret", 5_000)]).checked()
    wait_until(lambda: user in admin.describe_users([user]).values)
    assert admin.describe_users()[user] == UserDescription(user, {"SCRAM-SHA-256": 5_000})
    with pytest.raises(SecurityDisabledError):
        admin.describe_acls()
    assert admin.find_hanging_transactions().transactions == ()
