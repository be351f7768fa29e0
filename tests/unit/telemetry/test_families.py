"""The table of exported metrics: names that Prometheus accepts, and Kafka's names in them."""

import re
from collections import Counter

import attrs
import pytest

from kafka_groups.broker.metrics import METRICS
from kafka_groups.share.metrics import SHARE_METRICS
from kafka_groups.spark.result import WorkerMetrics
from kafka_groups.streams.workers.application_metrics import METRIC_GROUPS
from kafka_groups.telemetry.families import (
    HANDLER_FAMILIES,
    SPARK_FAMILIES,
    Family,
    MetricKind,
    broker_families,
    share_consumer_families,
    streams_families,
)
from tests.unit.telemetry.tables import FAMILIES, all_families

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_DURATIONS = ("_bucket", "_sum", "_created")


def test_each_name_stands_once() -> None:
    assert [name for name, count in Counter(family.name for family in all_families()).items() if count > 1] == []


@pytest.mark.parametrize("family", all_families(), ids=lambda family: family.name)
def test_a_family_follows_the_rules_of_prometheus(family: Family) -> None:
    assert _NAME.fullmatch(family.name)
    assert all(_NAME.fullmatch(label) for label in family.labels)
    assert family.name.endswith("_total") == (family.kind is MetricKind.COUNTER)
    assert family.name.endswith("_info") == (family.kind is MetricKind.INFO)
    assert not family.name.endswith(_DURATIONS)
    assert family.unit
    assert family.doc.endswith(".")
    assert "](" not in family.doc
    assert bool(family.bounds) == (family.kind is MetricKind.HISTOGRAM)
    assert list(family.bounds) == sorted(set(family.bounds))


def test_a_consumers_names_are_kafkas() -> None:
    families = share_consumer_families(SHARE_METRICS)
    assert families.keys() == {metric.name for metric in SHARE_METRICS}
    assert {name: family.name for name, family in families.items() if name.startswith("records-consumed")} == {
        "records-consumed-rate": "kafka_share_consumer_records_consumed_rate",
        "records-consumed-total": "kafka_share_consumer_records_consumed_total",
    }


def test_every_number_of_an_application_is_exported() -> None:
    families = streams_families(METRIC_GROUPS)
    numbers = {
        (group, each.name) for group, metrics in METRIC_GROUPS.items() for each in metrics if each.unit != "text"
    }
    assert families.keys() == numbers
    remaining = families["stream-task-metrics", "restore-remaining-records-total"]
    assert (remaining.name, remaining.kind) == ("kafka_streams_task_restore_remaining_records", MetricKind.GAUGE)


def test_a_brokers_properties_are_labels() -> None:
    places = broker_families(METRICS)
    assert places.keys() == {metric.name for metric in METRICS}
    stable = places["kafka.server:type=group-coordinator-metrics,state=Stable:share-group-count"]
    assert stable.family.name == "kafka_server_group_coordinator_metrics_share_group_count"
    assert (stable.family.labels, stable.values) == (("node_id", "state"), ("Stable",))
    accepted = places["kafka.server:type=ShareGroupMetrics,name=RecordAcknowledgementsPerSec,ackType=Accept:Count"]
    assert accepted.family.kind is MetricKind.COUNTER
    assert (accepted.family.labels, accepted.values) == (("node_id", "ack_type"), ("Accept",))


def test_brokers_metrics_that_share_a_name_have_one_meaning_and_different_labels() -> None:
    places = list(broker_families(METRICS).values())
    assert len(set(places)) == len(places)
    assert len({place.family for place in places}) == len({place.family.name for place in places})


def test_counters_of_brokers_are_those_that_grow() -> None:
    counters = {place.family.name for place in broker_families(METRICS).values()} & {
        name for name, family in FAMILIES.items() if family.kind is MetricKind.COUNTER
    }
    growing = {"offset_commit", "offset_deletion", "rebalance", "success", "write", "per_sec", "queue_record_count"}
    assert len(counters) == 13
    assert all(any(word in name for word in growing) for name in counters)


def test_a_name_that_is_no_mbean_is_refused() -> None:
    with pytest.raises(ValueError, match="Not the name of an MBean with an attribute: 'group-count'"):
        broker_families([attrs.evolve(METRICS[0], name="group-count")])


def test_sparks_figures_are_attributes_of_the_result() -> None:
    assert SPARK_FAMILIES.keys() <= {field.name for field in attrs.fields(WorkerMetrics)}
    assert all(
        family.name.removesuffix("_total").endswith(f"workers_{name}") for name, family in SPARK_FAMILIES.items()
    )


def test_a_worker_has_the_metrics_of_its_design() -> None:
    assert {
        family.name.removeprefix("kafka_groups_worker_"): family.labels[3:] for family in HANDLER_FAMILIES.values()
    } == {
        "records_total": ("outcome",),
        "attempts_total": ("result", "error_type"),
        "handler_seconds": (),
        "waiting_seconds": (),
        "records_in_hand": ("state",),
        "unconfirmed_outputs": (),
        "oldest_record_seconds": (),
        "window_used_ratio": ("topic", "partition"),
        "breaker_open": (),
        "locks_lost_total": (),
        "dead_letters_total": ("reason",),
        "rate_limited_seconds_total": (),
        "process_restarts_total": (),
    }
