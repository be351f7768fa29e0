"""A round of a classic group: what its leader is given, and what it hands back."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.streams_leader.watched_topics import WatchedTopics
from kafka_groups.assignment import AssignmentConfigs, HighAvailabilityTaskAssignor, RackAwareStrategy, Registered
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TaskId

__all__ = ["MOST_BYTES", "ErrorForAll", "GroupRound", "LeaderSettings", "LeadingError", "LedRound"]

MOST_BYTES: Final = 900_000
"""More bytes of assignments are worth a warning. Brokers refuse a record of their log above `message.max.bytes`, which
is 1,048,588 unless it is set: SyncGroup answers UNKNOWN_SERVER_ERROR then."""


class LeadingError(KafkaGroupsError):
    """A group cannot be led, and another try would not help. The message says what to change."""


@frozen(kw_only=True)
class LeaderSettings:
    """The configuration of the application that its leader needs.

    Attributes:
        application_id: The application, which is the group.
        assignment: What concerns assignments.
        replication_factor: That of internal topics; -1 for the brokers' default.
        assignor: The task assignor; None for the default, `HighAvailabilityTaskAssignor`.
        pause_ms: The time until the next round if the assignor cannot tell the assignment, which then grows
            (`retry.backoff.max.ms`).
    """

    application_id: str
    assignment: AssignmentConfigs = field(factory=AssignmentConfigs)
    replication_factor: int = -1
    assignor: Registered | None = None
    pause_ms: int = 1_000

    @property
    def configs(self) -> AssignmentConfigs:
        """The configuration of assignments, together with that of the assignor."""
        return self.assignment if self.assignor is None else self.assignor.assignment_configs(self.assignment)

    @property
    def uses_racks(self) -> bool:
        """True if the strategy asks for racks."""
        return self.configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE

    @property
    def has_default_assignor(self) -> bool:
        """True if the default assigns tasks, also if the application names it."""
        return self.assignor is None or self.assignor.assignor is HighAvailabilityTaskAssignor

    @property
    def assignor_name(self) -> str:
        """The name of the assignor, for messages and metrics."""
        return HighAvailabilityTaskAssignor.__name__ if self.assignor is None else self.assignor.name


@frozen(kw_only=True)
class GroupRound:
    """A round that a member leads.

    Attributes:
        generation: Its generation.
        member_id: The leader, which is one of the members.
        members: The subscriptions of all members as JoinGroup has them, by member id.
        instance_ids: The instance ids of static members, by member id.
        topology: The topology of the application.
        sources: Its patterns, which read what the subscriptions of all members have together; None without any.
        settings: Its configuration.
        postponed: How many rounds in a row before this one its assignor could not tell the assignment.
    """

    generation: int
    member_id: str
    members: Mapping[str, bytes] = field(repr=False)
    instance_ids: Mapping[str, str] = field(factory=dict, repr=False)
    topology: GroupTopology = field(repr=False)
    sources: PatternSources | None = field(default=None, repr=False)
    settings: LeaderSettings
    postponed: int = 0


@frozen
class ErrorForAll:
    """An error that every member gets instead of tasks.

    Attributes:
        code: The code in the assignments: `INCOMPLETE_SOURCE_TOPICS`, `ASSIGNMENT_FAILED` or `SHUTDOWN_REQUESTED`.
        cause: The reason, for the leader's own application.
    """

    code: int
    cause: KafkaGroupsError


@frozen(kw_only=True)
class LedRound:
    """The result of a round.

    Attributes:
        generation: Its generation. A result for an older generation than the group's is worthless.
        assignments: The assignments as SyncGroup has them, by member id.
        error: The error that all members get, or None.
        warnings: Sentences for the log.
        warnings_once: Such that are not repeated.
        created_topics: The internal topics that were created for it.
        watched: The topics that tasks read. If they change, the leader joins again.
        is_postponed: Whether the assignor could not tell the assignment, so that members keep their tasks.
        unassigned: The tasks that the assignor has given to nobody.
        follow_up_ms: The time at which the leader joins again itself because the group's version cannot tell members
            such a time, in milliseconds since the epoch; None for never.
    """

    generation: int
    assignments: Mapping[str, bytes] = field(repr=False)
    error: ErrorForAll | None = None
    warnings: tuple[str, ...] = ()
    warnings_once: tuple[str, ...] = ()
    created_topics: tuple[str, ...] = ()
    watched: WatchedTopics = field(factory=WatchedTopics)
    is_postponed: bool = False
    unassigned: tuple[TaskId, ...] = ()
    follow_up_ms: int | None = None

    @property
    def size_bytes(self) -> int:
        """The size of all assignments together."""
        return sum(map(len, self.assignments.values()))

    @property
    def is_large(self) -> bool:
        """True if brokers may refuse so many bytes."""
        return self.size_bytes > MOST_BYTES
