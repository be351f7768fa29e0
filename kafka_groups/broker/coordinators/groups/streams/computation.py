"""The computation of an assignment that takes its time (KIP-924): whether one is running, and what became of the last.

It is soft state of a group. While it runs, members keep the tasks that they have.
"""

import logging

from attrs import define, frozen

from kafka_groups.assignment import TaskAssignmentError
from kafka_groups.assignment.application.assignor_run import Computed
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.errors import IllegalStateError, UnknownServerError
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.errors.texts import text_of

__all__ = ["AssignmentComputation", "is_wanted", "note_failure"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

_SHORTEST_WAIT_MS = 100
_LONGEST_WAIT_MS = 30_000


@frozen
class _FailedComputation:
    """A computation that has failed.

    Attributes:
        epoch: The group epoch that it was for.
        assignor: The name of the assignor.
        error: The error.
        until_ms: The time of the next try.
        times: How often it has failed in a row.
    """

    epoch: int
    assignor: str
    error: Exception
    until_ms: int
    times: int


@define
class AssignmentComputation:
    """The computation of a group.

    Attributes:
        is_running: Whether the assignor is running.
    """

    is_running: bool = False
    _failure: _FailedComputation | None = None

    def may_begin(self, epoch: int, assignor: str, now_ms: int) -> bool:
        """Return whether to run the assignor now.

        Args:
            epoch: The group epoch.
            assignor: The name of the group's assignor.
            now_ms: The time.

        Raises:
            UnknownServerError: It has failed for this epoch, and it is too early to try again.
        """
        # One computation at a time for each group. If the epoch has increased, the running one is discarded when it
        # returns (`is_wanted`), and the next heartbeat begins another.
        if self.is_running:
            return False
        # A failure counts only for the group epoch and the assignor that it was for: changed members, topics or
        # configurations may have removed its cause, and then the assignor runs at once.
        failure = self._failure
        if failure is None or (failure.epoch, failure.assignor) != (epoch, assignor) or now_ms >= failure.until_ms:
            return True
        # KIP-924 has TaskAssignmentException for errors that may pass, so members go on. Any other error is one of the
        # assignor itself, and heartbeats fail as in Kafka (GroupMetadataManager.maybeUpdateStreamsTargetAssignment).
        if not isinstance(failure.error, TaskAssignmentError):
            told = text_of(failure.error)
            raise UnknownServerError(f"Failed to compute a new target assignment for epoch {epoch}: {told}")
        return False

    def succeeded(self) -> None:
        """Forget earlier failures."""
        self._failure = None

    def failed(self, epoch: int, assignor: str, error: Exception, interval_ms: int, now_ms: int) -> int:
        """Note that the assignor could not be used.

        Args:
            epoch: The group epoch that it was run for.
            assignor: Its name.
            error: What it raised, or what is wrong with its result.
            interval_ms: The time until the first new try. It grows to 30 s while the same assignor fails.
            now_ms: The time.

        Returns:
            The time until the next try.
        """
        known = self._failure
        # Failures are counted across epochs, so that a broken assignor does not run at full rate while members join and
        # leave. Another assignor starts from the beginning.
        times = known.times + 1 if known is not None and known.assignor == assignor else 1
        wait_ms = min(max(interval_ms, _SHORTEST_WAIT_MS) << min(times - 1, 10), _LONGEST_WAIT_MS)
        self._failure = _FailedComputation(epoch, assignor, error, now_ms + wait_ms, times)
        return wait_ms


def is_wanted(group: StreamsGroup, effect: ComputeAssignment) -> bool:
    """Return whether the group still needs what was computed: for its epoch, and for its members."""
    # Members are compared as well because a static member may have been replaced in the same epoch: its process has
    # another member id now.
    return group.needs_target and group.epoch == effect.epoch and group.members.keys() == effect.given.members.keys()


def note_failure(
    computation: AssignmentComputation,
    effect: ComputeAssignment,
    result: Computed | Exception,
    interval_ms: int,
    now_ms: int,
) -> None:
    """Note and log that an assignor raised an error, or that its result cannot be used.

    After a `TaskAssignmentError`, members keep the tasks that they have. After anything else, their heartbeats fail, as
    with Kafka.
    """
    error = result
    if isinstance(error, Computed):
        error = IllegalStateError(f"its result has the error {error.outcome.error.name}: {error.outcome.detail}")
    name = effect.assignor.name
    wait_ms = computation.failed(effect.epoch, name, error, interval_ms, now_ms)
    _log.warning(
        "group %s: the task assignor %s failed for epoch %d, and runs again in %d ms: %s",
        effect.group_id,
        name,
        effect.epoch,
        wait_ms,
        text_of(error),
        exc_info=None if isinstance(error, TaskAssignmentError) else error,
    )
