"""What prometheus-client shows of clients and workers, read again with its own parsers."""

import math
import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from kafka_groups.errors import ConfigurationError
from kafka_groups.telemetry import prometheus
from kafka_groups.telemetry.workers import WorkerTelemetry
from tests.unit.telemetry.clients import Client
from tests.unit.telemetry.tables import FAMILIES


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def samples(registry: CollectorRegistry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The samples of a scrape by name and labels."""
    text = prometheus.exposition(registry).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def polls(registry: CollectorRegistry) -> dict[str, float]:
    return {dict(labels)["client_id"]: value for (_, labels), value in samples(registry).items()}


def test_each_scrape_reads_the_client(registry: CollectorRegistry) -> None:
    client = Client("shop")
    prometheus.export(client, registry=registry)
    assert client.reads == 0
    assert prometheus.exposition(registry).decode().splitlines() == [
        "# HELP polls_total Polls. Unit: polls.",
        "# TYPE polls_total counter",
        'polls_total{client_id="shop",group="g"} 0.0',
    ]
    client.polls = 5
    assert polls(registry) == {"shop": 5}
    assert client.reads == 2


def test_clients_share_a_family_and_come_and_go(registry: CollectorRegistry) -> None:
    with prometheus.export(Client("shop", 1), Client("shop", 2), registry=registry):
        with prometheus.export(Client("bank", 3), registry=registry) as bank:
            assert polls(registry) == {"shop": 1, "shop-2": 2, "bank": 3}
            assert prometheus.exposition(registry).count(b"# TYPE polls_total") == 1
            assert repr(bank) == "<PrometheusExport [{'group': 'g', 'client_id': 'bank'}]>"
        bank.close()
        assert polls(registry) == {"shop": 1, "shop-2": 2}
    assert prometheus.exposition(registry) == b""


def test_registries_do_not_share_clients(registry: CollectorRegistry) -> None:
    client = Client("shop", 1)
    other = CollectorRegistry()
    prometheus.export(client, registry=registry)
    prometheus.export(client, registry=other)
    assert polls(registry) == polls(other) == {"shop": 1}


def test_a_registry_keeps_its_other_metrics(registry: CollectorRegistry) -> None:
    Counter("orders", "Orders.", registry=registry).inc()
    prometheus.export(Client("shop"), registry=registry)
    assert {name for name, _ in samples(registry)} == {"orders_total", "orders_created", "polls_total"}


def test_the_default_is_the_librarys_own_registry() -> None:
    with prometheus.export(Client("shop", 7)):
        assert b'polls_total{client_id="shop",group="g"} 7.0' in prometheus.exposition()
    assert b"polls_total" not in prometheus.exposition()


def test_what_cannot_be_exported_is_refused(registry: CollectorRegistry) -> None:
    with pytest.raises(ConfigurationError, match="Cannot export 5: it has no metrics"):
        prometheus.export(5, registry=registry)  # type: ignore[arg-type]


@pytest.fixture
def worker(registry: CollectorRegistry) -> Iterator[WorkerTelemetry]:
    worker = WorkerTelemetry("invoices", process="1")
    with prometheus.export(worker, registry=registry):
        yield worker


PAY = (("group", "invoices"), ("handler", "pay"), ("process", "1"))


def test_a_histogram_has_buckets_that_include_the_lower_ones(
    registry: CollectorRegistry, worker: WorkerTelemetry
) -> None:
    for seconds in (0.001, 0.2, 500.0):
        worker.handler("pay").ran({("succeeded", ""): 1}, 1, seconds)
    found = samples(registry)
    buckets = {
        float(dict(labels)["le"]): value
        for (name, labels), value in found.items()
        if name == "kafka_groups_worker_handler_seconds_bucket"
    }
    assert list(buckets) == [*FAMILIES["kafka_groups_worker_handler_seconds"].bounds, math.inf]
    assert (buckets[0.001], buckets[0.1], buckets[0.25], buckets[300.0], buckets[math.inf]) == (1, 1, 2, 2, 3)
    assert found["kafka_groups_worker_handler_seconds_count", PAY] == 3
    assert found["kafka_groups_worker_handler_seconds_sum", PAY] == pytest.approx(500.201)


def test_a_worker_without_handlers_has_no_samples(registry: CollectorRegistry, worker: WorkerTelemetry) -> None:
    assert samples(registry) == {}
    worker.handler("pay").locks_lost(2)
    assert samples(registry)["kafka_groups_worker_locks_lost_total", PAY] == 2


def test_odd_labels_are_escaped(registry: CollectorRegistry, worker: WorkerTelemetry) -> None:
    worker.handler('a "b"\n\\c').locks_lost(1)
    labels = (("group", "invoices"), ("handler", 'a "b"\n\\c'), ("process", "1"))
    assert samples(registry)["kafka_groups_worker_locks_lost_total", labels] == 1


def test_open_metrics_are_valid_too(registry: CollectorRegistry, worker: WorkerTelemetry) -> None:
    worker.handler("pay").ran({("succeeded", ""): 1}, 1, 0.2)
    families = open_metrics(generate_latest(registry).decode())  # type: ignore[no-untyped-call]
    found = {family.name for family in families}
    assert found == {name.removesuffix("_total") for name in FAMILIES if name.startswith("kafka_groups_worker_")}


def test_threads_may_scrape_while_a_handler_runs(registry: CollectorRegistry, worker: WorkerTelemetry) -> None:
    figures = worker.handler("pay")
    errors: list[BaseException] = []
    is_over = threading.Event()

    def scrape() -> None:
        try:
            while not is_over.is_set():
                samples(registry)
        except BaseException as error:
            errors.append(error)

    scraping = threading.Thread(target=scrape)
    scraping.start()
    for number in range(2000):
        figures.settled(f"outcome {number % 50}", 1)
        figures.ran({("failed", f"Error{number}"): 1}, 1, 0.1)
        figures.windows({("orders", number): 0.5})
    is_over.set()
    scraping.join()
    assert errors == []
    assert sum(value for (name, _), value in samples(registry).items() if name.endswith("_records_total")) == 2000
