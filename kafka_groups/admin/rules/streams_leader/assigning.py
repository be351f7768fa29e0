"""Runs the task assignor of a group, and refuses results that cannot be used."""

from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings, LeadingError
from kafka_groups.assignment import (
    AssignmentError,
    FallbackPriorTaskAssignor,
    GroupAssignment,
    HighAvailabilityTaskAssignor,
    Registered,
    TaskAssignmentError,
)
from kafka_groups.assignment.application.assignor_run import AssignorRun, run_assignor
from kafka_groups.assignment.application.neutral import ApplicationInput
from kafka_groups.assignment.application.outcome import AssignmentOutcome
from kafka_groups.errors.texts import named, sentences

__all__ = ["assignor_of", "check_outcome", "run_in_leader", "tell_in_leader"]


def assignor_of(settings: LeaderSettings, *, knows_lags: bool) -> Registered:
    """Return the assignor of a round.

    Args:
        settings: The configuration of the application.
        knows_lags: Whether the lags of tasks are known.
    """
    # Only the default is replaced if lags are not known. An assignor of a user is told that they are not
    # (StreamsPartitionAssignor.assign).
    if settings.has_default_assignor and not knows_lags:
        return Registered(FallbackPriorTaskAssignor)
    return settings.assignor or Registered(HighAvailabilityTaskAssignor)


def run_in_leader(assignor: Registered, given: ApplicationInput) -> AssignorRun:
    """Run an assignor.

    Raises:
        TaskAssignmentError: It cannot tell now.
        LeadingError: It has failed otherwise. The cause is what it has raised.
    """
    try:
        return run_assignor(assignor, given)
    except (TaskAssignmentError, KeyboardInterrupt):
        raise
    # The assignor may be anybody's, and raise anything. sys.exit() in it must not end the program of the leader, and
    # asyncio.CancelledError must not pass for a round that is over.
    except BaseException as error:
        raise LeadingError(sentences(f"The task assignor {assignor} has failed: {named(error)}")) from error


def tell_in_leader(run: AssignorRun, assignment: GroupAssignment) -> BaseException | None:
    """Call the assignor's callback. Return what it has raised, whatever that is, or None."""
    try:
        return run.tell(assignment)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error


def check_outcome(assignor: Registered, outcome: AssignmentOutcome) -> None:
    """Refuse a wrong result of an assignor.

    Raises:
        LeadingError: It is wrong. The text names process and task.
    """
    if outcome.error is AssignmentError.NONE:
        return
    raise LeadingError(
        sentences(
            f"The task assignor {assignor} has returned an assignment with the error {outcome.error.name}",
            outcome.detail[:1].upper() + outcome.detail[1:],
        )
    )
