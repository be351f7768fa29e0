"""Runs an assignor once, on one input, and tells it what became of the result."""

from attrs import evolve, field, frozen

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.neutral import ApplicationInput, application_state
from kafka_groups.assignment.application.outcome import AssignmentOutcome, outcome_of
from kafka_groups.assignment.application.registered import Registered
from kafka_groups.assignment.application.task_assignor import GroupAssignment, TaskAssignor
from kafka_groups.errors import IllegalStateError
from kafka_groups.errors.texts import represented

__all__ = ["AssignorRun", "Computed", "computed", "run_assignor"]


@frozen
class AssignorRun:
    """An assignor that has returned, and waits for its callback.

    Attributes:
        outcome: The tasks of each member, and what is wrong with the result.
    """

    outcome: AssignmentOutcome
    _assignor: TaskAssignor = field(repr=False)

    def tell(self, assignment: GroupAssignment) -> Exception | None:
        """Call `on_assignment_computed`. Return what it has raised, to be logged; None if nothing.

        Args:
            assignment: What the members get.
        """
        try:
            self._assignor.on_assignment_computed(assignment, self.outcome.group_subscription, self.outcome.error)
        except Exception as error:  # the assignor may be anybody's; its caller reports the error
            return error
        return None


@frozen
class Computed:
    """The result of an assignor for one input.

    Attributes:
        outcome: The tasks of each member, and what is wrong with the result.
        callback_error: What `on_assignment_computed` has raised, to be logged; None if nothing.
    """

    outcome: AssignmentOutcome
    callback_error: Exception | None = None


def computed(registered: Registered, given: ApplicationInput) -> Computed:
    """Have a registered assignor assign the tasks of an application, and tell it what each member gets.

    Args:
        registered: The assignor. Its configuration is added to that of the input.
        given: The application.

    Raises:
        TaskAssignmentError: It cannot tell now.
        IllegalStateError: It returned something else than a `TaskAssignment`.
        Exception: Whatever else its `assign` raises.
    """
    run = run_assignor(registered, given)
    return Computed(run.outcome, run.tell(run.outcome.group_assignment))


def run_assignor(registered: Registered, given: ApplicationInput) -> AssignorRun:
    """Have a registered assignor assign the tasks of an application. Its callback is the caller's to call.

    Args:
        registered: The assignor. Its configuration is added to that of the input.
        given: The application.

    Raises:
        TaskAssignmentError: It cannot tell now.
        IllegalStateError: It returned something else than a `TaskAssignment`.
        Exception: Whatever else its `assign` raises.
    """
    given = evolve(given, configs=registered.assignment_configs(given.configs))
    state = application_state(given)
    assignor = registered.new_assignor()
    result = assignor.assign(state)
    # Java's compiler makes sure of that.
    if not isinstance(result, TaskAssignment):
        raise IllegalStateError(
            f"The task assignor '{registered.name}' returned {represented(result)}. It must return a TaskAssignment."
        )
    return AssignorRun(outcome_of(given, state, result), assignor)
