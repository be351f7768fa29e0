"""The class of a metric, and the metrics that all clients with a member have."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups.client.membership.member_sensors import MemberSensors
from kafka_groups.client.reachability import Reachability
from kafka_groups.client.windows import Windows

__all__ = [
    "HEARTBEAT_METRICS",
    "POLL_METRICS",
    "REACHABILITY_METRICS",
    "REBALANCE_METRICS",
    "Metric",
    "MetricSources",
    "PollTimes",
    "values_of",
]

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


@frozen
class PollTimes:
    """The times at which a program polls.

    Attributes:
        last_ms: The last time; None before the first.
        between: Milliseconds from one poll to the next.
        idle: For each poll, the part of the time since the one before that it waited.
    """

    last_ms: int | None
    between: Windows
    idle: Windows


@frozen
class MetricSources(ABC):
    """The sources of one client's metrics at one moment. Each kind of client adds its own.

    Attributes:
        now_ms: When they are read.
        reachability: Knows whether brokers answer.
        member: Counts and times of the member.
    """

    now_ms: int
    reachability: Reachability
    member: MemberSensors

    @property
    @abstractmethod
    def polls(self) -> PollTimes:
        """The times at which the program polls."""

    def seconds_since(self, then_ms: int | None) -> float:
        """Return the seconds since a moment; -1 if it has not come, as in Kafka's client."""
        return -1.0 if then_ms is None else (self.now_ms - then_ms) / 1000


@frozen
class Metric(Generic[S_contra]):
    """One metric.

    Attributes:
        name: Its key in `metrics()`.
        unit: What it counts or measures.
        doc: What it means.
        read: Computes the value.
    """

    name: str
    unit: str
    doc: str
    read: Callable[[S_contra], float]


_M = Metric[MetricSources]

REACHABILITY_METRICS = (
    _M(
        "last-answer-seconds-ago",
        "s",
        "Time since a broker last answered a request; -1 before the first.",
        lambda s: s.seconds_since(s.reachability.last_answer_ms),
    ),
    _M(
        "unreachable-seconds",
        "s",
        "For how long no broker has answered; 0 while one does.",
        lambda s: max(0.0, s.seconds_since(s.reachability.unreachable_since_ms)),
    ),
)

POLL_METRICS = (
    _M(
        "last-poll-seconds-ago",
        "s",
        "Time since the last call of `poll`; -1 before the first.",
        lambda s: s.seconds_since(s.polls.last_ms),
    ),
    _M(
        "time-between-poll-avg",
        "ms",
        "Average time from one `poll` to the next.",
        lambda s: s.polls.between.average(s.now_ms),
    ),
    _M(
        "time-between-poll-max",
        "ms",
        "Longest time from one `poll` to the next.",
        lambda s: s.polls.between.largest(s.now_ms),
    ),
    _M(
        "poll-idle-ratio-avg",
        "0 to 1",
        "Part of the time that `poll` waits. Near 0: your program is the bottleneck.",
        lambda s: s.polls.idle.average(s.now_ms),
    ),
)

HEARTBEAT_METRICS = (
    _M(
        "heartbeat-response-time-max",
        "ms",
        "Longest time that the coordinator took to answer a heartbeat.",
        lambda s: s.member.response_times.largest(s.now_ms),
    ),
    _M(
        "heartbeat-rate",
        "1/s",
        "Heartbeats that were answered.",
        lambda s: s.member.response_times.times_per_second(s.now_ms),
    ),
    _M("heartbeat-total", "heartbeats", "Heartbeats that were answered.", lambda s: s.member.heartbeats),
    _M(
        "last-heartbeat-seconds-ago",
        "s",
        "Time since the last heartbeat was sent; -1 before the first.",
        lambda s: s.seconds_since(s.member.sent_ms),
    ),
)

REBALANCE_METRICS = (
    _M("rebalance-total", "rebalances", "Changes of the assignment.", lambda s: s.member.rebalances),
    _M(
        "rebalance-rate-per-hour",
        "1/h",
        "Changes of the assignment.",
        lambda s: s.member.rebalance_times.per_second(s.now_ms) * 3600,
    ),
)


def values_of(metrics: Iterable[Metric[S]], sources: S) -> Mapping[str, float]:
    """Return the values of metrics by name."""
    return {metric.name: float(metric.read(sources)) for metric in metrics}
