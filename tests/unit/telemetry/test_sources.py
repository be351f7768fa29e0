"""What exporters know about clients before these have done anything."""

from typing import Any

import pytest

from kafka_groups import AsyncKafkaShareConsumer, AsyncStreamsGroupMember
from kafka_groups.errors import ConfigurationError
from kafka_groups.records.metrics import RECORDS_METRIC_GROUPS
from kafka_groups.streams import AsyncKafkaStreams, GroupTopologyBuilder, StreamsBuilder, serdes
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS
from kafka_groups.streams.workers.application_metrics import METRIC_GROUPS
from kafka_groups.telemetry.families import streams_families
from kafka_groups.telemetry.sources import Measured, source_of
from kafka_groups.testing import EmbeddedCluster
from tests.unit.telemetry.clients import Client

SERVERS = "localhost:9"


async def test_every_client_says_what_it_is() -> None:
    builder = StreamsBuilder()
    builder.stream("orders", key=serdes.string, value=serdes.string).to(
        "copies", key=serdes.string, value=serdes.string
    )
    topology = GroupTopologyBuilder().add_subtopology("0", sources=["orders"]).build()
    member = AsyncStreamsGroupMember(bootstrap_servers=SERVERS, application_id="app", topology=topology)
    clients = [
        AsyncKafkaShareConsumer(bootstrap_servers=SERVERS, group_id="invoices", client_id="shop"),
        member,
        AsyncKafkaStreams(builder.build(), bootstrap_servers=SERVERS, application_id="app"),
        EmbeddedCluster(),
    ]
    assert [dict(source_of(client).labels) for client in clients] == [
        {"group": "invoices", "client_id": "shop"},
        {"group": "app", "client_id": "kafka-groups"},
        {"application_id": "app", "client_id": "kafka-groups"},
        {},
    ]
    for client in clients:
        source = source_of(client)
        assert all(family.labels[: len(source.labels)] == tuple(dict(source.labels)) for family in source.families)
        assert {sample.family for sample in source.read()} <= set(source.families)
    await member.close()


def test_an_application_has_the_metrics_of_its_producer_and_consumers() -> None:
    builder = StreamsBuilder()
    builder.stream("orders", key=serdes.string, value=serdes.string).foreach(lambda _key, _value: None)
    app = AsyncKafkaStreams(builder.build(), bootstrap_servers=SERVERS, application_id="app")
    families = {*source_of(app).families}
    groups: dict[str, tuple[Any, ...]] = {**METRIC_GROUPS, **RECORDS_METRIC_GROUPS}
    assert families == {*streams_families(groups).values()}
    classic = AsyncKafkaStreams(
        builder.build(), bootstrap_servers=SERVERS, application_id="app", group_protocol="classic"
    )
    assert {*source_of(classic).families} - families == {*streams_families(COORDINATOR_METRIC_GROUPS).values()}


def test_what_has_a_description_can_be_exported() -> None:
    client = Client("shop")
    assert isinstance(client, Measured)
    assert source_of(client).families == client.telemetry.families


def test_what_has_none_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"Cannot export \{\}: it has no metrics"):
        source_of({})
