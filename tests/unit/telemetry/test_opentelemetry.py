"""What OpenTelemetry's SDK collects of clients and workers."""

import math
from collections.abc import Mapping

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Gauge, InMemoryMetricReader, Metric, Sum

from kafka_groups import AsyncKafkaShareConsumer
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.metrics import SHARE_METRICS
from kafka_groups.telemetry import opentelemetry
from kafka_groups.telemetry.families import share_consumer_families
from kafka_groups.telemetry.workers import WorkerTelemetry
from tests.unit.telemetry.clients import Client


class Collected:
    """A meter provider and what one reader collects from it."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader])

    def metrics(self) -> Mapping[str, Metric]:
        data = self.reader.get_metrics_data()
        if data is None:
            return {}
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def values(self, name: str) -> dict[tuple[object, ...], float]:
        """The values of an instrument by the values of its attributes."""
        metric = self.metrics().get(name)
        if metric is None:
            return {}
        assert isinstance(metric.data, Sum | Gauge)
        return {tuple((point.attributes or {}).values()): point.value for point in metric.data.data_points}


@pytest.fixture
def collected() -> Collected:
    return Collected()


def test_each_collection_reads_a_client_once(collected: Collected) -> None:
    client = Client("shop", 1)
    opentelemetry.export(client, meter_provider=collected.provider)
    assert collected.values("polls") == {("g", "shop"): 1}
    client.polls = 2
    metric = collected.metrics()["polls"]
    assert client.reads == 2
    assert isinstance(metric.data, Sum)
    assert metric.data.is_monotonic
    assert (metric.unit, metric.description) == ("{polls}", "Polls.")
    assert [point.value for point in metric.data.data_points] == [2]


def test_clients_come_and_go(collected: Collected) -> None:
    with opentelemetry.export(Client("shop", 1), meter_provider=collected.provider):
        with opentelemetry.export(Client("shop", 2), Client("bank", 3), meter_provider=collected.provider) as later:
            assert collected.values("polls") == {("g", "shop"): 1, ("g", "shop-2"): 2, ("g", "bank"): 3}
            assert "'client_id': 'shop-2'" in repr(later)
        assert collected.values("polls") == {("g", "shop"): 1}
    assert collected.values("polls") == {}


def test_two_readers_see_the_same_values() -> None:
    readers = InMemoryMetricReader(), InMemoryMetricReader()
    worker = WorkerTelemetry("invoices")
    both = [Collected(), Collected()]
    provider = MeterProvider(readers)
    for one, reader in zip(both, readers, strict=True):
        one.reader = reader
    opentelemetry.export(worker, meter_provider=provider)
    for lost in (1, 2):
        worker.handler("pay").locks_lost(1)
        for one in both:
            assert one.values("kafka_groups_worker_locks_lost") == {("invoices", "pay", "0"): lost}


def test_a_histogram_is_its_count_and_its_sum(collected: Collected) -> None:
    worker = WorkerTelemetry("invoices")
    opentelemetry.export(worker, meter_provider=collected.provider)
    worker.handler("pay").waited(2, 1.25)
    worker.handler("pay").oldest(7.0)
    pay = ("invoices", "pay", "0")
    assert collected.values("kafka_groups_worker_waiting_seconds_count") == {pay: 2}
    assert collected.values("kafka_groups_worker_waiting_seconds_sum") == {pay: 2.5}
    metrics = collected.metrics()
    assert isinstance(metrics["kafka_groups_worker_oldest_record_seconds"].data, Gauge)
    assert metrics["kafka_groups_worker_waiting_seconds_sum"].unit == "s"
    assert metrics["kafka_groups_worker_breaker_open"].unit == "1"


async def test_a_share_consumers_records_are_messages_too(collected: Collected) -> None:
    async with AsyncKafkaShareConsumer(
        bootstrap_servers="localhost:9", group_id="invoices", client_id="shop"
    ) as consumer:
        with opentelemetry.export(consumer, meter_provider=collected.provider):
            metrics = collected.metrics()
            values = consumer.metrics()
    expected = {
        family.name.removesuffix("_total")
        for name, family in share_consumer_families(SHARE_METRICS).items()
        if not math.isnan(values[name])
    }
    assert metrics.keys() == expected | {"messaging.client.consumed.messages"}
    assert metrics["kafka_share_consumer_bytes_fetched_rate"].unit == "By/s"
    assert metrics["kafka_share_consumer_records_consumed_rate"].unit == "{records}/s"
    (point,) = metrics["messaging.client.consumed.messages"].data.data_points
    assert point.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "poll",
        "messaging.consumer.group.name": "invoices",
        "messaging.client.id": "shop",
    }


def test_what_cannot_be_exported_is_refused(collected: Collected) -> None:
    with pytest.raises(ConfigurationError, match="Cannot export 5: it has no metrics"):
        opentelemetry.export(5, meter_provider=collected.provider)  # type: ignore[arg-type]
