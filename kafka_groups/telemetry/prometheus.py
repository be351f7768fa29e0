"""Metrics of clients, clusters and workers in Prometheus' format, by prometheus-client.

A scrape reads the metrics when it comes, from any thread. Between scrapes nothing is copied or counted.
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from threading import Lock
from weakref import WeakKeyDictionary

from kafka_groups.telemetry.exported_sources import ExportedSources, ExportHandle
from kafka_groups.telemetry.extras import tell_missing
from kafka_groups.telemetry.families import Family, MetricKind
from kafka_groups.telemetry.histograms import HistogramValue
from kafka_groups.telemetry.sources import Measured, MetricSample

try:
    from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
    from prometheus_client.metrics_core import Metric as PrometheusMetric
    from prometheus_client.registry import Collector
except ModuleNotFoundError as error:
    tell_missing(error, "prometheus_client", "prometheus-client", "prometheus")
    raise

__all__ = ["CONTENT_TYPE", "PrometheusExport", "export", "exposition", "scrape"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The `Content-Type` of the text that `exposition` returns."""

_INFINITY = float("inf")


class PrometheusExport(ExportHandle):
    """Clients whose metrics a registry has. Close it, or use it in a `with` block, before you close the clients."""


def export(client: Measured, *others: Measured, registry: CollectorRegistry | None = None) -> PrometheusExport:
    """Add the metrics of clients to a registry.

    Each scrape reads them from its own thread. Clients with the same group and `client.id` get the label values
    `client_id="shop"`, `"shop-2"` and so on, in the order in which they are exported.

    Args:
        client: A share consumer, a member of a streams group, a streams application, Spark's `ShareWorkers`, a worker
            or an embedded cluster.
        *others: More of them.
        registry: The registry; None for prometheus-client's own, which its `start_http_server` serves.

    Returns:
        A handle that removes them again.

    Raises:
        ConfigurationError: One of them has no metrics, is exported already, or has the labels of another.
    """
    exported = _exported_by(REGISTRY if registry is None else registry)
    return PrometheusExport(exported, exported.add((client, *others)))


def exposition(registry: CollectorRegistry | None = None) -> bytes:
    """Return all metrics of a registry as the body of a response to a scrape; see `CONTENT_TYPE`.

    Args:
        registry: The registry; None for prometheus-client's own.
    """
    return generate_latest(REGISTRY if registry is None else registry)


def scrape(client: Measured, *others: Measured) -> bytes:
    """Return the metrics of some clients, and nothing else, as the body of a response to a scrape; see `CONTENT_TYPE`.

    Args:
        client: As for `export`.
        *others: More of them.

    Raises:
        ConfigurationError: One of them has no metrics.
    """
    registry = CollectorRegistry()
    with export(client, *others, registry=registry):
        return exposition(registry)


# ----------------------------------------------------------------------------------------------- collecting

_LOCK = Lock()
_EXPORTED: "WeakKeyDictionary[CollectorRegistry, ExportedSources]" = WeakKeyDictionary()
"""The clients of each registry. A registry has one collector for all of them, as a family may come only once."""


def _exported_by(registry: CollectorRegistry) -> ExportedSources:
    with _LOCK:
        exported = _EXPORTED.get(registry)
        if exported is None:
            exported = _EXPORTED[registry] = ExportedSources()
            registry.register(_ClientsCollector(exported))
        return exported


class _ClientsCollector(Collector):
    def __init__(self, exported: ExportedSources) -> None:
        self._exported = exported

    def describe(self) -> Iterable[PrometheusMetric]:
        """Return no names: clients come and go."""
        return ()

    def collect(self) -> Iterable[PrometheusMetric]:
        """Read all clients."""
        found: dict[str, PrometheusMetric] = {}
        for source in self._exported.sources:
            for family in source.families:
                if family.name not in found:
                    found[family.name] = _metric(family)
            values = tuple(value for _, value in source.labels)
            for sample in source.read():
                _add(found[sample.family.name], values, sample)
        return found.values()


def _metric(family: Family) -> PrometheusMetric:
    # The library adds these again, as it does to the names of metrics of its own.
    suffix = {MetricKind.COUNTER: "_total", MetricKind.INFO: "_info"}.get(family.kind, "")
    name = family.name.removesuffix(suffix)
    return PrometheusMetric(name, f"{family.doc} Unit: {family.unit}.", family.kind.value)


def _add(metric: PrometheusMetric, values: tuple[str, ...], sample: MetricSample) -> None:
    family = sample.family
    labels = dict(zip(family.labels, (*values, *sample.labels), strict=True))
    if isinstance(sample.value, HistogramValue):
        for suffix, extra, value in _of_histogram(family.bounds, sample.value):
            metric.add_sample(family.name + suffix, labels | extra, value)
    else:
        metric.add_sample(family.name, labels, sample.value)


def _of_histogram(bounds: tuple[float, ...], value: HistogramValue) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield the suffix, the additional label and the value of each sample. Buckets include all lower ones."""
    counts = tuple(accumulate(value.counts))
    for bound, count in zip((*bounds, _INFINITY), counts, strict=True):
        yield "_bucket", {"le": _bound(bound)}, count
    yield "_count", {}, counts[-1]
    yield "_sum", {}, value.total


def _bound(bound: float) -> str:
    return "+Inf" if bound == _INFINITY else str(bound)
