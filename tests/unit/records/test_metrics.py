"""The metrics of producers and readers: the names and tags of Java's clients, and all of them by both exporters."""

import json
import re

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from kafka_groups.records.batches.building import BatchSettings, ProducerBatch
from kafka_groups.records.fetching.reader_sensors import ReaderSensors
from kafka_groups.records.metrics import (
    RECORDS_METRIC_GROUPS,
    ProducerSources,
    ReaderSources,
    RecordsMetric,
    producer_metrics,
    reader_metrics,
)
from kafka_groups.records.producing.producer_sensors import ProducerSensors
from kafka_groups.telemetry import opentelemetry, prometheus
from kafka_groups.telemetry.families import streams_families
from kafka_groups.telemetry.sources import TelemetrySource, streams_application_source
from kafka_groups.types import TopicPartition
from tests.recording.java_records_metrics import GOLDEN

JAVA = {
    (group, each["name"], frozenset(each["tags"]))
    for group, metrics in json.loads(GOLDEN.read_text(encoding="utf-8")).items()
    for each in metrics
}
"""The metrics of Java's clients 4.4.0: group, name and the names of the tags."""

ABSENT = {
    "the reader, the writer and the questions of a worker share connections": (
        "connection-close-rate connection-close-total connection-count connection-creation-rate"
        " connection-creation-total failed-authentication-rate failed-authentication-total failed-reauthentication-rate"
        " failed-reauthentication-total incoming-byte-rate incoming-byte-total network-io-rate network-io-total"
        " outgoing-byte-rate outgoing-byte-total reauthentication-latency-avg reauthentication-latency-max request-rate"
        " request-size-avg request-size-max request-total response-rate response-total"
        " successful-authentication-no-reauth-total successful-authentication-rate successful-authentication-total"
        " successful-reauthentication-rate successful-reauthentication-total"
    ),
    "there is no thread of its own": (
        "io-ratio io-time-ns-avg io-time-ns-total io-wait-ratio io-wait-time-ns-avg io-wait-time-ns-total select-rate"
        " select-total waiting-threads"
    ),
    "writing never waits: the worker asks for room between records": (
        "buffer-exhausted-rate buffer-exhausted-total bufferpool-wait-ratio bufferpool-wait-time-ns-total"
        " metadata-wait-time-ns-total"
    ),
    "it would cost time for each record": "record-size-avg record-size-max",
    "the metadata belongs to the readers, too": "metadata-age",
    "a transaction begins with its first record, and its offsets go with the commit": (
        "txn-begin-time-ns-total txn-send-offsets-time-ns-total"
    ),
    "there are no two-phase commits": "txn-prepare-time-ns-total",
    "where a log begins is not kept": "records-lead-min",
}
"""Names without topic or partition that Java has, and the reason why they do not exist here."""


def measured() -> list[RecordsMetric]:
    """The metrics of a producer that has sent one batch, and of a reader that has read nothing."""
    sensors = ProducerSensors(lambda: 0)
    batch = ProducerBatch(TopicPartition("sink", 0), 1_000, BatchSettings())
    batch.add(0, 5, b"k", b"v", [])
    batch.count = 1
    batch.encode(1, 0, 0)
    sensors.requested([batch], 0)
    return [
        *producer_metrics("me-producer", ProducerSources(sensors, 100, 40, 0)),
        *reader_metrics("me-consumer", ReaderSources(ReaderSensors(lambda: 0), 0)),
    ]


def source() -> TelemetrySource:
    return streams_application_source(RECORDS_METRIC_GROUPS, measured, application_id="app", client_id="me")


def test_every_name_of_javas_clients_is_here_or_has_a_reason_to_be_absent() -> None:
    here = [(each.group, each.name, frozenset(each.tags)) for each in measured()]
    absent = [name for names in ABSENT.values() for name in names.split()]
    of_clients = {(group, name) for group, name, tags in JAVA if tags == {"client-id"}}
    assert len(set(here)) == len(here)
    assert set(here) - JAVA == set()
    assert len(set(absent)) == len(absent)
    assert {name for group, name in of_clients - {(group, name) for group, name, _ in here}} == set(absent)
    of_topics = {name for group, name, _ in JAVA if group == "producer-topic-metrics"}
    assert of_topics == {each.name for each in RECORDS_METRIC_GROUPS["producer-topic-metrics"]}


def test_all_are_in_the_list_and_clients_have_their_ids() -> None:
    found = measured()
    listed = {(group, each.name) for group, metrics in RECORDS_METRIC_GROUPS.items() for each in metrics}
    assert {(each.group, each.name) for each in found} == listed
    assert {(each.group, *each.tags.values()) for each in found} == {
        ("producer-metrics", "me-producer"),
        ("producer-topic-metrics", "me-producer", "sink"),
        ("consumer-fetch-manager-metrics", "me-consumer"),
    }
    values = {each.name: each.value for each in found if each.group == "producer-metrics"}
    assert (values["buffer-total-bytes"], values["buffer-available-bytes"]) == (100, 40)


@pytest.mark.parametrize("family", streams_families(RECORDS_METRIC_GROUPS).values(), ids=lambda family: family.name)
def test_names_and_texts_are_fit_for_prometheus(family: object) -> None:
    name, doc, unit = (getattr(family, part) for part in ("name", "doc", "unit"))
    assert re.fullmatch(r"kafka_streams_(producer|consumer_fetch_manager)(_[a-z]+)+", name)
    assert not name.endswith(("_bucket", "_sum", "_count", "_created", "_info"))
    assert doc.endswith(".")
    assert unit


def test_prometheus_has_them_with_the_ids_of_the_clients() -> None:
    class Application:
        telemetry = source()

    registry = CollectorRegistry()
    prometheus.export(Application(), registry=registry)
    families = text_string_to_metric_families(prometheus.exposition(registry).decode())
    samples = {each.name: each for family in families for each in family.samples}
    assert samples.keys() == {family.name for family in source().families}
    sent = samples["kafka_streams_producer_topic_record_send_total"]
    assert (sent.value, sent.labels) == (
        1,
        {"application_id": "app", "client_id": "me", "worker_client_id": "me-producer", "topic": "sink"},
    )
    assert samples["kafka_streams_consumer_fetch_manager_fetch_total"].labels["worker_client_id"] == "me-consumer"


def test_opentelemetry_has_them_with_their_units() -> None:
    class Application:
        telemetry = source()

    reader = InMemoryMetricReader()
    opentelemetry.export(Application(), meter_provider=MeterProvider([reader]))
    data = reader.get_metrics_data()
    assert data is not None
    found = {
        each.name: each for all_of in data.resource_metrics for one in all_of.scope_metrics for each in one.metrics
    }
    sent = found["kafka_streams_producer_topic_byte"]
    assert sent.unit == "By"
    assert [(point.value, dict(point.attributes or {})["topic"]) for point in sent.data.data_points] == [(70, "sink")]  # type: ignore[union-attr]
    assert found["kafka_streams_producer_flush_time_ns"].unit == "ns"
    # An average of nothing has no value.
    assert "kafka_streams_producer_request_latency_avg" not in found or not [
        *found["kafka_streams_producer_request_latency_avg"].data.data_points
    ]
