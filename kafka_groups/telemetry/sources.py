"""The metrics of one client, cluster or worker as exporters read them.

Everything that can be exported has a property `telemetry`, so that exporters know the clients without importing them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol, runtime_checkable

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.telemetry.families import (
    SPARK_FAMILIES,
    Family,
    MetricText,
    broker_families,
    share_consumer_families,
    streams_families,
    streams_member_families,
)
from kafka_groups.telemetry.histograms import HistogramValue

__all__ = [
    "Measured",
    "MetricSample",
    "TaggedMetric",
    "TelemetrySource",
    "broker_source",
    "share_consumer_source",
    "source_of",
    "spark_source",
    "streams_application_source",
    "streams_member_source",
]

_STORE_TAG_ENDS = "-state-id"
"""Kafka's tags for a store also say what kind of store it is: `in-memory-window-state-id`."""

_WORKER_CLIENT = "worker_client_id"


@frozen
class MetricSample:
    """The value of a metric for one set of labels.

    Attributes:
        family: The metric.
        labels: The values of the labels that follow those of the source.
        value: Its value. NaN if there is none, as with the maximum of nothing.
    """

    family: Family
    labels: tuple[str, ...]
    value: float | HistogramValue


@frozen
class TelemetrySource:
    """The metrics of one client, and how to read them.

    Attributes:
        labels: The labels that identify it, with their values; the first labels of each of its families.
        families: Its metrics.
        read: Reads all of them. Any thread may call it, and it does not wait for brokers.
    """

    labels: tuple[tuple[str, str], ...]
    families: tuple[Family, ...]
    read: Callable[[], Iterable[MetricSample]]


@runtime_checkable
class Measured(Protocol):
    """A client, cluster or worker whose metrics can be exported."""

    @property
    def telemetry(self) -> TelemetrySource:
        """Its metrics, for exporters."""


class TaggedMetric(Protocol):
    """A metric of a streams application at one moment, with Kafka's group, name and tags."""

    @property
    def group(self) -> str:
        """Kafka's group."""

    @property
    def name(self) -> str:
        """Kafka's name."""

    @property
    def tags(self) -> Mapping[str, str]:
        """Kafka's tags."""

    @property
    def value(self) -> float | str:
        """The value."""


def source_of(measured: object) -> TelemetrySource:
    """Return the metrics of a client.

    Raises:
        ConfigurationError: It has no metrics.
    """
    if not isinstance(measured, Measured):
        raise ConfigurationError(
            f"Cannot export {measured!r}: it has no metrics. Pass a KafkaShareConsumer, a StreamsGroupMember, a"
            " KafkaStreams application, ShareWorkers of Spark, a worker or an EmbeddedCluster."
        )
    return measured.telemetry


def share_consumer_source(
    metrics: tuple[MetricText, ...], read: Callable[[], Mapping[str, float]], *, group: str, client_id: str
) -> TelemetrySource:
    """Return the metrics of a share consumer.

    Args:
        metrics: All of its metrics.
        read: Its `metrics`.
        group: Its group.
        client_id: Its `client.id`.
    """
    families = _share_consumer_families(metrics)
    return TelemetrySource(
        (("group", group), ("client_id", client_id)), tuple(families.values()), _by_name(families, read)
    )


def streams_member_source(
    metrics: tuple[MetricText, ...], read: Callable[[], Mapping[str, float]], *, group: str, client_id: str
) -> TelemetrySource:
    """Return the metrics of a member of a streams group; see `share_consumer_source`."""
    families = _streams_member_families(metrics)
    return TelemetrySource(
        (("group", group), ("client_id", client_id)), tuple(families.values()), _by_name(families, read)
    )


def spark_source(read: Callable[[], Mapping[str, float]], *, group: str) -> TelemetrySource:
    """Return the metrics of Spark's workers.

    Args:
        read: Returns the sums over all runs, by the attributes of `WorkerMetrics`.
        group: The share group.
    """
    return TelemetrySource((("group", group),), tuple(SPARK_FAMILIES.values()), _by_name(SPARK_FAMILIES, read))


def streams_application_source(
    groups: Mapping[str, tuple[MetricText, ...]],
    read: Callable[[], Iterable[TaggedMetric]],
    *,
    application_id: str,
    client_id: str,
) -> TelemetrySource:
    """Return the metrics of a streams application.

    Args:
        groups: All of its metrics by Kafka's groups.
        read: Its `metrics`.
        application_id: Its `application.id`.
        client_id: Its `client.id`.
    """
    families = streams_families(groups)

    def samples() -> Iterator[MetricSample]:
        for metric in read():
            family = families.get((metric.group, metric.name))
            if family is not None:
                labels = _labels_of(metric.tags) | ({family.labels[-1]: metric.value} if family.is_info else {})
                values = tuple(str(labels[name]) for name in family.labels[len(identity) :])
                yield MetricSample(family, values, 1.0 if family.is_info else float(metric.value))

    identity = (("application_id", application_id), ("client_id", client_id))
    return TelemetrySource(identity, tuple(families.values()), samples)


def broker_source(
    metrics: tuple[MetricText, ...], read: Callable[[], Mapping[int, Mapping[str, float]]]
) -> TelemetrySource:
    """Return the metrics of embedded brokers.

    Args:
        metrics: All metrics of a broker.
        read: Returns the metrics of each running broker by its id.
    """
    places = broker_families(metrics)

    def samples() -> Iterator[MetricSample]:
        for node_id, values in read().items():
            for name, value in values.items():
                yield MetricSample(places[name].family, (str(node_id), *places[name].values), float(value))

    families = dict.fromkeys(place.family for place in places.values())
    return TelemetrySource((), tuple(families), samples)


_share_consumer_families = lru_cache(share_consumer_families)
_streams_member_families = lru_cache(streams_member_families)


def _by_name(
    families: Mapping[str, Family], read: Callable[[], Mapping[str, float]]
) -> Callable[[], Iterable[MetricSample]]:
    return lambda: [MetricSample(families[name], (), value) for name, value in read().items()]


def _labels_of(tags: Mapping[str, str]) -> dict[str, str]:
    labels = {
        ("store" if tag.endswith(_STORE_TAG_ENDS) else tag.replace("-", "_")): value for tag, value in tags.items()
    }
    # The label `client_id` is that of the application. Each worker has a producer and consumers with ids of their own.
    return {**labels, _WORKER_CLIENT: labels["client_id"]} if "client_id" in labels else labels
