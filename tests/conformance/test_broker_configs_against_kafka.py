"""Configs of brokers that change while they run: the tables and the answers are those of a Kafka 4.4.0."""

from collections.abc import Iterator

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.config.cluster.dynamic_broker_keys import DYNAMIC_KEYS, STATIC_KEYS, TOPIC_KEY_OF
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, TOPIC_RESOURCE
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    DELETE,
    SET,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.kafka.real_kafka import RawConnection

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(120)]

NODE = "1"
CHANGES = {
    "log.retention.ms": "1000000",
    "max.connections": "500",
    "log.cleaner.threads": "2",
    "node.id": "5",
    "num.partitions": "7",
    "auto.create.topics.enable": "false",
    "no.such.key": "1",
    "log.flush.interval.ms": "5000",
    "min.insync.replicas": "2",
    "group.share.max.size": "5",
    "compression.type": "zstd",
    "message.max.bytes": "2000000",
    "listeners": "PLAINTEXT://:1",
    "unclean.leader.election.enable": "true",
}
SHOWN = ("log.retention.ms", "max.connections", "node.id", "no.such.key", "min.insync.replicas", "compression.type")
SHOWN_OF_TOPICS = ("retention.ms", "compression.type", "max.message.bytes", "flush.ms", "min.insync.replicas")


@pytest.fixture(scope="module")
def kafka(real_kafka: KafkaProcess) -> Iterator[KafkaProcess]:
    """A Kafka of its own, as its configs change."""
    with KafkaProcess(real_kafka.version) as kafka:
        yield kafka


def create(connection: RawConnection, topic: str) -> None:
    created = CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    (answer,) = connection.ask(CreateTopicsRequest(topics=(created,), timeout_ms=10_000, validate_only=False), 7).topics
    assert answer.error_code is ErrorCode.NONE


def described(connection: RawConnection, kind: int, name: str) -> dict[str, DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    (result,) = connection.ask(DescribeConfigsRequest(resources=(resource,), include_synonyms=True), 4).results
    return {config.name: config for config in result.configs}


def altered(connection: RawConnection, key: str, value: str | None) -> tuple[str, int, str]:
    config = AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
    resource = AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name=NODE, configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    (answer,) = connection.ask(request, 1).responses
    return key, answer.error_code, (answer.error_message or "")[:100]


def story(host: str, port: int) -> list[object]:
    """What a broker answers while its configs are changed and reset."""
    with RawConnection(host, port) as connection:
        create(connection, "t")
        found: list[object] = [altered(connection, *change) for change in CHANGES.items()]
        found.append(altered(connection, "log.retention.ms", "abc"))
        broker, topic = described(connection, BROKER_RESOURCE, NODE), described(connection, TOPIC_RESOURCE, "t")
        found += [(key, broker[key].value, broker[key].config_source, broker[key].read_only) for key in SHOWN]
        found += [(key, topic[key].value, topic[key].config_source) for key in SHOWN_OF_TOPICS]
        return found + [altered(connection, key, None) for key in CHANGES]


def test_the_tables_of_keys_are_those_of_a_broker(kafka: KafkaProcess) -> None:
    with RawConnection(kafka.host, kafka.port) as connection:
        configs = described(connection, BROKER_RESOURCE, NODE)
    dynamic = {name: int(config.config_type) for name, config in configs.items() if not config.read_only}
    assert dynamic == {name: int(key.type) for name, key in DYNAMIC_KEYS.items()}
    # An internal key is shown only because this broker has a value for it.
    assert {*configs} - {*dynamic} - {"group.share.initialize.retry.interval.ms"} | {"broker.id"} == STATIC_KEYS


def test_the_defaults_of_topics_are_those_of_a_broker(kafka: KafkaProcess) -> None:
    with RawConnection(kafka.host, kafka.port) as connection:
        create(connection, "defaults")
        for config in described(connection, TOPIC_RESOURCE, "defaults").values():
            for synonym in config.synonyms:
                if synonym.name in TOPIC_KEY_OF:
                    assert TOPIC_KEY_OF[synonym.name] == config.name


def test_changes_and_their_descriptions_are_the_same(kafka: KafkaProcess) -> None:
    theirs = story(kafka.host, kafka.port)
    with EmbeddedCluster() as cluster:
        host, _, port = cluster.bootstrap_servers.partition(":")
        assert story(host, int(port)) == theirs
