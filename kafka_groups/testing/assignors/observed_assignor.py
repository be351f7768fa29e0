"""Runs an assignor as a group does, and keeps what it has seen and returned."""

from collections.abc import Mapping
from datetime import datetime

from attrs import define, field

from kafka_groups.assignment.application.assignments import AssignedTask, TaskAssignment
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.registered import Registered
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import (
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    TaskAssignor,
)
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId

__all__ = ["ObservedAssignor", "is_same_assignment"]

_Content = list[tuple[ProcessId, Mapping[TaskId, AssignedTask], datetime | None]]


@define(eq=False)
class ObservedAssignor(TaskAssignor):
    """A registered assignor, whose input and result are kept.

    Attributes:
        registered: The assignor. A class is instantiated for each assignment.
        state: What it has seen last.
        result: What it has returned last.
        error: What its `assign` has raised last, or None.
        callback_error: What its callback has raised last, or None.
    """

    registered: Registered
    state: ApplicationState | None = None
    result: TaskAssignment | None = None
    error: Exception | None = None
    callback_error: Exception | None = None
    _made: TaskAssignor = field(init=False)

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """Return what the assignor returns."""
        self.state = application_state
        self._made = self.registered.new_assignor()
        try:
            self.result = self._made.assign(application_state)
        except Exception as error:
            self.error = error
            raise
        return self.result

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        """Pass the result on to the assignor."""
        try:
            self._made.on_assignment_computed(assignment, subscription, error)
        except Exception as failure:
            self.callback_error = failure
            raise

    def seen(self) -> tuple[ApplicationState, TaskAssignment]:
        """Return what it has seen and returned last.

        Raises:
            IllegalStateError: It has not returned anything yet.
        """
        if self.state is None or self.result is None:
            raise IllegalStateError("The assignor has not assigned anything yet.")
        return self.state, self.result


def is_same_assignment(one: TaskAssignment, other: TaskAssignment) -> bool:
    """Return whether two assignments give the same tasks and the same follow-ups."""
    return _content(one) == _content(other)


def _content(assignment: TaskAssignment) -> _Content:
    found = ((each.process_id, dict(each.tasks), each.followup_rebalance_deadline) for each in assignment.assignment)
    return sorted(found, key=lambda each: each[0])
