"""Leads a round of a classic group of a streams application: from subscriptions to assignments.

`ask_for_round` asks the brokers. `led_round` computes, and may take seconds in a large group, so that callers run it on
another thread.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from attrs import evolve, field, frozen

from kafka_groups.admin.rules.streams_leader.assignments import encoded_assignments, encoded_errors, host_maps
from kafka_groups.admin.rules.streams_leader.group_round import (
    MOST_BYTES,
    ErrorForAll,
    GroupRound,
    LeadingError,
    LedRound,
)
from kafka_groups.admin.rules.streams_leader.hand_over import hand_over, inputs_of_tasks, readers_of
from kafka_groups.admin.rules.streams_leader.internal_topics import (
    check_counts,
    existing_counts,
    needed_topics,
    ready_topics,
    topics_of_topology,
)
from kafka_groups.admin.rules.streams_leader.lags import ChangelogEnds, ask_for_ends
from kafka_groups.admin.rules.streams_leader.leader_input import EPOCH, leader_input
from kafka_groups.admin.rules.streams_leader.strangers import warnings_about_strangers
from kafka_groups.admin.rules.streams_leader.subscriptions import (
    SHUTDOWN_REQUESTED,
    Subscriptions,
    read_subscriptions,
)
from kafka_groups.admin.rules.streams_leader.topology_counts import (
    TopologyCounts,
    missing_sources,
    topology_counts,
)
from kafka_groups.assignment import (
    AssignmentError,
    FallbackPriorTaskAssignor,
    HighAvailabilityTaskAssignor,
    ProcessId,
    Registered,
    TaskAssignmentError,
    TaskInfo,
)
from kafka_groups.assignment.application.assignor_run import Computed, computed
from kafka_groups.assignment.application.topology_tasks import SubtopologyTopics, tasks_of_topology
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.events import listed
from kafka_groups.errors.texts import counted, named, sentences
from kafka_groups.types import TaskId

__all__ = ["AskedRound", "ask_for_round", "led_round"]

INCOMPLETE_SOURCE_TOPICS: Final = 1
"""The error code if a source topic does not exist."""
ASSIGNMENT_FAILED: Final = 3
"""The error code if an assignor, or the topology, makes an assignment impossible."""


@frozen(kw_only=True)
class AskedRound:
    """A round about which the brokers have been asked.

    Attributes:
        given: The round.
        subscriptions: Its members.
        error: An error that ends it for all members, or None.
        tasks: The tasks.
        ends: The ends of their changelogs.
        created_topics: The internal topics that were created.
        read_counts: The numbers of partitions of the topics that tasks read.
    """

    given: GroupRound
    subscriptions: Subscriptions = field(repr=False)
    error: ErrorForAll | None = None
    tasks: Mapping[TaskId, TaskInfo] = field(factory=dict, repr=False)
    ends: ChangelogEnds = field(default=ChangelogEnds(None), repr=False)
    created_topics: tuple[str, ...] = ()
    read_counts: Mapping[str, int] = field(factory=dict)


# ------------------------------------------------------------------------------------------------ asking


async def ask_for_round(ask: Asking, ask_for_offsets: Asking, given: GroupRound) -> AskedRound:
    """Ask the brokers what a round needs, and create internal topics that are missing.

    Args:
        ask: Asks the brokers, as long as the leader may take.
        ask_for_offsets: Asks them for a shorter time. Without the ends of changelogs, tasks stay where they are.
        given: The round.

    Raises:
        LeadingError: The group cannot be led, and another try would not help.
        KafkaGroupsError: The brokers did not answer in time.
    """
    asked = AskedRound(given=given, subscriptions=read_subscriptions(given.members))
    leaving = asked.subscriptions.requesting_shutdown
    # The order of errors is that of StreamsPartitionAssignor.assign.
    if leaving:
        return _ended(asked, SHUTDOWN_REQUESTED, f"The members {listed(leaving)} ask all members to shut down")
    existing = await existing_counts(ask, topics_of_topology(given.topology))
    missing = missing_sources(given.topology, existing)
    if missing:
        return _ended(asked, INCOMPLETE_SOURCE_TOPICS, f"Source topics do not exist: {listed(missing)}. Create them")
    try:
        counts = topology_counts(given.topology, existing)
    except TaskAssignmentError as error:
        return evolve(asked, error=ErrorForAll(ASSIGNMENT_FAILED, error))
    created = await _ready(ask, given, counts, existing)
    tasks = _tasks(given, counts)
    ends = await ask_for_ends(ask_for_offsets, given.settings.application_id, tasks, created)
    return evolve(asked, tasks=tasks, ends=ends, created_topics=created, read_counts=counts.read)


def _ended(asked: AskedRound, code: int, text: str) -> AskedRound:
    return evolve(asked, error=ErrorForAll(code, LeadingError(sentences(text))))


async def _ready(
    ask: Asking, given: GroupRound, counts: TopologyCounts, existing: Mapping[str, int]
) -> tuple[str, ...]:
    """Check the internal topics that exist, create the others, and return those."""
    check_counts(given.topology, counts, existing)
    needed = needed_topics(given.topology, counts, given.settings.replication_factor)
    created, found = await ready_topics(ask, needed, existing)
    check_counts(given.topology, counts, found)
    return created


def _tasks(given: GroupRound, counts: TopologyCounts) -> dict[TaskId, TaskInfo]:
    known = {**counts.changelogs, **counts.read}
    topics = {
        each.subtopology_id: SubtopologyTopics(
            {name: counts.read[name] for name in sorted(each.read_topics)},
            {topic.name: known[topic.name] for topic in each.changelogs},
        )
        for each in given.topology.subtopologies
    }
    return tasks_of_topology(topics, lambda _partition: None, application_id=given.settings.application_id)


# ---------------------------------------------------------------------------------------------- computing


def led_round(asked: AskedRound, now_ms: int) -> LedRound:
    """Return the assignments of all members. It does not wait, but may compute for seconds in a large group.

    Args:
        asked: The round.
        now_ms: The time, in milliseconds since the epoch.

    Raises:
        LeadingError: A member's endpoint is invalid, or the result of an assignor is.
        Exception: Whatever else an assignor raises.
    """
    if asked.error is not None:
        return _ended_round(asked, asked.error)
    try:
        done = _checked(asked, now_ms)
    except TaskAssignmentError as error:
        return _ended_round(asked, ErrorForAll(ASSIGNMENT_FAILED, error))
    inputs = inputs_of_tasks(asked.tasks)
    target = done.outcome.group_assignment.members
    handed_over = hand_over(target, asked.subscriptions, asked.tasks, inputs, _deadlines(asked, done))
    maps = host_maps(asked.subscriptions, target, inputs)
    assignments = encoded_assignments(asked.subscriptions, handed_over, inputs, maps)
    return LedRound(
        generation=asked.given.generation,
        assignments=assignments,
        warnings=tuple(_warnings(asked, done, assignments, has_hosts=bool(maps.active))),
        created_topics=asked.created_topics,
        watched=asked.read_counts,
    )


def _ended_round(asked: AskedRound, error: ErrorForAll) -> LedRound:
    return LedRound(
        generation=asked.given.generation,
        assignments=encoded_errors(asked.subscriptions, error.code),
        error=error,
        created_topics=asked.created_topics,
    )


def _checked(asked: AskedRound, now_ms: int) -> Computed:
    assignor = _assignor(asked)
    done = computed(assignor, leader_input(asked.given, asked.subscriptions, asked.tasks, asked.ends, now_ms))
    error = done.outcome.error
    if error is not AssignmentError.NONE:
        raise LeadingError(f"The result of the task assignor {assignor} has {error.value} ({error.name}).")
    return done


def _assignor(asked: AskedRound) -> Registered:
    # Only the default is replaced if lags are not known. An assignor of a user is told that they are not
    # (StreamsPartitionAssignor.assign).
    if asked.given.settings.assignor is not None:
        return asked.given.settings.assignor
    return Registered(HighAvailabilityTaskAssignor if asked.ends.failure is None else FallbackPriorTaskAssignor)


def _deadlines(asked: AskedRound, done: Computed) -> dict[ProcessId, int]:
    """Return the times at which processes want another rebalance, in milliseconds since the epoch."""
    found = {
        process_id: (deadline - EPOCH) // timedelta(milliseconds=1)
        for process_id, deadline in done.outcome.deadlines.items()
    }
    if asked.given.settings.assignor is not None:
        return found
    # The deadline is one of the leader's clock, so its own process waits for it. The default assignor gives it to any.
    own = asked.subscriptions.members[asked.given.member_id].process_id
    return dict.fromkeys([own] if found else [], min(found.values(), default=0))


def _warnings(asked: AskedRound, done: Computed, assignments: Mapping[str, bytes], *, has_hosts: bool) -> Iterator[str]:
    yield from warnings_about_strangers(
        asked.subscriptions, asked.tasks, asked.read_counts, readers_of(inputs_of_tasks(asked.tasks))
    )
    if asked.ends.failure is not None:
        yield sentences(
            f"The ends of changelogs are not known, so tasks stay where they are: {named(asked.ends.failure)}"
        )
    if done.callback_error is not None:
        yield sentences(f"The callback of the task assignor failed: {named(done.callback_error)}")
    size = sum(map(len, assignments.values()))
    if size > MOST_BYTES:
        yield _about_size(size, has_hosts=has_hosts)


def _about_size(size: int, *, has_hosts: bool) -> str:
    remedy = "Leave out application.server, run " if has_hosts else "Run "
    return (
        f"The assignments of the group have {counted(size, 'byte')} together. Brokers refuse more than about "
        f"1,000,000, unless their message.max.bytes is larger. {remedy}fewer members, or raise that limit."
    )
