"""The result of an assignor, checked, and spread over the members of each process."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from attrs import frozen

from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.neutral import ApplicationInput, subscription_of
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.task_assignment_validation import first_mistake
from kafka_groups.assignment.application.task_assignor import (
    AssignedMember,
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
)
from kafka_groups.assignment.application.tasks import TaskInfo, source_partitions
from kafka_groups.assignment.application.threads import MemberShare, spread_over_threads
from kafka_groups.types import TaskId

__all__ = ["AssignmentOutcome", "outcome_of"]

_UNREADABLE = (AssignmentError.UNKNOWN_PROCESS_ID, AssignmentError.UNKNOWN_TASK_ID)
"""With these errors, tasks cannot be given to members."""


@frozen
class AssignmentOutcome:
    """The result of an assignor, as the group can use it.

    Attributes:
        error: What is wrong with it; `NONE` if it may be used.
        group_assignment: What each member gets, for the assignor's callback, too.
        group_subscription: What the members have told, for the assignor's callback.
        deadlines: When processes want another rebalance.
        detail: The process and the task that the error concerns; empty without one.
    """

    error: AssignmentError
    group_assignment: GroupAssignment
    group_subscription: GroupSubscription
    deadlines: Mapping[ProcessId, datetime]
    detail: str = ""

    @property
    def is_readable(self) -> bool:
        """True unless the error makes it impossible to give tasks to members."""
        return self.error not in _UNREADABLE


def outcome_of(given: ApplicationInput, state: ApplicationState, result: TaskAssignment) -> AssignmentOutcome:
    """Check the result of an assignor, and spread the tasks of each process over its members.

    Args:
        given: The group.
        state: What the assignor has seen of it.
        result: What it has returned.
    """
    mistake = first_mistake(state, result)
    error = AssignmentError.NONE if mistake is None else mistake.error
    members: dict[str, AssignedMember] = {}
    # With any other error, Kafka computes the assignment of members nevertheless, and shows it to the callback before
    # it refuses it (StreamsPartitionAssignor.assign).
    if error not in _UNREADABLE:
        processes = state.kafka_streams_states(compute_task_lags=True)
        members = dict(_members(state, processes, result.assignment))
    # Kafka tells the deadline to one member of the process, which rejoins then. In a streams group, the coordinator
    # keeps it.
    deadlines = {
        each.process_id: each.followup_rebalance_deadline
        for each in result.assignment
        if each.followup_rebalance_deadline is not None
    }
    detail = "" if mistake is None else mistake.detail
    return AssignmentOutcome(error, GroupAssignment(members), subscription_of(given), deadlines, detail)


def _members(
    state: ApplicationState,
    processes: Mapping[ProcessId, KafkaStreamsState],
    assignments: Iterable[KafkaStreamsAssignment],
) -> Iterable[tuple[str, AssignedMember]]:
    for assignment in assignments:
        spread = spread_over_threads(processes[assignment.process_id], assignment, state.all_tasks)
        for member_id, tasks in spread.items():
            yield member_id, _assigned(tasks, state.all_tasks)


def _assigned(tasks: MemberShare, known: Mapping[TaskId, TaskInfo]) -> AssignedMember:
    return AssignedMember(
        frozenset(tasks.active),
        frozenset(tasks.standby),
        source_partitions(tasks.active, known),
    )
