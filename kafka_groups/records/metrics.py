"""Every metric of a worker's producer and readers: name, unit, meaning, and how it is read.

Groups, names and tags are those of Kafka's Java clients (`SenderMetricsRegistry`, `KafkaProducerMetrics`,
`RecordAccumulator` and `FetchMetricsRegistry` in Java).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from attrs import frozen

from kafka_groups.client.membership.metrics import Metric, values_of
from kafka_groups.client.windows import EventCount, Windows
from kafka_groups.records.fetching.reader_sensors import ReaderSensors
from kafka_groups.records.producing.producer_sensors import ProducerSensors, TimeSpent, TopicSensors

__all__ = [
    "PRODUCER_METRICS",
    "PRODUCER_TOPIC_METRICS",
    "READER_METRICS",
    "RECORDS_METRIC_GROUPS",
    "ProducerSources",
    "ReaderSources",
    "RecordsMetric",
    "TopicSources",
    "producer_metrics",
    "reader_metrics",
]

S = TypeVar("S")

_NS_OF_MS: Final = 1_000_000


class RecordsMetric(NamedTuple):
    """A metric at one moment.

    Attributes:
        group: Its group, such as `producer-metrics`.
        name: Its name, such as `record-send-total`.
        tags: The client, as `client-id`, and perhaps a topic.
        value: Its value. An average or maximum without any value in the last minute is NaN.
    """

    group: str
    name: str
    tags: Mapping[str, str]
    value: float


@frozen
class ProducerSources:
    """The sources of a producer's metrics at one moment.

    Attributes:
        sensors: Its counts and times.
        buffer_bytes: The memory for records that are not confirmed (`buffer.memory`).
        free_bytes: The part of it that is free.
        now_ms: When they are read, by the clock that the sensors have.
    """

    sensors: ProducerSensors
    buffer_bytes: int
    free_bytes: int
    now_ms: int


@frozen
class TopicSources:
    """The sources of a producer's metrics of one topic at one moment."""

    sensors: TopicSensors
    now_ms: int


@frozen
class ReaderSources:
    """The sources of a reader's metrics at one moment."""

    sensors: ReaderSensors
    now_ms: int


_P = Metric[ProducerSources]
_T = Metric[TopicSources]
_R = Metric[ReaderSources]


def _average(name: str, unit: str, doc: str, of: Callable[[ProducerSensors], Windows]) -> _P:
    return _P(name, unit, doc, lambda s: of(s.sensors).average(s.now_ms))


def _largest(name: str, unit: str, doc: str, of: Callable[[ProducerSensors], Windows]) -> _P:
    return _P(name, unit, doc, lambda s: of(s.sensors).largest(s.now_ms))


def _events(name: str, unit: str, doc: str, of: Callable[[ProducerSensors], EventCount]) -> Iterator[_P]:
    yield _P(f"{name}-rate", f"{unit}/s", doc, lambda s: of(s.sensors).recent.per_second(s.now_ms))
    yield _P(f"{name}-total", unit, doc, lambda s: of(s.sensors).total)


def _spent(name: str, doc: str, of: Callable[[ProducerSensors], TimeSpent]) -> _P:
    return _P(f"{name}-time-ns-total", "ns", doc, lambda s: of(s.sensors).total_ms * _NS_OF_MS)


_SENT: Final = "Records that were sent; a record that is sent again counts again."
_RETRIED: Final = "Records that have to be sent again."
_REFUSED: Final = "Records that the brokers refused."
_FAILED: Final = "Records that the brokers refused, that are too large, or whose topic does not exist."
_COMPRESSION: Final = "Average size of batches in proportion to their size without compression."

PRODUCER_METRICS: tuple[Metric[ProducerSources], ...] = (
    *_events("record-send", "records", _SENT, lambda f: f.sent),
    *_events("record-retry", "records", _RETRIED, lambda f: f.retried),
    *_events("record-error", "records", _FAILED, lambda f: f.errors),
    _average("records-per-request-avg", "records", "Average number of records of a request.", lambda f: f.sent.recent),
    _average("batch-size-avg", "bytes", "Average size of batches as they are sent.", lambda f: f.batch_bytes),
    _largest("batch-size-max", "bytes", "Size of the largest batch as it is sent.", lambda f: f.batch_bytes),
    *_events(
        "batch-split",
        "batches",
        "Batches that were divided because a topic does not take batches of their size.",
        lambda f: f.splits,
    ),
    _average("compression-rate-avg", "0 to 1", _COMPRESSION, lambda f: f.compression),
    _average("record-queue-time-avg", "ms", "Average age of batches when they are sent.", lambda f: f.queue_times),
    _largest("record-queue-time-max", "ms", "Highest age of a batch when it is sent.", lambda f: f.queue_times),
    _average("request-latency-avg", "ms", "Average time until a request was answered.", lambda f: f.latencies),
    _largest("request-latency-max", "ms", "Longest time until a request was answered.", lambda f: f.latencies),
    _P("requests-in-flight", "requests", "Requests without an answer.", lambda s: s.sensors.requests_in_flight),
    _average(
        "produce-throttle-time-avg",
        "ms",
        "Average time for which a broker's quota delays the producer.",
        lambda f: f.throttle_times,
    ),
    _largest(
        "produce-throttle-time-max",
        "ms",
        "Longest time for which a broker's quota delays the producer.",
        lambda f: f.throttle_times,
    ),
    _P("buffer-total-bytes", "bytes", "Memory for records that are not confirmed.", lambda s: s.buffer_bytes),
    _P("buffer-available-bytes", "bytes", "Part of that memory that is free.", lambda s: s.free_bytes),
    _spent("flush", "Time that the worker waited until its records were confirmed.", lambda f: f.flush),
    _spent("txn-init", "Time that the worker waited for the id of its producer.", lambda f: f.init),
    _spent(
        "txn-commit",
        "Time that the worker waited until a transaction was committed, with the offsets in it.",
        lambda f: f.commit,
    ),
    _spent("txn-abort", "Time that the worker waited until a transaction was aborted.", lambda f: f.abort),
)
"""Of a producer, in the group `producer-metrics`, with the tag `client-id`."""


def _of_topic(name: str, unit: str, doc: str, of: Callable[[TopicSensors], EventCount]) -> Iterator[_T]:
    yield _T(f"{name}-rate", f"{unit}/s", doc, lambda s: of(s.sensors).recent.per_second(s.now_ms))
    yield _T(f"{name}-total", unit, doc, lambda s: of(s.sensors).total)


PRODUCER_TOPIC_METRICS: tuple[Metric[TopicSources], ...] = (
    *_of_topic("record-send", "records", _SENT, lambda f: f.sent),
    *_of_topic("byte", "bytes", "Bytes of batches as they are sent.", lambda f: f.sent_bytes),
    _T("compression-rate", "0 to 1", _COMPRESSION, lambda s: s.sensors.compression.average(s.now_ms)),
    *_of_topic("record-retry", "records", _RETRIED, lambda f: f.retried),
    *_of_topic("record-error", "records", _REFUSED, lambda f: f.errors),
)
"""Of a topic of a producer, in the group `producer-topic-metrics`, with the tags `client-id` and `topic`."""


def _average_read(name: str, unit: str, doc: str, of: Callable[[ReaderSensors], Windows]) -> _R:
    return _R(name, unit, doc, lambda s: of(s.sensors).average(s.now_ms))


def _largest_read(name: str, unit: str, doc: str, of: Callable[[ReaderSensors], Windows]) -> _R:
    return _R(name, unit, doc, lambda s: of(s.sensors).largest(s.now_ms))


def _read(name: str, unit: str, doc: str, of: Callable[[ReaderSensors], EventCount]) -> Iterator[_R]:
    per_second = "1/s" if unit == "fetches" else f"{unit}/s"
    yield _R(f"{name}-rate", per_second, doc, lambda s: of(s.sensors).recent.per_second(s.now_ms))
    yield _R(f"{name}-total", unit, doc, lambda s: of(s.sensors).total)


READER_METRICS: tuple[Metric[ReaderSources], ...] = (
    *_read("records-consumed", "records", "Records that the worker took.", lambda f: f.consumed),
    *_read("bytes-consumed", "bytes", "Bytes of their batches, as the broker has them.", lambda f: f.consumed_bytes),
    *_read("fetch", "fetches", "Fetches that were answered.", lambda f: f.fetches),
    _average_read(
        "fetch-latency-avg", "ms", "Average time of a fetch, its wait for records included.", lambda f: f.latencies
    ),
    _largest_read(
        "fetch-latency-max", "ms", "Longest time of a fetch, its wait for records included.", lambda f: f.latencies
    ),
    _average_read("fetch-size-avg", "bytes", "Average size of the fetches that brought records.", lambda f: f.sizes),
    _largest_read("fetch-size-max", "bytes", "Size of the largest fetch.", lambda f: f.sizes),
    _average_read(
        "records-per-request-avg",
        "records",
        "Average number of records of the fetches that brought any.",
        lambda f: f.records,
    ),
    _largest_read(
        "records-lag-max",
        "records",
        "Most records of a partition that came after those that the worker took.",
        lambda f: f.lags,
    ),
    _average_read(
        "fetch-throttle-time-avg",
        "ms",
        "Average time for which a broker's quota delays the reader.",
        lambda f: f.throttle_times,
    ),
    _largest_read(
        "fetch-throttle-time-max",
        "ms",
        "Longest time for which a broker's quota delays the reader.",
        lambda f: f.throttle_times,
    ),
)
"""Of a reader, in the group `consumer-fetch-manager-metrics`, with the tag `client-id`."""

_PRODUCER, _TOPIC, _READER = "producer-metrics", "producer-topic-metrics", "consumer-fetch-manager-metrics"

RECORDS_METRIC_GROUPS: Final[Mapping[str, tuple[Metric[Any], ...]]] = {
    _PRODUCER: PRODUCER_METRICS,
    _TOPIC: PRODUCER_TOPIC_METRICS,
    _READER: READER_METRICS,
}
"""All metrics by their groups."""


def producer_metrics(client_id: str, sources: ProducerSources) -> Iterator[RecordsMetric]:
    """Return the metrics of a producer, and those of its topics."""
    yield from _values(_PRODUCER, PRODUCER_METRICS, sources, {"client-id": client_id})
    for topic, sensors in sources.sensors.topics.items():
        tags = {"client-id": client_id, "topic": topic}
        yield from _values(_TOPIC, PRODUCER_TOPIC_METRICS, TopicSources(sensors, sources.now_ms), tags)


def reader_metrics(client_id: str, sources: ReaderSources) -> Iterator[RecordsMetric]:
    """Return the metrics of a reader."""
    return _values(_READER, READER_METRICS, sources, {"client-id": client_id})


def _values(group: str, metrics: Iterable[Metric[S]], sources: S, tags: Mapping[str, str]) -> Iterator[RecordsMetric]:
    for name, value in values_of(metrics, sources).items():
        yield RecordsMetric(group, name, tags, value)
