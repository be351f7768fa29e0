"""The configuration of a member of a classic group, and what it has from its client."""

import random
from collections.abc import Callable, Mapping

from attrs import field, frozen

from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.streams.member.classic.dormant_state import DormantState, NoDormantState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId

__all__ = ["ClassicSettings", "ClassicSurroundings"]


@frozen(kw_only=True)
class ClassicSettings:
    """The times of a member, in milliseconds.

    Attributes:
        session_ms: How long the coordinator keeps a member that it does not hear of (`session.timeout.ms`).
        heartbeat_ms: The time between two heartbeats (`heartbeat.interval.ms`).
        request_timeout_ms: How long to wait for most responses (`request.timeout.ms`).
        pause_ms: The time between two rounds for a reason that does not go away (`retry.backoff.max.ms`).
        probing_interval_ms: The time between two rounds while tasks wait for their state, if this member leads
            (`probing.rebalance.interval.ms`).
    """

    session_ms: int = 45_000
    heartbeat_ms: int = 3_000
    request_timeout_ms: int = 30_000
    pause_ms: int = 1_000
    probing_interval_ms: int = 600_000


@frozen
class ClassicSurroundings:
    """The parts of a membership that come from its client.

    Attributes:
        positions: Returns the positions of the tasks that this member has.
        wall_ms: Returns milliseconds since the epoch.
        backoff: Returns a timer for failures in a row.
        rng: Source of jitter.
        dormant: The state of tasks that no member of its process has.
        sources: The patterns of the topology; None without any.
    """

    positions: Callable[[], Mapping[TaskId, TaskPosition]]
    wall_ms: Callable[[], int]
    backoff: Callable[[], BackoffTimer]
    rng: random.Random
    dormant: DormantState = field(factory=NoDormantState)
    sources: PatternSources | None = None
