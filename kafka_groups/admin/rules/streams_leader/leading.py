"""Leads a round of a classic group of a streams application: from subscriptions to assignments.

`ask_for_round` asks the brokers. `led_round` computes, and may take seconds in a large group, so that callers run it on
another thread.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, field, frozen

from kafka_groups.admin.rules.streams_leader.application_tasks import application_tasks
from kafka_groups.admin.rules.streams_leader.assigning import (
    assignor_of,
    check_outcome,
    run_in_leader,
    tell_in_leader,
)
from kafka_groups.admin.rules.streams_leader.assignments import (
    assignments_of_members,
    encoded_errors,
    host_maps,
    told_to_assignor,
)
from kafka_groups.admin.rules.streams_leader.follow_up_times import follow_up_times, own_follow_up_ms
from kafka_groups.admin.rules.streams_leader.group_round import (
    MOST_BYTES,
    ErrorForAll,
    GroupRound,
    LeadingError,
    LedRound,
)
from kafka_groups.admin.rules.streams_leader.hand_over import (
    HandedOver,
    Inputs,
    Target,
    hand_over,
    inputs_of_tasks,
    readers_of,
)
from kafka_groups.admin.rules.streams_leader.internal_topics import (
    check_counts,
    needed_topics,
    ready_topics,
)
from kafka_groups.admin.rules.streams_leader.kept_tasks import MOST_KEPT, as_handed_over, kept_tasks, pause_after_ms
from kafka_groups.admin.rules.streams_leader.lags import ChangelogEnds, ask_for_ends
from kafka_groups.admin.rules.streams_leader.leader_input import leader_input
from kafka_groups.admin.rules.streams_leader.matched_sources import round_with_topics, with_patterns_of
from kafka_groups.admin.rules.streams_leader.rack_warnings import warnings_about_racks
from kafka_groups.admin.rules.streams_leader.replica_racks import ReplicaRacks
from kafka_groups.admin.rules.streams_leader.strangers import warnings_about_strangers
from kafka_groups.admin.rules.streams_leader.subscriptions import (
    SHUTDOWN_REQUESTED,
    LedMember,
    Subscriptions,
    read_subscriptions,
)
from kafka_groups.admin.rules.streams_leader.topology_counts import (
    TopologyCounts,
    missing_sources,
    topology_counts,
)
from kafka_groups.admin.rules.streams_leader.watched_topics import WatchedTopics
from kafka_groups.admin.rules.topic_creation import new_topics
from kafka_groups.admin.rules.topics import TopicReplicas, counts_of_topics
from kafka_groups.assignment import GroupAssignment, Registered, TaskAssignmentError, TaskInfo
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.events import listed
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted, named, place_of, sentences, text_of
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
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
        racks: The racks of the replicas of all topics.
    """

    given: GroupRound
    subscriptions: Subscriptions = field(repr=False)
    error: ErrorForAll | None = None
    tasks: Mapping[TaskId, TaskInfo] = field(factory=dict, repr=False)
    ends: ChangelogEnds = field(default=ChangelogEnds(None), repr=False)
    created_topics: tuple[str, ...] = ()
    read_counts: Mapping[str, int] = field(factory=dict)
    racks: ReplicaRacks = field(factory=lambda: ReplicaRacks({}), repr=False)

    @property
    def leader(self) -> LedMember:
        """The member that leads."""
        return self.subscriptions.members[self.given.member_id]

    @property
    def assignor(self) -> Registered:
        """The assignor that assigns the tasks."""
        return assignor_of(self.given.settings, knows_lags=self.ends.failure is None)


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
    given, topics = await round_with_topics(ask, given, asked.subscriptions)
    existing = counts_of_topics(topics)
    missing = missing_sources(given.topology, existing)
    if missing:
        return _ended(asked, INCOMPLETE_SOURCE_TOPICS, f"Source topics do not exist: {listed(missing)}. Create them")
    try:
        counts = topology_counts(given.topology, existing, with_patterns_of(given.sources))
    except TaskAssignmentError as error:
        return evolve(asked, error=ErrorForAll(ASSIGNMENT_FAILED, error))
    created, found = await _ready(ask, given, counts, existing)
    racks = await _racks(ask_for_offsets, given, {**topics, **found}, created)
    tasks = application_tasks(given.topology, counts, racks, given.settings.application_id)
    ends = await ask_for_ends(ask_for_offsets, given.settings.application_id, tasks, created)
    asked = evolve(asked, given=given, tasks=tasks, ends=ends, created_topics=created)
    return evolve(asked, read_counts=counts.read, racks=racks)


def _ended(asked: AskedRound, code: int, text: str) -> AskedRound:
    return evolve(asked, error=ErrorForAll(code, LeadingError(sentences(text))))


async def _ready(
    ask: Asking, given: GroupRound, counts: TopologyCounts, existing: Mapping[str, int]
) -> tuple[tuple[str, ...], dict[str, TopicReplicas]]:
    """Check the internal topics that exist, create the others, and return those, and what others have created."""
    check_counts(given.topology, counts, existing)
    needed = needed_topics(given.topology, counts, given.settings.replication_factor)
    created, found = await ready_topics(ask, needed, existing)
    check_counts(given.topology, counts, counts_of_topics(found))
    return created, found


async def _racks(
    ask: Asking, given: GroupRound, topics: Mapping[str, TopicReplicas], created: tuple[str, ...]
) -> ReplicaRacks:
    """Return the racks of replicas, also of topics that were just created."""
    # An assignor of a user may look at racks whatever the strategy is. The others do not without one.
    if given.settings.has_default_assignor and not given.settings.uses_racks:
        return ReplicaRacks(topics)
    try:
        return ReplicaRacks({**topics, **await new_topics(ask, created)})
    except KafkaGroupsError as error:
        # The group is led without them. The leader watches these partitions, and joins again when it knows the racks.
        return ReplicaRacks(topics, error)


# ---------------------------------------------------------------------------------------------- computing


def led_round(asked: AskedRound, now_ms: int) -> LedRound:
    """Return the assignments of all members. It does not wait, but may compute for seconds in a large group.

    Args:
        asked: The round.
        now_ms: The time, in milliseconds since the epoch.

    Raises:
        LeadingError: A member's endpoint is invalid, the assignor has failed, or its result is wrong.
    """
    if asked.error is not None:
        return _ended_round(asked, asked.error)
    assignor = asked.assignor
    given = leader_input(asked.given, asked.subscriptions, asked.tasks, asked.ends, now_ms)
    try:
        run = run_in_leader(assignor, given)
    except TaskAssignmentError as error:
        return _postponed_round(asked, assignor, error, now_ms)
    target = run.outcome.group_assignment.members
    inputs = inputs_of_tasks(asked.tasks)
    times = follow_up_times(assignor, run.outcome.deadlines, asked.leader.process_id, now_ms)
    handed_over = hand_over(target, asked.subscriptions, asked.tasks, inputs, times)
    done, assignments = _encoded(asked, target, handed_over, inputs)
    # The callback hears what members really get, and hears it before a wrong result is refused: the order of
    # StreamsPartitionAssignor.assign.
    told = told_to_assignor(handed_over, inputs, assignments) if run.outcome.is_readable else GroupAssignment()
    callback_error = tell_in_leader(run, told)
    check_outcome(assignor, run.outcome)
    more = () if callback_error is None else (_about_callback(assignor, callback_error),)
    return evolve(done, warnings=(*done.warnings, *more), unassigned=_unassigned(asked, target))


def _postponed_round(asked: AskedRound, assignor: Registered, error: TaskAssignmentError, now_ms: int) -> LedRound:
    """Return a round in which all members keep their tasks, or get an error if there were many such rounds."""
    times = asked.given.postponed
    if times >= MOST_KEPT:
        return _ended_round(asked, ErrorForAll(ASSIGNMENT_FAILED, _given_up(assignor, error)))
    settings = asked.given.settings
    pause_ms = pause_after_ms(settings.pause_ms, times)
    inputs = inputs_of_tasks(asked.tasks)
    kept = kept_tasks(asked.subscriptions, asked.tasks, inputs, settings.assignment.num_standby_replicas)
    handed_over = as_handed_over(kept, asked.given.member_id, now_ms + pause_ms)
    done, _ = _encoded(asked, kept, handed_over, inputs)
    why = sentences(
        f"The task assignor {assignor} cannot tell the assignment now: {_why(error)}",
        "Members keep the tasks that they have, and tasks that nobody has wait",
        f"It is asked again in {pause_ms} ms. That was try {times + 1} of {MOST_KEPT + 1}, and all members end after "
        "the last one",
    )
    return evolve(done, warnings=(*done.warnings, why), is_postponed=True)


def _given_up(assignor: Registered, error: TaskAssignmentError) -> TaskAssignmentError:
    text = f"The task assignor {assignor} could not tell the assignment in {MOST_KEPT + 1} rounds in a row"
    given_up = TaskAssignmentError(sentences(f"{text}: {_why(error)}"))
    given_up.__cause__ = error
    return given_up


def _why(error: TaskAssignmentError) -> str:
    return text_of(error) or "it gives no reason"


def _encoded(
    asked: AskedRound, target: Target, handed_over: Mapping[str, HandedOver], inputs: Inputs
) -> tuple[LedRound, Mapping[str, ConsumerProtocolAssignment]]:
    """Return the round in which members get tasks, with their assignments before these are bytes."""
    maps = host_maps(asked.subscriptions, target, inputs)
    assignments = assignments_of_members(asked.subscriptions, handed_over, inputs, maps)
    done = LedRound(
        generation=asked.given.generation,
        assignments={member_id: each.encode() for member_id, each in assignments.items()},
        created_topics=asked.created_topics,
        watched=WatchedTopics(asked.read_counts, asked.racks.used),
        warnings_once=tuple(warnings_about_racks(asked.given.settings.configs, asked.subscriptions, asked.racks)),
        follow_up_ms=own_follow_up_ms(asked.subscriptions.version, handed_over.values()),
    )
    return evolve(done, warnings=tuple(_warnings(asked, done.size_bytes, has_hosts=bool(maps.active)))), assignments


def _ended_round(asked: AskedRound, error: ErrorForAll) -> LedRound:
    return LedRound(
        generation=asked.given.generation,
        assignments=encoded_errors(asked.subscriptions, error.code),
        error=error,
        created_topics=asked.created_topics,
    )


def _unassigned(asked: AskedRound, target: Target) -> tuple[TaskId, ...]:
    return tuple(in_task_order(asked.tasks.keys() - {task for each in target.values() for task in each.active_tasks}))


def _about_callback(assignor: Registered, error: BaseException) -> str:
    return sentences(f"The callback of the task assignor {assignor} has failed: {named(error)}", place_of(error))


def _warnings(asked: AskedRound, size: int, *, has_hosts: bool) -> Iterator[str]:
    yield from warnings_about_strangers(
        asked.subscriptions,
        asked.tasks,
        asked.read_counts,
        readers_of(inputs_of_tasks(asked.tasks)),
        asked.given.sources,
    )
    if asked.ends.failure is not None:
        if asked.given.settings.has_default_assignor:
            effect = "The ends of changelogs are not known, so tasks stay where they are"
        else:
            effect = "The ends of changelogs are not known, so the task assignor gets no lags"
        yield sentences(f"{effect}: {named(asked.ends.failure)}")
    if size > MOST_BYTES:
        yield _about_size(size, has_hosts=has_hosts)


def _about_size(size: int, *, has_hosts: bool) -> str:
    remedy = "Leave out application.server, run " if has_hosts else "Run "
    return (
        f"The assignments of the group have {counted(size, 'byte')} together. Brokers refuse more than about "
        f"1,000,000, unless their message.max.bytes is larger. {remedy}fewer members, or raise that limit."
    )
