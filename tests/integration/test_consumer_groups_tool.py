"""Kafka's own tool for ordinary groups, kafka-consumer-groups.sh, on the embedded broker."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.kafka.kafka_tools import KafkaTools
from tests.support.members.consuming import values

TOPIC, GROUP, RECORDS = "orders", "billing", 6
PATIENCE_S = 60
Tool = Callable[..., list[list[str]]]

pytestmark = pytest.mark.real_kafka


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 0}) as cluster:
        cluster.create_topic(TOPIC, 2)
        cluster.produce(TOPIC, values(RECORDS))
        yield cluster


@pytest.fixture
def tool(cluster: EmbeddedCluster, kafka_tools: KafkaTools) -> Tool:
    """Runs the tool, and returns the words of each line that it prints."""

    def run(*arguments: str) -> list[list[str]]:
        done = kafka_tools.run("kafka-consumer-groups", "--bootstrap-server", cluster.bootstrap_servers, *arguments)
        assert done.status == 0, done.out + done.err
        return done.words

    return run


def consume_all(cluster: EmbeddedCluster) -> None:
    keys = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": GROUP, "auto.offset.reset": "earliest"}
    consumer = Consumer(keys)
    consumer.subscribe([TOPIC])
    read = [message for _ in range(RECORDS) if (message := consumer.poll(PATIENCE_S)) is not None]
    assert sorted(message.value() or b"" for message in read) == values(RECORDS)
    consumer.close()


def test_a_group_is_shown_reset_and_deleted(cluster: EmbeddedCluster, tool: Tool) -> None:
    consume_all(cluster)
    assert tool("--list") == [[GROUP]]
    described = tool("--describe", "--group", GROUP)
    assert sorted(line[:6] for line in described if line[0] == GROUP) == [
        [GROUP, TOPIC, "0", "3", "3", "0"],
        [GROUP, TOPIC, "1", "3", "3", "0"],
    ]
    [state] = [line for line in tool("--describe", "--group", GROUP, "--state") if line[0] == GROUP]
    assert "Empty" in state

    reset = tool("--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute")
    assert sorted(reset[1:]) == [[GROUP, TOPIC, "0", "0"], [GROUP, TOPIC, "1", "0"]]
    consume_all(cluster)
    deleted = tool("--delete-offsets", "--group", GROUP, "--topic", TOPIC)
    assert [line[-1] for line in deleted if line[0] == TOPIC] == ["Successful", "Successful"]
    assert "successful" in " ".join(tool("--delete", "--group", GROUP)[0])
    assert tool("--list") == []
