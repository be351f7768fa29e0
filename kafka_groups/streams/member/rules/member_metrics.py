"""Every metric of a member of a streams group: name, unit, meaning, and how it is read.

Kafka Streams has these names in the metrics of its consumers (`consumer-metrics`, `consumer-coordinator-metrics`) and,
for the latency of tasks, in those of its threads (KIP-1216). What Kafka does not have, such as the number of tasks, has
a name in the same style.
"""

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
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.streams_sensors import StreamsSensors

__all__ = ["MEMBER_METRICS", "MemberSources"]


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


_M = Metric[MemberSources]
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
