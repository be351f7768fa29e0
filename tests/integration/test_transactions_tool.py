"""`kafka-transactions` on the embedded broker and on a real Kafka: what it lists, describes, finds and aborts."""

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.kafka.kafka_tools import KafkaTools
from tests.support.kafka.real_kafka import unique

PATIENCE_S = 30.0

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(params=["embedded", "real"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster() as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


class Tool:
    """The tool, at one cluster."""

    def __init__(self, tools: KafkaTools, servers: str) -> None:
        self._tools = tools
        self._servers = servers

    def rows(self, *arguments: str) -> list[dict[str, str]]:
        """The rows of the table that it prints."""
        ran = self._tools.run("kafka-transactions", "--bootstrap-server", self._servers, *arguments)
        assert ran.status == 0, ran
        head, *rows = [re.split(r"\s+", line.strip()) for line in ran.out.splitlines() if line.strip()]
        return [dict(zip(head, row, strict=False)) for row in rows]

    def done(self, *arguments: str) -> str:
        """What it prints when it has changed something."""
        ran = self._tools.run("kafka-transactions", "--bootstrap-server", self._servers, *arguments)
        assert ran.status == 0, ran
        return ran.out


def begun(servers: str, topic: str, name: str) -> Producer:
    """A producer with an open transaction."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "enable.metrics.push": False})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    return producer


def is_readable(servers: str, topic: str) -> bool:
    """Whether readers get past the open transaction."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": unique("reader"), "enable.partition.eof": False})
    (_, stable) = consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_S)
    consumer.close()
    return bool(stable > 0)


def test_an_open_transaction_is_found_described_and_aborted(servers: str, kafka_tools: KafkaTools) -> None:
    topic, name, tool = unique("out"), unique("tx"), Tool(kafka_tools, servers)
    producer = begun(servers, topic, name)
    [listed] = [row for row in tool.rows("list") if row["TransactionalId"] == name]
    assert listed["TransactionState"] == "Ongoing"
    [described] = tool.rows("describe", "--transactional-id", name)
    assert (described["TransactionState"], described["ProducerEpoch"]) == ("Ongoing", "0")
    assert described["TopicPartitions"] == f"{topic}-0"
    [seen] = tool.rows("describe-producers", "--topic", topic, "--partition", "0")
    assert (seen["ProducerId"], seen["ProducerEpoch"]) == (described["ProducerId"], "0")
    assert (seen["LastSequence"], seen["CurrentTransactionStartOffset"]) == ("0", "0")
    assert tool.rows("find-hanging", "--topic", topic, "--partition", "0", "--max-transaction-timeout", "1") == []
    tool.done("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    [ended] = tool.rows("describe-producers", "--topic", topic, "--partition", "0")
    assert ended["CurrentTransactionStartOffset"] == "None"
    assert is_readable(servers, topic)
    del producer


def test_a_transaction_is_terminated_by_its_id(servers: str, kafka_tools: KafkaTools) -> None:
    topic, name, tool = unique("out"), unique("tx"), Tool(kafka_tools, servers)
    producer = begun(servers, topic, name)
    tool.done("forceTerminateTransaction", "--transactionalId", name)
    [described] = tool.rows("describe", "--transactional-id", name)
    assert described["TransactionState"] in ("PrepareAbort", "CompleteAbort", "Empty")
    [seen] = tool.rows("describe-producers", "--topic", topic, "--partition", "0")
    assert seen["CurrentTransactionStartOffset"] == "None"
    del producer
