"""Every metric of a share consumer: name, unit, meaning, and how it is read.

The names are those of KIP-932. Kafka's Java client calls two of its pairs differently: what the KIP calls *fetched*,
it calls *consumed*. Here both exist: *fetched* counts the records in brokers' responses, *consumed* those that the
program received.
"""

import math

from attrs import frozen

from kafka_groups.client.membership.metrics import (
    HEARTBEAT_METRICS,
    POLL_METRICS,
    REACHABILITY_METRICS,
    REBALANCE_METRICS,
    Metric,
    MetricSources,
    PollTimes,
)
from kafka_groups.share.delivery.fetching.fetch_sensors import ShareMetrics
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.types import ConsumerState

__all__ = ["SHARE_METRICS", "ShareSources"]


@frozen
class ShareSources(MetricSources):
    """Sources of the metrics of one consumer, at one moment."""

    state: ConsumerState
    inbox: Inbox
    fetching: ShareMetrics

    @property
    def polls(self) -> PollTimes:
        """The times at which the program polls."""
        return PollTimes(self.inbox.last_poll_ms, self.inbox.polls.between, self.inbox.polls.idle)

    @property
    def in_hand(self) -> int:
        """Number of records that the program holds."""
        return sum(delivery.open_count for delivery in self.inbox.in_hand)

    @property
    def waiting(self) -> int:
        """Number of prefetched records."""
        return self.inbox.records_waiting

    @property
    def first_lock_ms(self) -> float:
        """Time until the first lock of the records in hand expires, in ms; NaN if there are none."""
        held = (delivery.lock_deadline_ms for delivery in self.inbox.in_hand if delivery.has_open)
        return min((deadline_ms - self.now_ms for deadline_ms in held), default=math.nan)


_M = Metric[ShareSources]

_OF_POLLS = (
    _M(
        "records-consumed-rate",
        "records/s",
        "Records that your program got.",
        lambda s: s.inbox.polls.consumed.times_per_second(s.now_ms),
    ),
    _M(
        "records-consumed-total",
        "records",
        "Records that your program got; a redelivered record counts again.",
        lambda s: s.inbox.records_handed_over,
    ),
    _M(
        "bytes-consumed-rate",
        "bytes/s",
        "Bytes of the batches that your program got.",
        lambda s: s.inbox.polls.consumed.per_second(s.now_ms),
    ),
    _M(
        "bytes-consumed-total",
        "bytes",
        "Bytes of the batches that your program got.",
        lambda s: s.inbox.bytes_handed_over,
    ),
)

_OF_FETCHING = (
    _M(
        "fetch-size-avg",
        "bytes",
        "Average size of a fetch that brought records.",
        lambda s: s.fetching.fetch_sizes.average(s.now_ms),
    ),
    _M("fetch-size-max", "bytes", "Size of the largest fetch.", lambda s: s.fetching.fetch_sizes.largest(s.now_ms)),
    _M(
        "bytes-fetched-rate",
        "bytes/s",
        "Bytes of the batches that fetches brought.",
        lambda s: s.fetching.fetch_sizes.per_second(s.now_ms),
    ),
    _M(
        "bytes-fetched-total",
        "bytes",
        "Bytes of the batches that fetches brought.",
        lambda s: s.fetching.bytes_fetched_total,
    ),
    _M(
        "records-per-request-avg",
        "records",
        "Average number of records of a fetch that brought any.",
        lambda s: s.fetching.fetch_records.average(s.now_ms),
    ),
    _M(
        "records-per-request-max",
        "records",
        "Most records of one fetch.",
        lambda s: s.fetching.fetch_records.largest(s.now_ms),
    ),
    _M(
        "records-fetched-rate",
        "records/s",
        "Records that fetches acquired, gaps in the log included.",
        lambda s: s.fetching.fetch_records.per_second(s.now_ms),
    ),
    _M(
        "records-fetched-total",
        "records",
        "Records that fetches acquired, gaps in the log included.",
        lambda s: s.fetching.records_fetched_total,
    ),
    _M(
        "fetch-latency-avg",
        "ms",
        "Average time that a fetch took, its wait for records included.",
        lambda s: s.fetching.fetch_latencies.average(s.now_ms),
    ),
    _M(
        "fetch-latency-max",
        "ms",
        "Longest time that a fetch took.",
        lambda s: s.fetching.fetch_latencies.largest(s.now_ms),
    ),
    _M(
        "fetch-rate",
        "1/s",
        "Fetches that were answered.",
        lambda s: s.fetching.fetch_latencies.times_per_second(s.now_ms),
    ),
    _M("fetch-total", "fetches", "Fetches that were answered.", lambda s: s.fetching.fetch_total),
    _M(
        "fetch-throttle-time-avg",
        "ms",
        "Average time for which a broker's quota delayed an answer.",
        lambda s: s.fetching.throttle_times.average(s.now_ms),
    ),
    _M(
        "fetch-throttle-time-max",
        "ms",
        "Longest time for which a broker's quota delayed an answer.",
        lambda s: s.fetching.throttle_times.largest(s.now_ms),
    ),
)

_OF_ACKNOWLEDGING = (
    _M(
        "acknowledgements-send-rate",
        "records/s",
        "Acknowledgements that were sent.",
        lambda s: s.fetching.acknowledgements_sent.per_second(s.now_ms),
    ),
    _M(
        "acknowledgements-send-total",
        "records",
        "Acknowledgements that were sent, retries included.",
        lambda s: s.fetching.acknowledgements_send_total,
    ),
    _M(
        "acknowledgements-error-rate",
        "records/s",
        "Acknowledgements that did not succeed.",
        lambda s: s.fetching.acknowledgement_errors.per_second(s.now_ms),
    ),
    _M(
        "acknowledgements-error-total",
        "records",
        "Acknowledgements that did not succeed.",
        lambda s: s.fetching.acknowledgements_error_total,
    ),
    _M(
        "records-accepted-total",
        "records",
        "Records that a broker confirmed as accepted.",
        lambda s: s.fetching.records_accepted_total,
    ),
    _M(
        "records-released-total",
        "records",
        "Records that a broker confirmed as released.",
        lambda s: s.fetching.records_released_total,
    ),
    _M(
        "records-rejected-total",
        "records",
        "Records that a broker confirmed as rejected.",
        lambda s: s.fetching.records_rejected_total,
    ),
    _M(
        "renewals-send-total",
        "renewals",
        "Lock renewals that a broker confirmed, one per partition and fetch.",
        lambda s: s.fetching.renewals_send_total,
    ),
    _M(
        "prefetched-released-total",
        "releases",
        "Batches that were fetched ahead and given back, as your program was too slow.",
        lambda s: s.fetching.prefetched_released_total,
    ),
    _M(
        "session-lost-total",
        "sessions",
        "Share sessions that ended, with the locks of their records.",
        lambda s: s.fetching.session_lost_total,
    ),
)

_GAUGES = (
    _M(
        "state", "number", "`consumer.state` as a number: see [States](states.md#a-consumer).", lambda s: float(s.state)
    ),
    *REACHABILITY_METRICS,
    _M("records-in-hand", "records", "Records that your program holds and has not acknowledged.", lambda s: s.in_hand),
    _M(
        "records-held-for-release",
        "records",
        "Records that your program releases later (`release_after`) and that are held until then.",
        lambda s: s.inbox.records_held,
    ),
    _M(
        "records-archived-by-release-total",
        "records",
        "Records that the brokers archive because they went back after their last delivery: you released them, or your"
        " acknowledgement failed or came after the lock had expired.",
        lambda s: s.inbox.records_archived,
    ),
    _M("records-waiting", "records", "Records that were fetched and wait for a `poll`.", lambda s: s.waiting),
    _M(
        "records-asked-for",
        "records",
        "How many records the last fetch asked for (`fetch.max.records`).",
        lambda s: s.fetching.records_asked_for,
    ),
    _M(
        "oldest-lock-remaining-seconds",
        "s",
        "Time until the first lock of the records in hand runs out."
        " Below 0: it has, and the records are delivered again.",
        lambda s: s.first_lock_ms / 1000,
    ),
)

SHARE_METRICS: tuple[Metric[ShareSources], ...] = (
    *(*_GAUGES, *POLL_METRICS, *_OF_POLLS, *HEARTBEAT_METRICS, *REBALANCE_METRICS),
    *(*_OF_FETCHING, *_OF_ACKNOWLEDGING),
)
"""All metrics, in the order of the reference."""
