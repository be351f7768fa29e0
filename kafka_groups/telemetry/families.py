"""The table of exported metrics: Prometheus name, kind, labels, unit and meaning of each.

A client's metrics keep Kafka's names: `-` becomes `_`, behind a prefix that says what kind of client it is. Their units
and meanings are those that the client itself lists for its reference. The metrics of handler workers and of Spark's
workers have no other table and are defined here.
"""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Protocol

from attrs import evolve, frozen

__all__ = [
    "HANDLER_FAMILIES",
    "SPARK_FAMILIES",
    "BrokerPlace",
    "Family",
    "MetricKind",
    "MetricText",
    "broker_families",
    "share_consumer_families",
    "streams_families",
    "streams_member_families",
]


class MetricKind(Enum):
    """The kind of a metric in Prometheus."""

    COUNTER = "counter"
    """It only grows, and begins at 0 with the client."""
    GAUGE = "gauge"
    """It goes up and down."""
    HISTOGRAM = "histogram"
    """It counts values by size."""
    INFO = "info"
    """It is always 1. Its last label has what it tells."""


@frozen
class Family:
    """A metric with all of its labels.

    Attributes:
        name: Its name as it is scraped. The samples of a histogram add `_bucket`, `_sum` and `_count`.
        kind: Counter, gauge, histogram or info.
        labels: The names of its labels. Those that identify the client come first.
        unit: What it counts or measures.
        doc: What it means, as one or more sentences.
        bounds: The upper bounds of a histogram's buckets, without infinity.
    """

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    unit: str
    doc: str
    bounds: tuple[float, ...] = ()

    @property
    def is_info(self) -> bool:
        """True if its last label has the value."""
        return self.kind is MetricKind.INFO


class MetricText(Protocol):
    """A metric as a client lists it for its reference."""

    @property
    def name(self) -> str:
        """Kafka's name, with hyphens."""

    @property
    def unit(self) -> str:
        """The unit of its values."""

    @property
    def doc(self) -> str:
        """Its meaning."""


# ------------------------------------------------------------------------------------------------- clients

_CLIENT = ("group", "client_id")
_APPLICATION = ("application_id", "client_id")

_GAUGES_CALLED_TOTAL = frozenset({"restore-remaining-records-total"})
"""The value shrinks, although Kafka's name ends like that of a counter. Prometheus' name does not."""

_INFO = "info"
"""The unit of metrics whose value is a text that is exported as a label."""
_TEXT = "text"
"""The unit of metrics whose value is a text that is not exported."""


def share_consumer_families(metrics: Iterable[MetricText]) -> Mapping[str, Family]:
    """Return the families of a share consumer's metrics by their names in `metrics()`."""
    return {metric.name: _client_family("kafka_share_consumer_", metric, _CLIENT) for metric in metrics}


def streams_member_families(metrics: Iterable[MetricText]) -> Mapping[str, Family]:
    """Return the families of a streams member's metrics by their names in `metrics()`."""
    return {metric.name: _client_family("kafka_streams_member_", metric, _CLIENT) for metric in metrics}


_GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType({
    "stream-metrics": ("", ()),
    "stream-thread-metrics": ("thread_", ("thread_id",)),
    "stream-state-updater-metrics": ("state_updater_", ("thread_id",)),
    "stream-task-metrics": ("task_", ("thread_id", "task_id")),
    "stream-processor-node-metrics": ("processor_node_", ("thread_id", "task_id", "processor_node_id")),
    "stream-topic-metrics": ("topic_", ("thread_id", "task_id", "processor_node_id", "topic")),
    "stream-state-metrics": ("state_", ("thread_id", "task_id", "store")),
    "producer-metrics": ("producer_", ("worker_client_id",)),
    "producer-topic-metrics": ("producer_topic_", ("worker_client_id", "topic")),
    "consumer-coordinator-metrics": ("consumer_coordinator_", ("worker_client_id",)),
    "consumer-fetch-manager-metrics": ("consumer_fetch_manager_", ("worker_client_id",)),
})  # fmt: skip
"""For each group of Kafka Streams and its clients: what names begin with after `kafka_streams_`, and their labels."""


def streams_families(groups: Mapping[str, Iterable[MetricText]]) -> Mapping[tuple[str, str], Family]:
    """Return the families of a streams application's metrics by group and name.

    Metrics whose value is a text are left out.
    """
    return {
        (group, metric.name): _client_family(f"kafka_streams_{_GROUPS[group][0]}", metric, _streams_labels(group))
        for group, metrics in groups.items()
        for metric in metrics
        if metric.unit != _TEXT
    }


def _streams_labels(group: str) -> tuple[str, ...]:
    return (*_APPLICATION, *_GROUPS[group][1])


def _client_family(prefix: str, metric: MetricText, labels: tuple[str, ...]) -> Family:
    if metric.unit == _INFO:
        label = metric.name.replace("-", "_")
        return Family(f"{prefix}{label}_info", MetricKind.INFO, (*labels, label), _INFO, _plain(metric.doc))
    is_counter = metric.name.endswith("-total") and metric.name not in _GAUGES_CALLED_TOTAL
    kind = MetricKind.COUNTER if is_counter else MetricKind.GAUGE
    name = metric.name if is_counter else metric.name.removesuffix("-total")
    return Family(prefix + name.replace("-", "_"), kind, labels, metric.unit, _plain(metric.doc))


def _plain(markdown: str) -> str:
    """Return the text of a meaning without links, which a scrape cannot follow."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", markdown)


# ---------------------------------------------------------------------------------------- embedded brokers

_NAME = re.compile(r"(?P<domain>[\w.]+):type=(?P<type>[\w-]+)(?P<properties>(?:,\w+=\w+)*):(?P<attribute>[\w-]+)")
_COUNTERS = re.compile(r"Count|write-total|.*-(?:commit|deletion|rebalance|success)-count")
_SHARED_DOCS: Mapping[str, str] = MappingProxyType({
    "kafka_server_group_coordinator_metrics_group_count": "Groups of a type, in any state.",
    "kafka_server_group_coordinator_metrics_classic_group_count": "Groups of the type classic in a state.",
    "kafka_server_group_coordinator_metrics_consumer_group_count": "Groups of the type consumer in a state.",
    "kafka_server_group_coordinator_metrics_share_group_count": "Groups of the type share in a state.",
    "kafka_server_group_coordinator_metrics_streams_group_count": "Groups of the type streams in a state.",
    "kafka_server_group_coordinator_metrics_num_partitions":
        "Partitions of `__consumer_offsets` that the group coordinator leads, by whether they are loaded.",
    "kafka_server_share_coordinator_metrics_num_partitions":
        "Partitions of `__share_group_state` that the share coordinator leads, by whether they are loaded.",
    "kafka_server_share_group_metrics_record_acknowledgements_per_sec_total":
        "Records that were acknowledged, by the type of acknowledgement.",
})  # fmt: skip
"""The meanings of metrics that several of Kafka's become, with a label for each of them."""


@frozen
class BrokerPlace:
    """The family of a broker's metric and the values of its labels after the broker's id."""

    family: Family
    values: tuple[str, ...]


def broker_families(metrics: Iterable[MetricText]) -> Mapping[str, BrokerPlace]:
    """Return where each metric of an embedded broker is, by its name in `cluster.metrics()`.

    Domain, type, name and attribute of the MBean make up the name, as in the JMX exporter. Its other properties are
    labels.
    """
    places = {metric.name: _broker_place(metric) for metric in metrics}
    return {name: evolve(place, family=_described(place.family)) for name, place in places.items()}


def _described(family: Family) -> Family:
    return evolve(family, doc=_SHARED_DOCS.get(family.name, family.doc))


def _broker_place(metric: MetricText) -> BrokerPlace:
    found = _NAME.fullmatch(metric.name)
    if found is None:
        raise ValueError(f"Not the name of an MBean with an attribute: {metric.name!r}")
    properties = dict(each.split("=") for each in found["properties"].split(",") if each)
    is_counter = _COUNTERS.fullmatch(found["attribute"]) is not None
    words = [found["domain"], found["type"], properties.pop("name", ""), _attribute(found["attribute"])]
    name = "_".join(_snake(word) for word in words if word) + ("_total" if is_counter else "")
    kind = MetricKind.COUNTER if is_counter else MetricKind.GAUGE
    labels = ("node_id", *map(_snake, properties))
    return BrokerPlace(Family(name, kind, labels, metric.unit, metric.doc), tuple(properties.values()))


def _attribute(attribute: str) -> str:
    """Return what an attribute adds to the name: nothing if it is the only one of its MBean."""
    if attribute in ("Count", "Value"):
        return ""
    return attribute.removesuffix("-total") if _COUNTERS.fullmatch(attribute) else attribute


def _snake(word: str) -> str:
    """Return Kafka's `ShareSessionCache`, `group-count` or `kafka.server` in snake case."""
    return re.sub(r"[.-]", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word)).lower()


# ----------------------------------------------------------------------------------------- handler workers

_HANDLER = ("group", "handler", "process")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


def _worker(
    name: str, kind: MetricKind, labels: tuple[str, ...], unit: str, doc: str, bounds: tuple[float, ...] = ()
) -> Family:
    return Family(f"kafka_groups_worker_{name}", kind, labels, unit, doc, bounds)


HANDLER_FAMILIES: Mapping[str, Family] = MappingProxyType({
    "records": _worker(
        "records_total", MetricKind.COUNTER, (*_HANDLER, "outcome"), "records",
        "Records that the brokers confirmed, by outcome: accepted, rejected, released, or moved to a retry topic.",
    ),
    "attempts": _worker(
        "attempts_total", MetricKind.COUNTER, (*_HANDLER, "result", "error_type"), "attempts",
        "Calls of the handler that ended, by result (succeeded or failed) and by the class of the error, which is empty"
        " after a success. A batch is one call, which succeeds when the handler returns. Each value that cannot be"
        " parsed is a failed call.",
    ),
    "handler_seconds": _worker(
        "handler_seconds", MetricKind.HISTOGRAM, _HANDLER, "s", "How long calls of the handler took.", _SECONDS
    ),
    "waiting_seconds": _worker(
        "waiting_seconds", MetricKind.HISTOGRAM, _HANDLER, "s",
        "How long records waited for the first call of each delivery, from their timestamp on. Counted when that call"
        " has ended.", _SECONDS,
    ),
    "records_in_hand": _worker(
        "records_in_hand", MetricKind.GAUGE, (*_HANDLER, "state"), "records",
        "Records that the worker has acquired and not settled, by state: `held` may run, `running`, `waiting` for a"
        " retry, `delayed` in a retry topic or by delay=, and `writing` while a dead letter, a retry or an output for"
        " them is not confirmed.",
    ),
    "unconfirmed_outputs": _worker(
        "unconfirmed_outputs", MetricKind.GAUGE, _HANDLER, "records",
        "Outputs of the handler that the brokers have not confirmed. From 1,000 on, no run starts.",
    ),
    "oldest_record_seconds": _worker(
        "oldest_record_seconds", MetricKind.GAUGE, _HANDLER, "s",
        "For how long the worker has had the oldest record in hand; 0 if there is no record.",
    ),
    "window_used": _worker(
        "window_used_ratio", MetricKind.GAUGE, (*_HANDLER, "topic", "partition"), "0 to 1",
        "Part of share.partition.max.record.locks that lies between the oldest unfinished record of a partition and the"
        " newest acquired one. At 1 the partition stops.",
    ),
    "breaker_open": _worker(
        "breaker_open", MetricKind.GAUGE, _HANDLER, "0 or 1",
        "1 while the worker treats failures as an outage and tries one record at a time.",
    ),
    "locks_lost": _worker(
        "locks_lost_total", MetricKind.COUNTER, _HANDLER, "records",
        "Records whose lock was lost while the worker had them. Kafka delivers them again.",
    ),
    "dead_letters": _worker(
        "dead_letters_total", MetricKind.COUNTER, (*_HANDLER, "reason"), "records",
        "Copies that were written to the dead-letter topic and confirmed, by reason.",
    ),
    "rate_limited": _worker(
        "rate_limited_seconds_total", MetricKind.COUNTER, _HANDLER, "s",
        "For how long records could have started but for the rate limit of the handler. Each process of a started"
        " worker has a limit of its own.",
    ),
    "process_restarts": _worker(
        "process_restarts_total", MetricKind.COUNTER, ("group", "process"), "restarts",
        "How often the worker has replaced this process because it died.",
    ),
})  # fmt: skip
"""The metrics of handler workers, by what `HandlerSensors` calls them."""


# ----------------------------------------------------------------------------------------- Spark's workers


def _spark(name: str, unit: str, doc: str, kind: MetricKind = MetricKind.COUNTER) -> Family:
    suffix = "_total" if kind is MetricKind.COUNTER else ""
    return Family(f"kafka_spark_workers_{name}{suffix}", kind, ("group",), unit, doc)


SPARK_FAMILIES: Mapping[str, Family] = MappingProxyType({
    "polls": _spark("polls", "polls", "Polls, including empty ones."),
    "acquired": _spark("acquired", "records", "Records that polls returned."),
    "accepted": _spark("accepted", "records", "Records that the brokers confirmed as accepted."),
    "released": _spark("released", "records", "Records that were released, to be redelivered."),
    "rejected": _spark("rejected", "records", "Records that were rejected, and are not redelivered."),
    "lock_lost": _spark("lock_lost", "records", "Records whose acknowledgement failed; they are redelivered."),
    "dead_lettered": _spark("dead_lettered", "records", "Copies written to the dead-letter topic."),
    "renewed": _spark("renewed", "renewals", "Lock renewals, counted per partition and fetch."),
    "bytes": _spark("bytes", "bytes", "Bytes fetched, as counted on the wire."),
    "poll_ms": _spark("poll_ms", "ms", "Time spent in polls, including waiting."),
    "process_ms": _spark("process_ms", "ms", "Time spent in `process`."),
    "ack_ms": _spark("ack_ms", "ms", "Time spent waiting for brokers to confirm."),
    "max_delivery_count": _spark(
        "max_delivery_count", "deliveries", "The highest delivery count seen.", MetricKind.GAUGE
    ),
})  # fmt: skip
"""The metrics of Spark's workers, sums over all runs, by the attributes of `WorkerMetrics`."""
