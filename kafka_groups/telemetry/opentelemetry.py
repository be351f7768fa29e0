"""Metrics of clients, clusters and workers as OpenTelemetry's observable instruments, under the names of Prometheus.

Each collection of a metric reader reads every client once.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock
from weakref import WeakKeyDictionary

from kafka_groups.telemetry import conventions
from kafka_groups.telemetry.exported_sources import ExportedSources, ExportHandle
from kafka_groups.telemetry.extras import tell_missing
from kafka_groups.telemetry.families import Family, MetricKind
from kafka_groups.telemetry.histograms import HistogramValue
from kafka_groups.telemetry.meters import SCOPE
from kafka_groups.telemetry.sources import Measured, MetricSample, TelemetrySource
from kafka_groups.version import __version__

try:
    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation, get_meter_provider
except ModuleNotFoundError as error:
    tell_missing(error, "opentelemetry", "opentelemetry-api", "opentelemetry")
    raise

__all__ = ["OpenTelemetryExport", "export"]

_UNITS = {
    "s": "s", "ms": "ms", "ns": "ns", "ms since 1970": "ms", "bytes": "By", "bytes/s": "By/s",
    "1/s": "1/s", "1/h": "1/h",
}  # fmt: skip
"""The units that UCUM has. All others become annotations, such as `{records}/s`."""
_NO_UNIT = frozenset({"number", "0 to 1", "0 or 1", "0: INFO, 1: DEBUG", "info"})

_CONSUMED = "kafka_share_consumer_records_consumed_total"
"""The metric that is also `messaging.client.consumed.messages`."""


class OpenTelemetryExport(ExportHandle):
    """Clients whose metrics a meter provider has.

    Close it, or use it in a `with` block, before you close the clients.
    """


def export(client: Measured, *others: Measured, meter_provider: MeterProvider | None = None) -> OpenTelemetryExport:
    """Add the metrics of clients to a meter provider.

    The instruments have the names of Prometheus without `_total`, and the labels as attributes. A histogram becomes two
    counters, of its values and of their sum. The consumed records of share consumers are also
    `messaging.client.consumed.messages`; so use either this or `tracing` for the consumers of a worker.

    Args:
        client: A share consumer, a member of a streams group, a streams application, Spark's `ShareWorkers`, a worker
            or an embedded cluster.
        *others: More of them.
        meter_provider: Makes the instruments; None for OpenTelemetry's global one.

    Returns:
        A handle that removes them again.

    Raises:
        ConfigurationError: One of them has no metrics, is exported already, or has the labels of another.
    """
    instruments = _instruments_of(meter_provider or get_meter_provider())
    return OpenTelemetryExport(instruments.exported, instruments.add((client, *others)))


# ----------------------------------------------------------------------------------------------- observing

_LOCK = Lock()
_INSTRUMENTS: "WeakKeyDictionary[MeterProvider, _Instruments]" = WeakKeyDictionary()
"""The instruments of each provider, which can neither be made twice nor removed."""


def _instruments_of(provider: MeterProvider) -> "_Instruments":
    with _LOCK:
        found = _INSTRUMENTS.get(provider)
        if found is None:
            found = _INSTRUMENTS[provider] = _Instruments(provider.get_meter(SCOPE, __version__))
        return found


class _Instruments:
    """The instruments of one provider.

    A collection asks each instrument in turn. The first one reads all clients; the others find their values there.
    """

    def __init__(self, meter: Meter) -> None:
        self.exported = ExportedSources()
        self._meter = meter
        self._lock = Lock()
        self._made: set[str] = set()
        self._unread: dict[str, list[Observation]] = {}

    def add(self, clients: tuple[object, ...]) -> tuple[TelemetrySource, ...]:
        sources = self.exported.add(clients)
        for source in sources:
            for family in source.families:
                self._make(family)
        return sources

    def _make(self, family: Family) -> None:
        unit = _ucum(family.unit)
        if family.kind is MetricKind.HISTOGRAM:
            self._counter(f"{family.name}_count", "1", family.doc)
            self._counter(f"{family.name}_sum", unit, family.doc)
        elif family.kind is MetricKind.COUNTER:
            self._counter(family.name.removesuffix("_total"), unit, family.doc)
        elif self._is_new(family.name):
            self._meter.create_observable_gauge(family.name, [self._observing(family.name)], unit, family.doc)
        if family.name == _CONSUMED:
            name = conventions.CLIENT_CONSUMED_MESSAGES
            self._counter(name, "{message}", "Number of messages that were delivered to the application.")

    def _counter(self, name: str, unit: str, doc: str) -> None:
        if self._is_new(name):
            self._meter.create_observable_counter(name, [self._observing(name)], unit, doc)

    def _is_new(self, name: str) -> bool:
        with self._lock:
            is_new = name not in self._made
            self._made.add(name)
            return is_new

    def _observing(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _: self._observe(name)

    def _observe(self, name: str) -> list[Observation]:
        """Return the values of an instrument. One that was asked before begins another collection."""
        with self._lock:
            if name not in self._unread:
                self._unread = {each: [] for each in self._made}
                for each, observation in self._read():
                    self._unread.setdefault(each, []).append(observation)
            return self._unread.pop(name)

    def _read(self) -> Iterator[tuple[str, Observation]]:
        for source in self.exported.sources:
            values = tuple(value for _, value in source.labels)
            for sample in source.read():
                yield from _observations(values, sample)


def _observations(values: tuple[str, ...], sample: MetricSample) -> Iterator[tuple[str, Observation]]:
    """Yield the names of instruments and what they show of a sample, which is nothing for NaN."""
    family, value = sample.family, sample.value
    attributes = dict(zip(family.labels, (*values, *sample.labels), strict=True))
    if isinstance(value, HistogramValue):
        yield f"{family.name}_count", Observation(sum(value.counts), attributes)
        yield f"{family.name}_sum", Observation(value.total, attributes)
        return
    if math.isnan(value):
        return
    is_counter = family.kind is MetricKind.COUNTER
    yield family.name.removesuffix("_total") if is_counter else family.name, Observation(value, attributes)
    if family.name == _CONSUMED:
        yield conventions.CLIENT_CONSUMED_MESSAGES, Observation(value, _consumer_attributes(attributes))


def _consumer_attributes(labels: Mapping[str, str]) -> dict[str, str]:
    return {
        conventions.SYSTEM: conventions.KAFKA,
        conventions.OPERATION_NAME: "poll",
        conventions.CONSUMER_GROUP_NAME: labels["group"],
        conventions.CLIENT_ID: labels["client_id"],
    }


def _ucum(unit: str) -> str:
    if unit in _NO_UNIT:
        return "1"
    what, per, time = unit.partition("/")
    return _UNITS.get(unit, f"{{{what}}}{per}{time}")
