"""Kafka's own tool kafka-console-consumer.sh reads from the embedded broker in a classic group, and goes on there."""

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.kafka.kafka_tools import KafkaTools

TOPIC, GROUP = "orders", "billing"

pytestmark = pytest.mark.real_kafka


@pytest.mark.parametrize("instance", [None, "one"])
def test_it_joins_commits_and_goes_on(kafka_tools: KafkaTools, instance: str | None) -> None:
    def consume(cluster: EmbeddedCluster, count: int) -> list[str]:
        arguments = ["--bootstrap-server", cluster.bootstrap_servers, "--topic", TOPIC, "--group", GROUP]
        properties = ["group.protocol=classic", "auto.offset.reset=earliest"]
        properties += [] if instance is None else [f"group.instance.id={instance}"]
        given = [word for each in properties for word in ("--command-property", each)]
        done = kafka_tools.run("kafka-console-consumer", *arguments, *given, "--max-messages", str(count))
        assert done.status == 0, done.out + done.err
        return sorted(done.out.split())

    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 0}) as cluster:
        cluster.create_topic(TOPIC, 2)
        cluster.produce(TOPIC, ["a", "b", "c"])
        assert consume(cluster, 3) == ["a", "b", "c"]
        cluster.produce(TOPIC, ["d"])
        assert consume(cluster, 1) == ["d"]
        assert cluster.unexpected_errors == ()
