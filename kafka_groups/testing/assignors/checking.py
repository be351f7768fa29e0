"""A check of one assignment, without a story."""

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.testing.assignors.failure import AssignorTestError
from kafka_groups.testing.assignors.rules import mistakes_of

__all__ = ["check_task_assignment"]


def check_task_assignment(
    application_state: ApplicationState, task_assignment: TaskAssignment, *, allow_unassigned: bool = False
) -> None:
    """Check the assignment of an application by the rules of `AssignorRule`.

    It finds what `validate_task_assignment` finds, and also tasks that are active nowhere and processes that are named
    twice. It names all mistakes.

    Args:
        application_state: What the assignor has seen.
        task_assignment: What it has returned.
        allow_unassigned: Whether tasks may be active nowhere.

    Raises:
        AssignorTestError: The assignment breaks a rule.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    mistakes = list(mistakes_of(application_state, task_assignment, {}, allow_unassigned=allow_unassigned))
    if mistakes:
        raise AssignorTestError(mistakes)
