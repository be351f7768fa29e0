"""A handler worker's metrics and traces, from the producer's span to the scrape."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from opentelemetry import propagate, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from kafka_groups import Backoff, Batch, Worker
from kafka_groups.telemetry import prometheus
from kafka_groups.telemetry.families import HANDLER_FAMILIES
from kafka_groups.telemetry.tracing import Tracing, tracing
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.conditions import wait_until

SOON = Backoff(first=0.01, most=0.01, times=3)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("orders")
        cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
        yield cluster


class Traces:
    """The spans of a producer and of a worker."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def middleware(self) -> Tracing:
        return tracing(self.provider, MeterProvider([InMemoryMetricReader()]))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def send(self, cluster: EmbeddedCluster, *values: bytes) -> None:
        """Produce orders, each within a span that its headers name."""
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for value in values:
            with self.provider.get_tracer("shop").start_as_current_span("send orders"):
                headers: dict[str, str] = {}
                propagate.inject(headers)
                producer.produce("orders", value=value, headers=dict(headers))
        assert producer.flush(20) == 0


def samples(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    """The samples of a scrape by name and by the value of the last label, in the order of the table."""
    text = prometheus.exposition(registry).decode()
    labels = {family.name: family.labels[-1] for family in HANDLER_FAMILIES.values()}
    return {
        (sample.name, sample.labels.get(labels.get(sample.name, ""), "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_attempts_are_traced_and_counted(cluster: EmbeddedCluster) -> None:
    traces, registry = Traces(), CollectorRegistry()
    worker = Worker("invoices", bootstrap_servers=cluster.bootstrap_servers, middleware=[traces.middleware()])
    handled: list[tuple[bytes, int]] = []

    @worker.handler("orders", retries=SOON, outages=())
    def invoice(order: bytes) -> None:
        handled.append((order, trace.get_current_span().get_span_context().span_id))
        if len([each for each, _ in handled if each == b"second"]) == 1 and order == b"second":
            raise ValueError("not yet")

    traces.send(cluster, b"first", b"second")
    total = "kafka_groups_worker_records_total"
    with worker, prometheus.export(worker, registry=registry):
        wait_until(lambda: samples(registry).get((total, "accepted")) == 2, found=lambda: samples(registry))
        found = samples(registry)
    assert found["kafka_groups_worker_attempts_total", ""] == 2
    assert found["kafka_groups_worker_attempts_total", "ValueError"] == 1
    attempts = traces.named("process orders")
    assert {span.context.span_id for span in attempts if span.context} == {span_id for _, span_id in handled}
    parents = {span.context.span_id for span in traces.named("send orders") if span.context}
    assert {span.parent.span_id for span in attempts if span.parent} == parents
    assert Counter((span.attributes or {})["kafka_groups.attempt"] for span in attempts) == {1: 2, 2: 1}
    assert [(span.attributes or {})["error.type"] for span in attempts if "error.type" in (span.attributes or {})] == [
        "ValueError"
    ]


async def test_asynchronous_attempts_have_spans_of_their_own(cluster: EmbeddedCluster) -> None:
    traces = Traces()
    worker = Worker("invoices", bootstrap_servers=cluster.bootstrap_servers, middleware=[traces.middleware()])
    current: dict[bytes, int] = {}
    both = asyncio.Barrier(2)
    done = asyncio.Event()

    @worker.handler("orders")
    async def invoice(order: bytes) -> None:
        await both.wait()
        current[order] = trace.get_current_span().get_span_context().span_id
        if len(current) == 2:
            done.set()

    traces.send(cluster, b"first", b"second")
    async with worker:
        await asyncio.wait_for(done.wait(), 20)
    spans = {span.context.span_id for span in traces.named("process orders") if span.context}
    assert len(spans) == 2
    assert spans == set(current.values())


def test_a_batch_is_linked_to_its_producers(cluster: EmbeddedCluster) -> None:
    traces = Traces()
    worker = Worker("invoices", bootstrap_servers=cluster.bootstrap_servers, middleware=[traces.middleware()])

    @worker.batch_handler("orders", max_records=3, max_wait=20)
    def store(batch: Batch[bytes]) -> None:
        assert len(batch) == 3

    traces.send(cluster, b"1", b"2", b"3")
    with worker:
        wait_until(lambda: traces.named("process orders"))
    (span,) = traces.named("process orders")
    assert span.parent is None
    assert {link.context.span_id for link in span.links} == {
        sent.context.span_id for sent in traces.named("send orders") if sent.context
    }
