"""The metrics of the embedded broker have Kafka's names, and Kafka's values after the same actions."""

from collections.abc import Callable, Collection, Iterator, Mapping

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metrics import IN_FLIGHT, METRICS
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka_metrics import KafkaMetrics
from tests.support.kafka_tools import KafkaTools
from tests.support.targets import EMBEDDED_PROPERTIES
from tests.support.tool_scenes import Stage, consume, leave, produce, share

SETTINGS = {"group.share.heartbeat.interval.ms": "500", "group.share.assignment.interval.ms": "0"}
TIMING = {
    "kafka.server:type=share-coordinator-metrics:write-total",
    "kafka.server:type=group-coordinator-metrics:share-group-rebalance-count",
}
"""How often something happens depends on when heartbeats and fetches arrive."""
STABLE = "kafka.server:type=group-coordinator-metrics,state=Stable:share-group-count"
FIXED = {metric.name for metric in METRICS}
MINUTELY = frozenset(metric.name for metric in METRICS if metric.unit == "groups")
"""Kafka counts groups once a minute."""
TOPIC, GROUP = "held", "holding"
HELD = IN_FLIGHT.format(group=GROUP, topic=TOPIC, partition=0)
Metrics = Mapping[str, int]

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def kafka(real_kafka: KafkaProcess) -> Iterator[tuple[str, Callable[[], Metrics]]]:
    with (
        KafkaMetrics() as metrics,
        KafkaProcess(real_kafka.version, SETTINGS, java_options=metrics.java_options) as process,
    ):
        yield process.bootstrap_servers, lambda: known(metrics)


@pytest.fixture(scope="module")
def embedded() -> Iterator[tuple[str, Callable[[], Metrics]]]:
    with EmbeddedCluster(settings={**EMBEDDED_PROPERTIES, **SETTINGS}) as cluster:
        yield cluster.bootstrap_servers, cluster.metrics


def known(metrics: KafkaMetrics) -> Metrics:
    """Those of Kafka's metrics that the embedded broker has, too."""
    names = FIXED | {HELD}
    domains = {name.partition(":")[0] for name in names}
    found = {name: value for domain in domains for name, value in metrics.read(f"{domain}:*").items()}
    return {name: int(float(found[name])) for name in names & found.keys()}


def test_the_same_actions_give_the_same_values(
    kafka: tuple[str, Callable[[], Metrics]], embedded: tuple[str, Callable[[], Metrics]], kafka_tools: KafkaTools
) -> None:
    seen = [list(played(*broker, kafka_tools)) for broker in (kafka, embedded)]
    for number, (on_kafka, on_embedded) in enumerate(zip(*seen, strict=True)):
        left_out = TIMING if number == 0 else TIMING | MINUTELY
        assert without(left_out, on_embedded) == without(left_out, on_kafka)
    assert list(in_flight(*embedded)) == list(in_flight(*kafka)) == [10, 10, 9]


def without(names: Collection[str], metrics: Metrics) -> Metrics:
    return {name: value for name, value in metrics.items() if name not in names and name in FIXED}


def played(server: str, metrics: Callable[[], Metrics], tools: KafkaTools) -> Iterator[Metrics]:
    """Metrics while groups of each type have members, after they left, and when they are deleted."""
    stage = Stage(server)
    to = ("--bootstrap-server", server)
    from_start = ("--add-config", "share.auto.offset.reset=earliest")
    with stage.clients:
        tools.run("kafka-topics", *to, "--create", "--topic", "counted", "--partitions", "2")
        produce("counted")(stage)
        tools.run("kafka-configs", *to, "--alter", "--entity-type", "groups", "--entity-name", "sharing", *from_start)
        consume("counted", "billing")(stage)
        share("counted", "sharing")(stage)
        wait_until(lambda: metrics()[STABLE] == 1, timeout_s=90)
        yield metrics()
        leave(stage)
    wait_until(lambda: metrics()["kafka.server:type=ShareSessionCache,name=ShareSessionsCount:Value"] == 0)
    yield metrics()
    tools.run("kafka-consumer-groups", *to, "--delete-offsets", "--group", "billing", "--topic", "counted:0")
    yield metrics()
    tools.run("kafka-consumer-groups", *to, "--delete", "--group", "billing")
    tools.run("kafka-share-groups", *to, "--delete", "--group", "sharing")
    yield metrics()


def in_flight(server: str, metrics: Callable[[], Metrics]) -> Iterator[int]:
    """How many of ten records are in flight: after a poll, when one in the middle is finished, and then the first."""
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(20)
    producer = Producer({"bootstrap.servers": server, "linger.ms": 1_000})
    for number in range(10):
        producer.produce(TOPIC, f"value {number}")
    assert producer.flush(30) == 0
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    [altered] = admin.incremental_alter_configs([
        ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=[earliest])
    ]).values()  # fmt: skip
    altered.result(20)
    config = {"bootstrap.servers": server, "group.id": GROUP}
    with KafkaShareConsumer(config, acknowledgement_mode="explicit", auto_renew=True) as consumer:
        consumer.subscribe([TOPIC])
        records = list(consumer.poll(timeout=30))
        yield metrics()[HELD]
        for index in (4, 0):
            consumer.acknowledge(records[index])
            consumer.commit_sync()
            yield metrics()[HELD]
        for record in (*records[1:4], *records[5:]):
            consumer.acknowledge(record)


def test_every_name_is_kafkas(kafka: tuple[str, Callable[[], Metrics]]) -> None:
    assert kafka[1]().keys() - {HELD} == FIXED
