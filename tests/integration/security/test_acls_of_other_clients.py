"""confluent-kafka's admin client and Kafka's own tool kafka-acls change the ACLs of an embedded broker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from tests.support.kafka.kafka_tools import KafkaTools

USERS = {"root": "root secret", "ann": "ann secret"}
PATIENCE_S = 30
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    security = BrokerSecurity(mechanisms=("PLAIN",), users=USERS)
    with EmbeddedCluster(security=security, acls=[], settings={"super.users": "User:root"}) as running:
        running.create_topic("orders")
        yield running


def keys_of(cluster: EmbeddedCluster, user: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": USERS[user],
    }


def write_as_ann(cluster: EmbeddedCluster) -> KafkaError | None:
    """The error of a record that ann writes."""
    errors: list[KafkaError | None] = []
    producer = Producer({**keys_of(cluster, "ann"), "message.timeout.ms": 10_000})
    producer.produce("orders", b"one", on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


@pytest.mark.slow
def test_confluent_kafka_creates_lists_and_deletes_acls(cluster: EmbeddedCluster) -> None:
    denied = write_as_ann(cluster)
    assert denied is not None
    assert denied.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED

    admin = AdminClient(keys_of(cluster, "root"))
    literal, topic = ResourcePatternType.LITERAL, ResourceType.TOPIC
    right = AclBinding(topic, "orders", literal, "User:ann", "*", AclOperation.WRITE, AclPermissionType.ALLOW)
    for created in admin.create_acls([right]).values():
        created.result(PATIENCE_S)
    assert write_as_ann(cluster) is None

    match = ResourcePatternType.MATCH
    wanted = AclBindingFilter(topic, "orders", match, "User:ann", "*", AclOperation.ANY, AclPermissionType.ANY)
    assert admin.describe_acls(wanted).result(PATIENCE_S) == [right]
    [deleted] = [future.result(PATIENCE_S) for future in admin.delete_acls([wanted]).values()]
    assert list(deleted) == [right]
    assert write_as_ann(cluster) is not None

    ann = AdminClient(keys_of(cluster, "ann"))  # its `describe_acls` hides the error, also from a real Kafka
    [refused] = ann.create_acls([right]).values()
    with pytest.raises(KafkaException) as caught:
        refused.result(PATIENCE_S)
    assert caught.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.real_kafka
@pytest.mark.slow
def test_kafka_acls_adds_lists_and_removes_acls(
    cluster: EmbeddedCluster, kafka_tools: KafkaTools, tmp_path: Path
) -> None:
    login = (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required username="root" password="{USERS["root"]}";'
    )
    config = tmp_path / "root.properties"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")

    def tool(*arguments: str) -> str:
        to = ("--bootstrap-server", cluster.bootstrap_servers, "--command-config", str(config))
        done = kafka_tools.run("kafka-acls", *to, *arguments)
        assert done.status == 0, done.out + done.err
        return done.out

    added = tool("--add", "--allow-principal", "User:ann", "--producer", "--topic", "orders")
    assert "operation=WRITE, permissionType=ALLOW" in added
    assert write_as_ann(cluster) is None
    prefixed = ("--topic", "ord", "--resource-pattern-type", "prefixed")
    tool("--add", "--deny-principal", "User:ann", "--operation", "Write", *prefixed)
    assert write_as_ann(cluster) is not None
    matching = tool("--list", "--topic", "orders", "--resource-pattern-type", "match")
    assert "resourceType=TOPIC, name=ord, patternType=PREFIXED" in matching
    assert "principal=User:ann, host=*, operation=CREATE, permissionType=ALLOW" in matching
    tool("--remove", "--force", *prefixed)
    assert "PREFIXED" not in tool("--list")
    assert write_as_ann(cluster) is None

    refused = kafka_tools.run(
        "kafka-acls", "--bootstrap-server", cluster.bootstrap_servers, "--command-config", str(config),
        "--add", "--allow-principal", "User:ann", "--operation", "Read", "--topic", "t", "--allow-host", "10.0.0.0/99",
    )  # fmt: skip
    assert "Invalid CIDR notation '10.0.0.0/99'" in refused.out + refused.err
