"""Counts and times of a member of a streams group, for its metrics."""

from collections.abc import Iterable

from attrs import define, field

from kafka_groups.client.membership.member_sensors import MemberSensors
from kafka_groups.client.windows import Windows
from kafka_groups.streams.member.rules.member_events import (
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)

__all__ = ["EventSensors", "RebalanceSensors", "RoundSensors", "StreamsSensors", "TimedCount"]


@define
class EventSensors:
    """Metrics of one kind of events: the number of tasks, and the time that the program took to handle the events.

    Attributes:
        tasks: The tasks of all events.
        latencies: Milliseconds from `poll` to the confirmation; for assigned tasks, to the next `poll`.
    """

    tasks: int = 0
    latencies: Windows = field(factory=Windows)


@define
class RebalanceSensors:
    """Changes of the assignment, from the response that brings one until the member owns it.

    Attributes:
        failed: How many ended because the member lost its tasks.
        failed_times: One value for each of them.
        last_ms: When the last one ended; None before the first.
        total_ms: How long all of them took.
        latencies: How long each took, in milliseconds.
    """

    failed: int = 0
    failed_times: Windows = field(factory=Windows)
    last_ms: int | None = None
    total_ms: int = 0
    latencies: Windows = field(factory=Windows)
    _begun_ms: int | None = None

    def begun(self, now_ms: int) -> None:
        """Note that the coordinator assigned other tasks."""
        # A newer assignment replaces the one that is being reconciled, and belongs to the same rebalance.
        self._begun_ms = now_ms if self._begun_ms is None else self._begun_ms

    def ended(self, now_ms: int) -> bool:
        """Note that the member owns what it was assigned. Return whether that ends a rebalance."""
        if self._begun_ms is None:
            return False
        took_ms, self._begun_ms, self.last_ms = now_ms - self._begun_ms, None, now_ms
        self.total_ms += took_ms
        self.latencies.record(took_ms, now_ms)
        return True

    def lost(self, now_ms: int) -> None:
        """Note that the member lost its tasks."""
        # Tasks that are lost while nothing moves are no failed rebalance.
        if self._begun_ms is not None:
            self.failed += 1
            self.failed_times.record(1, now_ms)
        self._begun_ms = None


@define
class TimedCount:
    """Something that takes time and happens again and again.

    Attributes:
        total: How often it has happened.
        times: How long it took each time, in milliseconds.
    """

    total: int = 0
    times: Windows = field(factory=Windows)

    def add(self, took_ms: int, now_ms: int) -> None:
        """Note that it has happened."""
        self.total += 1
        self.times.record(took_ms, now_ms)


@define
class RoundSensors:
    """Counts and times of a member of a classic group, whose members assign the tasks in rounds.

    Attributes:
        joins: JoinGroup, until all members have joined.
        syncs: SyncGroup, until the leader has assigned the tasks.
        led: Rounds that this member has led, from the answer to JoinGroup until it knows the assignments.
        is_leader: Whether it leads its generation.
        partitions: How many partitions its active tasks read.
    """

    joins: TimedCount = field(factory=TimedCount)
    syncs: TimedCount = field(factory=TimedCount)
    led: TimedCount = field(factory=TimedCount)
    is_leader: bool = False
    partitions: int = 0


@define
class StreamsSensors:
    """All counts and times of one member.

    Attributes:
        member: Heartbeats, and how many rebalances there were.
        rebalances: How long rebalances took.
        rounds: Those of a member of a classic group; None in a streams group.
        last_poll_ms: When the program last polled; None before the first time.
        between: Milliseconds from one poll to the next.
        idle: For each poll, the part of the time since the one before that it waited.
        assigned: Tasks that were assigned.
        revoked: Tasks that were revoked.
        lost: Tasks that were lost.
        commits: How many commits succeeded.
        commit_latencies: How long they took, in milliseconds.
    """

    member: MemberSensors = field(factory=MemberSensors)
    rebalances: RebalanceSensors = field(factory=RebalanceSensors)
    rounds: RoundSensors | None = None
    last_poll_ms: int | None = None
    between: Windows = field(factory=Windows)
    idle: Windows = field(factory=Windows)
    assigned: EventSensors = field(factory=EventSensors)
    revoked: EventSensors = field(factory=EventSensors)
    lost: EventSensors = field(factory=EventSensors)
    commits: int = 0
    commit_latencies: Windows = field(factory=Windows)
    _waited_ms: int = 0
    _assigned_ms: int | None = None
    _taken_ms: dict[TasksRevoked | TasksLost, int] = field(factory=dict)

    def rebalanced(self, now_ms: int) -> None:
        """Note that the member owns what it was assigned."""
        if self.rebalances.ended(now_ms):
            self.member.rebalanced(now_ms)

    def polled(self, now_ms: int) -> None:
        """Note that the program polls: it has started the tasks of earlier polls."""
        if self.last_poll_ms is not None:
            between_ms = now_ms - self.last_poll_ms
            self.between.record(between_ms, now_ms)
            if between_ms > 0:
                self.idle.record(min(1.0, self._waited_ms / between_ms), now_ms)
        self._waited_ms = 0
        if self._assigned_ms is not None:
            self.assigned.latencies.record(now_ms - self._assigned_ms, now_ms)
        self.last_poll_ms, self._assigned_ms = now_ms, None

    def waited(self, now_ms: int) -> None:
        """Note that a poll that had to wait ends."""
        self._waited_ms = 0 if self.last_poll_ms is None else now_ms - self.last_poll_ms

    def took(self, events: Iterable[StreamsMembershipEvent], now_ms: int) -> None:
        """Note what the program hears of."""
        for event in events:
            if isinstance(event, TasksAssigned):
                self.assigned.tasks += len(event.tasks.ids)
                self._assigned_ms = now_ms
            elif isinstance(event, TasksRevoked | TasksLost):
                self._of(event).tasks += len(event.tasks.ids)
                self._taken_ms[event] = now_ms

    def confirmed(self, event: TasksRevoked | TasksLost, now_ms: int) -> None:
        """Note that the program has closed the tasks of an event. A second time, nothing happens."""
        taken_ms = self._taken_ms.pop(event, None)
        if taken_ms is not None:
            self._of(event).latencies.record(now_ms - taken_ms, now_ms)

    def _of(self, event: TasksRevoked | TasksLost) -> EventSensors:
        return self.revoked if isinstance(event, TasksRevoked) else self.lost

    def committed(self, latency_ms: int, now_ms: int) -> None:
        """Note that a commit succeeded."""
        self.commits += 1
        self.commit_latencies.record(latency_ms, now_ms)
