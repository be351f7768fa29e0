"""The metrics of members of a classic group: the names of Java's consumer, and all of them by both exporters."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from kafka_groups.client.membership.metrics import values_of
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import StreamsState
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS, ROUND_METRICS, RoundSources
from kafka_groups.streams.member.rules.streams_sensors import RoundSensors
from kafka_groups.streams.runtime.worker_sensors import WorkerSensors
from kafka_groups.streams.workers.application_metrics import StreamsMetric, WorkerSources, worker_metrics
from kafka_groups.telemetry import opentelemetry, prometheus
from kafka_groups.telemetry.sources import TelemetrySource, streams_application_source

GROUP = "consumer-coordinator-metrics"
OF_JAVA = {
    "assigned-partitions",
    "commit-latency-avg",
    "commit-latency-max",
    "commit-rate",
    "commit-total",
    "failed-rebalance-rate-per-hour",
    "failed-rebalance-total",
    "heartbeat-rate",
    "heartbeat-response-time-max",
    "heartbeat-total",
    "join-rate",
    "join-time-avg",
    "join-time-max",
    "join-total",
    "last-heartbeat-seconds-ago",
    "last-rebalance-seconds-ago",
    "rebalance-latency-avg",
    "rebalance-latency-max",
    "rebalance-latency-total",
    "rebalance-rate-per-hour",
    "rebalance-total",
    "sync-rate",
    "sync-time-avg",
    "sync-time-max",
    "sync-total",
}
"""The names of GroupCoordinatorMetrics and ConsumerCoordinatorMetrics of Kafka 4.4.0."""

OURS = {"is-leader", "leading-time-avg", "leading-time-max", "task-assignor"}
NAMES = [each.name for each in COORDINATOR_METRIC_GROUPS[GROUP]]


def measured(member: dict[str, float]) -> list[StreamsMetric]:
    sources = WorkerSources(
        thread_id="me-StreamThread-1",
        state=StreamsState.RUNNING,
        tasks=(),
        stores={},
        sensors=WorkerSensors(SystemClock()),
        is_paused=False,
        member=member,
        assignor="mine:Own",
        now_ms=0,
    )
    return [each for each in worker_metrics(sources) if each.group == GROUP]


class Application:
    """An application whose only member leads, and has the metrics 1, 2, 3 and so on."""

    @property
    def telemetry(self) -> TelemetrySource:
        return streams_application_source(
            COORDINATOR_METRIC_GROUPS,
            lambda: measured({name: float(number) for number, name in enumerate(NAMES, 1)}),
            application_id="app",
            client_id="me",
        )


def test_the_names_are_those_of_java_and_four_of_ours() -> None:
    assert sorted(NAMES) == sorted(OF_JAVA | OURS)


def test_a_member_of_a_streams_group_has_none_of_them() -> None:
    assert measured({"heartbeat-total": 1.0, "rebalance-total": 1.0}) == []


def test_the_values_are_those_of_the_rounds() -> None:
    rounds = RoundSensors(is_leader=True, partitions=3)
    rounds.joins.add(100, 0)
    rounds.joins.add(300, 0)
    rounds.syncs.add(20, 0)
    rounds.led.add(7, 0)
    values = values_of(ROUND_METRICS, RoundSources(0, rounds))
    assert values == {
        "join-rate": pytest.approx(2 / 30),
        "join-total": 2,
        "join-time-avg": 200,
        "join-time-max": 300,
        "sync-rate": pytest.approx(1 / 30),
        "sync-total": 1,
        "sync-time-avg": 20,
        "sync-time-max": 20,
        "assigned-partitions": 3,
        "is-leader": 1,
        "leading-time-avg": 7,
        "leading-time-max": 7,
    }


def test_prometheus_has_them_with_the_name_of_the_consumer() -> None:
    registry = CollectorRegistry()
    app = Application()
    prometheus.export(app, registry=registry)
    families = text_string_to_metric_families(prometheus.exposition(registry).decode())
    samples = {each.name: each for family in families for each in family.samples}
    assert samples.keys() == {family.name for family in app.telemetry.families}
    joins = samples["kafka_streams_consumer_coordinator_join_total"]
    assert joins.value == NAMES.index("join-total") + 1
    assert joins.labels == {
        "application_id": "app",
        "client_id": "me",
        "worker_client_id": "me-StreamThread-1-consumer",
    }
    assignor = samples["kafka_streams_consumer_coordinator_task_assignor_info"]
    assert assignor.value == 1
    assert assignor.labels == {**joins.labels, "task_assignor": "mine:Own"}


def test_the_assignor_is_a_text_among_the_values() -> None:
    [found] = [each for each in measured(dict.fromkeys(NAMES, 0.0)) if each.name == "task-assignor"]
    assert found.value == "mine:Own"


def collected(reader: InMemoryMetricReader) -> Iterator[str]:
    data = reader.get_metrics_data()
    assert data is not None
    for resource in data.resource_metrics:
        yield from (metric.name for scope in resource.scope_metrics for metric in scope.metrics)


def test_opentelemetry_has_them_all() -> None:
    reader = InMemoryMetricReader()
    app = Application()
    opentelemetry.export(app, meter_provider=MeterProvider([reader]))
    assert len(set(collected(reader))) == len(NAMES)
