"""Every metric of a member of an application: name, unit, meaning, and how it is read.

Kafka Streams has these names in the metrics of its consumers (`consumer-metrics`, `consumer-coordinator-metrics`) and,
for the latency of tasks, in those of its threads (KIP-1216). What Kafka does not have, such as the number of tasks, has
a name in the same style.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, frozen

from kafka_groups.client.membership.metrics import (
    HEARTBEAT_METRICS,
    POLL_METRICS,
    REACHABILITY_METRICS,
    REBALANCE_METRICS,
    Metric,
    MetricSources,
    PollTimes,
)
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.streams_sensors import RoundSensors, StreamsSensors, TimedCount

__all__ = [
    "COORDINATOR_METRIC_GROUPS",
    "MEMBER_METRICS",
    "ROUND_METRICS",
    "TASK_ASSIGNOR",
    "InfoMetric",
    "MemberSources",
    "RoundSources",
]


@frozen
class MemberSources(MetricSources):
    """The sources of one member's metrics at one moment."""

    state: MembershipState
    owned: MemberTasks
    unconfirmed: MemberTasks
    unconfirmed_since_ms: int | None
    sensors: StreamsSensors

    @property
    def polls(self) -> PollTimes:
        """The times at which the program polls."""
        return PollTimes(self.sensors.last_poll_ms, self.sensors.between, self.sensors.idle)


@frozen
class RoundSources:
    """The sources of the metrics that only a member of a classic group has, at one moment."""

    now_ms: int
    rounds: RoundSensors


@frozen
class InfoMetric:
    """A metric whose value is a text. Exporters show the text as a label, and 1 as the value.

    Attributes:
        name: Its name.
        doc: What it means.
    """

    name: str
    doc: str

    @property
    def unit(self) -> str:
        """No unit: it counts nothing."""
        return "info"


_M = Metric[MemberSources]
_R = Metric[RoundSources]
_STATES = {state: float(number) for number, state in enumerate(MembershipState)}

_GAUGES = (
    _M(
        "state",
        "number",
        "`member.state` as a number: its place in [States](states.md#a-member-of-a-streams-group), counted from 0.",
        lambda s: _STATES[s.state],
    ),
    *REACHABILITY_METRICS,
    _M("active-tasks", "tasks", "Active tasks that the member owns.", lambda s: len(s.owned.active)),
    _M("standby-tasks", "tasks", "Standby tasks that the member owns.", lambda s: len(s.owned.standby)),
    _M("warmup-tasks", "tasks", "Warm-up tasks that the member owns.", lambda s: len(s.owned.warmup)),
    _M(
        "unconfirmed-tasks",
        "tasks",
        "Tasks that were revoked or lost and that your program has not confirmed. The member gets no tasks before.",
        lambda s: len(s.unconfirmed.ids),
    ),
    _M(
        "unconfirmed-seconds",
        "s",
        "For how long the member has waited for your program to confirm events; 0 if it does not wait.",
        lambda s: max(0.0, s.seconds_since(s.unconfirmed_since_ms)),
    ),
)

_OF_REBALANCES = (
    _M(
        "rebalance-latency-avg",
        "ms",
        "Average time from a new assignment until the member owns it, which includes closing tasks.",
        lambda s: s.sensors.rebalances.latencies.average(s.now_ms),
    ),
    _M(
        "rebalance-latency-max",
        "ms",
        "Longest time from a new assignment until the member owns it.",
        lambda s: s.sensors.rebalances.latencies.largest(s.now_ms),
    ),
    _M("rebalance-latency-total", "ms", "How long all rebalances took.", lambda s: s.sensors.rebalances.total_ms),
    *REBALANCE_METRICS,
    _M(
        "failed-rebalance-total",
        "rebalances",
        "Rebalances during which the member lost its tasks.",
        lambda s: s.sensors.rebalances.failed,
    ),
    _M(
        "failed-rebalance-rate-per-hour",
        "1/h",
        "Rebalances during which the member lost its tasks.",
        lambda s: s.sensors.rebalances.failed_times.per_second(s.now_ms) * 3600,
    ),
    _M(
        "last-rebalance-seconds-ago",
        "s",
        "Time since the last rebalance; -1 before the first.",
        lambda s: s.seconds_since(s.sensors.rebalances.last_ms),
    ),
)

_OF_TASKS = (
    _M("tasks-assigned-total", "tasks", "Tasks of `TasksAssigned` events.", lambda s: s.sensors.assigned.tasks),
    _M("tasks-revoked-total", "tasks", "Tasks of `TasksRevoked` events.", lambda s: s.sensors.revoked.tasks),
    _M("tasks-lost-total", "tasks", "Tasks of `TasksLost` events.", lambda s: s.sensors.lost.tasks),
    _M(
        "tasks-assigned-latency-avg",
        "ms",
        "Average time that your program took for a `TasksAssigned` event: until the next `poll`.",
        lambda s: s.sensors.assigned.latencies.average(s.now_ms),
    ),
    _M(
        "tasks-assigned-latency-max",
        "ms",
        "Longest time that your program took for a `TasksAssigned` event.",
        lambda s: s.sensors.assigned.latencies.largest(s.now_ms),
    ),
    _M(
        "tasks-revoked-latency-avg",
        "ms",
        "Average time that your program took to confirm a `TasksRevoked` event.",
        lambda s: s.sensors.revoked.latencies.average(s.now_ms),
    ),
    _M(
        "tasks-revoked-latency-max",
        "ms",
        "Longest time that your program took to confirm a `TasksRevoked` event.",
        lambda s: s.sensors.revoked.latencies.largest(s.now_ms),
    ),
    _M(
        "tasks-lost-latency-avg",
        "ms",
        "Average time that your program took to confirm a `TasksLost` event.",
        lambda s: s.sensors.lost.latencies.average(s.now_ms),
    ),
    _M(
        "tasks-lost-latency-max",
        "ms",
        "Longest time that your program took to confirm a `TasksLost` event.",
        lambda s: s.sensors.lost.latencies.largest(s.now_ms),
    ),
)

_OF_COMMITS = (
    _M(
        "commit-latency-avg",
        "ms",
        "Average time that a commit took, retries included.",
        lambda s: s.sensors.commit_latencies.average(s.now_ms),
    ),
    _M(
        "commit-latency-max",
        "ms",
        "Longest time that a commit took.",
        lambda s: s.sensors.commit_latencies.largest(s.now_ms),
    ),
    _M(
        "commit-rate",
        "1/s",
        "Commits that succeeded.",
        lambda s: s.sensors.commit_latencies.times_per_second(s.now_ms),
    ),
    _M("commit-total", "commits", "Commits that succeeded.", lambda s: s.sensors.commits),
)

MEMBER_METRICS: tuple[Metric[MemberSources], ...] = (
    *(*_GAUGES, *POLL_METRICS, *HEARTBEAT_METRICS),
    *(*_OF_REBALANCES, *_OF_TASKS, *_OF_COMMITS),
)
"""All metrics, in the order of the reference."""


def _timed(name: str, unit: str, what: str, of: Callable[[RoundSensors], TimedCount]) -> Iterator[_R]:
    yield _R(f"{name}-rate", "1/s", f"{what} that succeeded.", lambda s: of(s.rounds).times.times_per_second(s.now_ms))
    yield _R(f"{name}-total", unit, f"{what} that succeeded.", lambda s: of(s.rounds).total)
    yield _R(f"{name}-time-avg", "ms", f"Average time of {what}.", lambda s: of(s.rounds).times.average(s.now_ms))
    yield _R(f"{name}-time-max", "ms", f"Longest time of {what}.", lambda s: of(s.rounds).times.largest(s.now_ms))


ROUND_METRICS: tuple[Metric[RoundSources], ...] = (
    *_timed("join", "requests", "JoinGroup requests", lambda rounds: rounds.joins),
    *_timed("sync", "requests", "SyncGroup requests", lambda rounds: rounds.syncs),
    _R(
        "assigned-partitions",
        "partitions",
        "Partitions that the active tasks of the member read.",
        lambda s: s.rounds.partitions,
    ),
    _R("is-leader", "0 or 1", "1 while the member leads its generation of the group.", lambda s: s.rounds.is_leader),
    _R(
        "leading-time-avg",
        "ms",
        "Average time until the member knows the assignments of a round that it leads: questions to the brokers, new "
        "internal topics, and the assignor.",
        lambda s: s.rounds.led.times.average(s.now_ms),
    ),
    _R(
        "leading-time-max",
        "ms",
        "Longest time until the member knows the assignments of a round that it leads.",
        lambda s: s.rounds.led.times.largest(s.now_ms),
    ),
)
"""The metrics that a member of a classic group has, and one of a streams group has not."""

TASK_ASSIGNOR: Final = InfoMetric(
    "task-assignor", "The [task assignor](assignors.md) that assigns the tasks while the member leads."
)
"""The assignor of a member of a classic group, which does not change while it runs."""

_IN_ROUNDS: Final[Mapping[str, str]] = {
    "rebalance-latency-avg": "Average time from JoinGroup until the member owns its tasks, and has closed others.",
    "rebalance-latency-max": "Longest time from JoinGroup until the member owns its tasks.",
    "rebalance-total": "Rebalances that the member has completed.",
    "rebalance-rate-per-hour": "Rebalances that the member has completed.",
}
"""The meanings that are others in a classic group."""

_OF_COORDINATOR: tuple[Metric[Any], ...] = (*HEARTBEAT_METRICS, *_OF_REBALANCES, *_OF_COMMITS)

COORDINATOR_METRIC_GROUPS: Final[Mapping[str, tuple[Metric[Any] | InfoMetric, ...]]] = {
    "consumer-coordinator-metrics": (
        *ROUND_METRICS,
        TASK_ASSIGNOR,
        *(evolve(each, doc=_IN_ROUNDS.get(each.name, each.doc)) for each in _OF_COORDINATOR),
    )
}
"""The metrics of the members of an application in a classic group, with the name of Kafka's group of metrics.

Their values are among those of `metrics()` of the member, but for the assignor's.
"""
