"""Every metric of a share consumer: name, unit, meaning, and how it is read.

The names are those of KIP-932. Kafka's Java client calls two of its pairs differently: what the KIP calls *fetched*,
it calls *consumed*. Here both exist: *fetched* is what answers of brokers brought, *consumed* what the program got.
"""

import math
from collections.abc import Callable, Mapping

from attrs import frozen

from kafka_groups.client.membership.figures import MemberFigures
from kafka_groups.client.reachability import Reachability
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.delivery.metrics import ShareMetrics
from kafka_groups.types import ConsumerState

__all__ = ["METRICS", "Figures", "Metric", "read_metrics"]


@frozen
class Figures:
    """Where the metrics of one consumer are read from, at one moment."""

    now_ms: int
    state: ConsumerState
    member: MemberFigures
    reachability: Reachability
    inbox: Inbox
    fetching: ShareMetrics

    @property
    def in_hand(self) -> int:
        """Records that the program holds."""
        return sum(delivery.open_count for delivery in self.inbox.in_hand)

    @property
    def waiting(self) -> int:
        """Records that were fetched ahead."""
        return self.inbox.records_waiting

    @property
    def first_lock_ms(self) -> float:
        """How long until the first lock of what the program holds runs out; NaN if it holds nothing."""
        held = (delivery.lock_deadline_ms for delivery in self.inbox.in_hand if delivery.has_open)
        return min((deadline_ms - self.now_ms for deadline_ms in held), default=math.nan)

    def seconds_since(self, then_ms: int | None) -> float:
        """Seconds since a moment; -1 if it has not come, as in Kafka's client."""
        return -1.0 if then_ms is None else (self.now_ms - then_ms) / 1000


@frozen
class Metric:
    """One metric.

    Attributes:
        name: Its key in `metrics()`.
        unit: What it counts or measures.
        doc: What it means.
        read: Makes the value.
    """

    name: str
    unit: str
    doc: str
    read: Callable[[Figures], float]


_OF_POLLS = (
    Metric(
        "last-poll-seconds-ago",
        "s",
        "Time since the last call of `poll`; -1 before the first.",
        lambda f: f.seconds_since(f.inbox.last_poll_ms),
    ),
    Metric(
        "time-between-poll-avg",
        "ms",
        "Average time from one `poll` to the next.",
        lambda f: f.inbox.polls.between.average(f.now_ms),
    ),
    Metric(
        "time-between-poll-max",
        "ms",
        "Longest time from one `poll` to the next.",
        lambda f: f.inbox.polls.between.largest(f.now_ms),
    ),
    Metric(
        "poll-idle-ratio-avg",
        "0 to 1",
        "Part of the time that `poll` waits. Near 0: your program is the bottleneck.",
        lambda f: f.inbox.polls.idle.average(f.now_ms),
    ),
    Metric(
        "records-consumed-rate",
        "records/s",
        "Records that your program got.",
        lambda f: f.inbox.polls.records.per_second(f.now_ms),
    ),
    Metric(
        "records-consumed-total",
        "records",
        "Records that your program got; a redelivered record counts again.",
        lambda f: f.inbox.records_handed_over,
    ),
    Metric(
        "bytes-consumed-rate",
        "bytes/s",
        "Bytes of the batches that your program got.",
        lambda f: f.inbox.polls.size_bytes.per_second(f.now_ms),
    ),
    Metric(
        "bytes-consumed-total",
        "bytes",
        "Bytes of the batches that your program got.",
        lambda f: f.inbox.bytes_handed_over,
    ),
)

_OF_THE_MEMBER = (
    Metric(
        "heartbeat-response-time-max",
        "ms",
        "Longest time that the coordinator took to answer a heartbeat.",
        lambda f: f.member.response_times.largest(f.now_ms),
    ),
    Metric(
        "heartbeat-rate",
        "1/s",
        "Heartbeats that were answered.",
        lambda f: f.member.response_times.times_per_second(f.now_ms),
    ),
    Metric("heartbeat-total", "heartbeats", "Heartbeats that were answered.", lambda f: f.member.heartbeats),
    Metric(
        "last-heartbeat-seconds-ago",
        "s",
        "Time since the last heartbeat was sent; -1 before the first.",
        lambda f: f.seconds_since(f.member.sent_ms),
    ),
    Metric("rebalance-total", "rebalances", "Changes of the assignment.", lambda f: f.member.rebalances),
    Metric(
        "rebalance-rate-per-hour",
        "1/h",
        "Changes of the assignment.",
        lambda f: f.member.rebalance_times.per_second(f.now_ms) * 3600,
    ),
)

_OF_FETCHING = (
    Metric(
        "fetch-size-avg",
        "bytes",
        "Average size of a fetch that brought records.",
        lambda f: f.fetching.fetch_sizes.average(f.now_ms),
    ),
    Metric("fetch-size-max", "bytes", "Size of the largest fetch.", lambda f: f.fetching.fetch_sizes.largest(f.now_ms)),
    Metric(
        "bytes-fetched-rate",
        "bytes/s",
        "Bytes of the batches that fetches brought.",
        lambda f: f.fetching.fetch_sizes.per_second(f.now_ms),
    ),
    Metric(
        "bytes-fetched-total",
        "bytes",
        "Bytes of the batches that fetches brought.",
        lambda f: f.fetching.bytes_fetched_total,
    ),
    Metric(
        "records-per-request-avg",
        "records",
        "Average number of records of a fetch that brought any.",
        lambda f: f.fetching.fetch_records.average(f.now_ms),
    ),
    Metric(
        "records-per-request-max",
        "records",
        "Most records of one fetch.",
        lambda f: f.fetching.fetch_records.largest(f.now_ms),
    ),
    Metric(
        "records-fetched-rate",
        "records/s",
        "Records that fetches acquired, gaps in the log included.",
        lambda f: f.fetching.fetch_records.per_second(f.now_ms),
    ),
    Metric(
        "records-fetched-total",
        "records",
        "Records that fetches acquired, gaps in the log included.",
        lambda f: f.fetching.records_fetched_total,
    ),
    Metric(
        "fetch-latency-avg",
        "ms",
        "Average time that a fetch took, its wait for records included.",
        lambda f: f.fetching.fetch_latencies.average(f.now_ms),
    ),
    Metric(
        "fetch-latency-max",
        "ms",
        "Longest time that a fetch took.",
        lambda f: f.fetching.fetch_latencies.largest(f.now_ms),
    ),
    Metric(
        "fetch-rate",
        "1/s",
        "Fetches that were answered.",
        lambda f: f.fetching.fetch_latencies.times_per_second(f.now_ms),
    ),
    Metric("fetch-total", "fetches", "Fetches that were answered.", lambda f: f.fetching.fetch_total),
    Metric(
        "fetch-throttle-time-avg",
        "ms",
        "Average time for which a broker's quota delayed an answer.",
        lambda f: f.fetching.throttle_times.average(f.now_ms),
    ),
    Metric(
        "fetch-throttle-time-max",
        "ms",
        "Longest time for which a broker's quota delayed an answer.",
        lambda f: f.fetching.throttle_times.largest(f.now_ms),
    ),
)

_OF_ACKNOWLEDGING = (
    Metric(
        "acknowledgements-send-rate",
        "records/s",
        "Acknowledgements that were sent.",
        lambda f: f.fetching.acknowledgements_sent.per_second(f.now_ms),
    ),
    Metric(
        "acknowledgements-send-total",
        "records",
        "Acknowledgements that were sent, retries included.",
        lambda f: f.fetching.acknowledgements_send_total,
    ),
    Metric(
        "acknowledgements-error-rate",
        "records/s",
        "Acknowledgements that did not succeed.",
        lambda f: f.fetching.acknowledgement_errors.per_second(f.now_ms),
    ),
    Metric(
        "acknowledgements-error-total",
        "records",
        "Acknowledgements that did not succeed.",
        lambda f: f.fetching.acknowledgements_error_total,
    ),
    Metric(
        "records-accepted-total",
        "records",
        "Records that a broker confirmed as accepted.",
        lambda f: f.fetching.records_accepted_total,
    ),
    Metric(
        "records-released-total",
        "records",
        "Records that a broker confirmed as released.",
        lambda f: f.fetching.records_released_total,
    ),
    Metric(
        "records-rejected-total",
        "records",
        "Records that a broker confirmed as rejected.",
        lambda f: f.fetching.records_rejected_total,
    ),
    Metric(
        "renewals-send-total",
        "renewals",
        "Lock renewals that a broker confirmed, one per partition and fetch.",
        lambda f: f.fetching.renewals_send_total,
    ),
    Metric(
        "prefetched-released-total",
        "releases",
        "Batches that were fetched ahead and given back, as your program was too slow.",
        lambda f: f.fetching.prefetched_released_total,
    ),
    Metric(
        "session-lost-total",
        "sessions",
        "Share sessions that ended, with the locks of their records.",
        lambda f: f.fetching.session_lost_total,
    ),
)

_GAUGES = (
    Metric(
        "state", "number", "`consumer.state` as a number: see [States](states.md#a-consumer).", lambda f: float(f.state)
    ),
    Metric(
        "last-answer-seconds-ago",
        "s",
        "Time since a broker last answered a request; -1 before the first.",
        lambda f: f.seconds_since(f.reachability.last_answer_ms),
    ),
    Metric(
        "unreachable-seconds",
        "s",
        "For how long no broker has answered; 0 while one does.",
        lambda f: max(0.0, f.seconds_since(f.reachability.unreachable_since_ms)),
    ),
    Metric(
        "records-in-hand", "records", "Records that your program holds and has not acknowledged.", lambda f: f.in_hand
    ),
    Metric(
        "records-held-for-release",
        "records",
        "Records that your program releases later (`release_after`) and that are held until then.",
        lambda f: f.inbox.records_held,
    ),
    Metric(
        "records-archived-by-release-total",
        "records",
        "Records that were released with their last delivery, so that the brokers archive them.",
        lambda f: f.inbox.records_archived,
    ),
    Metric("records-waiting", "records", "Records that were fetched and wait for a `poll`.", lambda f: f.waiting),
    Metric(
        "records-asked-for",
        "records",
        "How many records the last fetch asked for (`fetch.max.records`).",
        lambda f: f.fetching.records_asked_for,
    ),
    Metric(
        "oldest-lock-remaining-seconds",
        "s",
        "Time until the first lock of the records in hand runs out."
        " Below 0: it has, and the records are delivered again.",
        lambda f: f.first_lock_ms / 1000,
    ),
)

METRICS: tuple[Metric, ...] = (*_GAUGES, *_OF_POLLS, *_OF_THE_MEMBER, *_OF_FETCHING, *_OF_ACKNOWLEDGING)
"""All metrics, in the order of the reference."""


def read_metrics(figures: Figures) -> Mapping[str, float]:
    """Name → value."""
    return {metric.name: float(metric.read(figures)) for metric in METRICS}
