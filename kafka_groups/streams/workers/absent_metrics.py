"""Metrics of Kafka Streams that an application does not have, each with the reason."""

from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["ABSENT_METRICS", "absent_names"]

_TIMED_RECORDS: Final = "it costs time for each record, and is not measured at the level DEBUG yet"
_TIMED_CALLS: Final = "it costs time for each call of a store, and is not measured at the level DEBUG yet"

ABSENT_METRICS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "stream-metrics": (("commit-id", "the package has a version only"),),
    "stream-thread-metrics": (
        ("blocked-time-ns-total", "its parts are metrics of the producer, such as flush-time-ns-total"),
    ),
    "stream-state-updater-metrics": (
        ("active-restore-ratio standby-update-ratio idle-ratio restore-call-rate", "workers restore in their turns"),
        ("checkpoint-ratio", "stores in memory have no checkpoints"),
    ),
    "stream-task-metrics": (
        (
            "punctuate-latency-avg punctuate-latency-max punctuate-rate punctuate-total",
            "workers have it for all of their tasks",
        ),
        ("enforced-processing-rate enforced-processing-total", "it is not counted"),
        ("restore-rate restore-total", "workers have it for all of their tasks, as restore-records-rate"),
        ("cache-size-bytes-total", "updates that operators hold back are counted, not measured"),
    ),
    "stream-processor-node-metrics": (
        ("process-rate process-total", "tasks have it; records-consumed-total has it for each source"),
        ("suppression-emit-rate suppression-emit-total", _TIMED_RECORDS),
        (
            (
                "window-aggregate-final-emit-latency-avg window-aggregate-final-emit-latency-max "
                "window-aggregate-final-emit-rate window-aggregate-final-emit-total"
            ),
            _TIMED_RECORDS,
        ),
    ),
    "stream-topic-metrics": (("bytes-produced-total records-produced-total", _TIMED_RECORDS),),
    "stream-state-metrics": (
        (
            (
                "all-latency-avg all-latency-max all-rate delete-latency-avg delete-latency-max delete-rate "
                "fetch-latency-avg fetch-latency-max fetch-rate get-latency-avg get-latency-max get-rate "
                "prefix-scan-latency-avg prefix-scan-latency-max prefix-scan-rate put-all-latency-avg "
                "put-all-latency-max put-all-rate put-if-absent-latency-avg put-if-absent-latency-max "
                "put-if-absent-rate put-latency-avg put-latency-max put-rate range-latency-avg "
                "range-latency-max range-rate record-e2e-latency-avg record-e2e-latency-min record-e2e-latency-max"
            ),
            _TIMED_CALLS,
        ),
        (
            "commit-latency-avg commit-latency-max commit-rate flush-latency-avg flush-latency-max flush-rate",
            "the stores of a worker are committed together: see commit-latency-avg of the worker",
        ),
        ("restore-latency-avg restore-latency-max restore-rate", "workers have it, as restore-records-rate"),
        (
            "iterator-duration-avg iterator-duration-max num-open-iterators oldest-iterator-open-since-ms",
            "iterators of stores hold nothing open",
        ),
        (
            (
                "suppression-buffer-count-avg suppression-buffer-count-max suppression-buffer-size-avg "
                "suppression-buffer-size-max"
            ),
            _TIMED_RECORDS,
        ),
    ),
    "stream-record-cache-metrics": (
        ("hit-ratio-avg hit-ratio-min hit-ratio-max", "there is no cache of records that can miss"),
    ),
}
"""Names by group, with the reason. RocksDB has more, which stores in memory do not have in Java either."""


def absent_names() -> Iterator[tuple[str, str, str]]:
    """Return group, name and reason of each."""
    for group, reasons in ABSENT_METRICS.items():
        for names, why in reasons:
            for name in names.split():
                yield group, name, why
