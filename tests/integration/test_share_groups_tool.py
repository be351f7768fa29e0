"""Kafka's own tool for share groups, kafka-share-groups.sh, on the embedded broker."""

from collections.abc import Callable, Iterator

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.share import KafkaShareConsumer
from tests.support.kafka.kafka_tools import KafkaTools
from tests.support.members.consuming import values

TOPIC, GROUP, RECORDS = "orders", "billing", 6
PATIENCE_S = 60
Tool = Callable[..., list[list[str]]]

pytestmark = pytest.mark.real_kafka


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic(TOPIC, 2)
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
        cluster.produce(TOPIC, values(RECORDS))
        yield cluster


@pytest.fixture
def tool(cluster: EmbeddedCluster, kafka_tools: KafkaTools) -> Tool:
    """Runs the tool, and returns the words of each line that it prints."""

    def run(*arguments: str) -> list[list[str]]:
        done = kafka_tools.run("kafka-share-groups", "--bootstrap-server", cluster.bootstrap_servers, *arguments)
        assert done.status == 0, done.out + done.err
        return done.words

    return run


def accept_all(cluster: EmbeddedCluster) -> None:
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=GROUP) as consumer:
        consumer.subscribe([TOPIC])
        left = RECORDS
        while left > 0:
            left -= len(consumer.poll(PATIENCE_S))
        consumer.commit_sync()


def test_offsets_are_reset_shown_and_deleted(cluster: EmbeddedCluster, tool: Tool) -> None:
    accept_all(cluster)
    assert tool("--list") == [[GROUP]]

    reset = tool("--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute")
    assert sorted(reset[1:]) == [[GROUP, TOPIC, "0", "0"], [GROUP, TOPIC, "1", "0"]]
    shown = tool("--describe", "--group", GROUP)
    assert sorted(shown[1:]) == [[GROUP, TOPIC, "0", "0", "3"], [GROUP, TOPIC, "1", "0", "3"]]
    accept_all(cluster)

    assert tool("--delete-offsets", "--group", GROUP, "--topic", TOPIC)[1:] == [[TOPIC, "Successful"]]
    assert "no offset information" in " ".join(tool("--describe", "--group", GROUP)[0])
    assert "successful" in " ".join(tool("--delete", "--group", GROUP)[0])
    assert tool("--list") == []
