"""Metrics of real clients, scraped over HTTP as Prometheus does."""

from collections.abc import Iterator
from typing import Any, Literal
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.parser import text_string_to_metric_families

from kafka_groups import KafkaShareConsumer, StreamsGroupMember
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metrics import METRICS
from kafka_groups.records.metrics import RECORDS_METRIC_GROUPS
from kafka_groups.share.metrics import SHARE_METRICS
from kafka_groups.streams import GroupTopologyBuilder, KafkaStreams, StreamsBuilder, Topology, serdes, stores
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS, MEMBER_METRICS
from kafka_groups.streams.workers.application_metrics import METRIC_GROUPS
from kafka_groups.telemetry import prometheus
from kafka_groups.telemetry.families import (
    broker_families,
    share_consumer_families,
    streams_families,
    streams_member_families,
)
from kafka_groups.testing import FAST_SETTINGS
from tests.support.conditions import wait_until

COUNTS = stores.key_value("counts", serdes.string, serdes.int64)

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]
"""Values by name and labels."""


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("orders", 2)
        yield cluster


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def url(registry: CollectorRegistry) -> Iterator[str]:
    server, thread = start_http_server(0, "127.0.0.1", registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()
    thread.join()


def scraped(url: str) -> Samples:
    with urlopen(url) as response:
        text = response.read().decode()
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def test_a_share_consumer_is_scraped(cluster: EmbeddedCluster, registry: CollectorRegistry, url: str) -> None:
    cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
    cluster.produce("orders", [b"%d" % number for number in range(20)])
    labels = (("client_id", "shop"), ("group", "invoices"))
    with (
        KafkaShareConsumer(
            bootstrap_servers=cluster.bootstrap_servers, group_id="invoices", client_id="shop"
        ) as consumer,
        prometheus.export(consumer, registry=registry),
    ):
        consumer.subscribe(["orders"])
        got = 0
        while got < 20:
            got += len(list(consumer.poll(timeout=10)))
        consumer.commit_sync()
        accepted = "kafka_share_consumer_records_accepted_total"  # two brokers confirm at their own times
        wait_until(lambda: scraped(url)[accepted][labels] == 20, found=lambda: scraped(url)[accepted])
        found = scraped(url)
    assert found.keys() == {family.name for family in share_consumer_families(SHARE_METRICS).values()}
    assert all(values.keys() == {labels} for values in found.values())
    assert found["kafka_share_consumer_records_consumed_total"][labels] == 20
    assert found["kafka_share_consumer_records_in_hand"][labels] == 0
    assert scraped(url) == {}


def test_brokers_are_scraped_while_they_run(cluster: EmbeddedCluster, registry: CollectorRegistry, url: str) -> None:
    prometheus.export(cluster, registry=registry)
    found = scraped(url)
    assert found.keys() == {place.family.name for place in broker_families(METRICS).values()}
    assert found["kafka_server_group_coordinator_metrics_share_group_count"].keys() == {
        (("node_id", node), ("state", state)) for node in "12" for state in ("Empty", "Stable", "Dead")
    }
    cluster.stop_broker(2)
    assert {dict(labels)["node_id"] for values in scraped(url).values() for labels in values} == {"1"}


def test_a_cluster_that_has_stopped_has_no_metrics(registry: CollectorRegistry, url: str) -> None:
    with EmbeddedCluster() as cluster:
        prometheus.export(cluster, registry=registry)
    assert scraped(url) == {}


def counted() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", key=serdes.string, value=serdes.string)
    orders.group_by(lambda _, value: value, key=serdes.string, value=serdes.string).count(store=COUNTS)
    return builder.build()


@pytest.mark.parametrize("protocol", ["streams", pytest.param("classic", marks=pytest.mark.slow)])
def test_an_application_is_scraped(
    cluster: EmbeddedCluster, registry: CollectorRegistry, url: str, protocol: Literal["streams", "classic"]
) -> None:
    groups: dict[str, tuple[Any, ...]] = {**METRIC_GROUPS, **RECORDS_METRIC_GROUPS}
    if protocol == "classic":
        groups |= COORDINATOR_METRIC_GROUPS
    cluster.produce("orders", [b"a", b"b", b"a"])
    with (
        KafkaStreams(
            counted(), application_id="app", client_id="shop",
            bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest", group_protocol=protocol,
        ) as app,
        prometheus.export(app, registry=registry),
    ):  # fmt: skip
        consumed = "kafka_streams_topic_records_consumed_total"
        # Each record is read twice, before and after the repartition topic.
        wait_until(lambda: sum(scraped(url).get(consumed, {}).values()) >= 6, timeout_s=60)
        found = scraped(url)
    assert found.keys() == {family.name for family in streams_families(groups).values()}
    identity = {"application_id": "app", "client_id": "shop"}
    assert all(identity.items() <= dict(labels).items() for values in found.values() for labels in values)
    running = {tuple(sorted(identity.items())): 2.0}
    assert found["kafka_streams_client_state"] == running
    stores = {dict(labels)["store"] for labels in found["kafka_streams_state_num_keys"]}
    assert stores == {"counts"}
    labels = [dict(each) for values in found.values() for each in values]
    clients = {each["worker_client_id"] for each in labels if "worker_client_id" in each}
    kinds = ("producer", "consumer", "restore-consumer")
    assert clients == {f"shop-StreamThread-1-{kind}" for kind in kinds}


def test_a_member_is_scraped(cluster: EmbeddedCluster, registry: CollectorRegistry, url: str) -> None:
    topology = GroupTopologyBuilder().add_subtopology("0", sources=["orders"]).build()
    with (
        StreamsGroupMember(
            bootstrap_servers=cluster.bootstrap_servers, application_id="app", topology=topology
        ) as member,
        prometheus.export(member, registry=registry),
    ):
        member.join()
        while not member.tasks.active:
            member.poll(timeout=10)
        found = scraped(url)
    assert found.keys() == {family.name for family in streams_member_families(MEMBER_METRICS).values()}
    assert found["kafka_streams_member_active_tasks"] == {(("client_id", "kafka-groups"), ("group", "app")): 2}
