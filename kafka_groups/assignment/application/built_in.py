"""The assignors of Kafka Streams, as classes."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from kafka_groups.assignment.application.algorithms.highly_available import highly_available
from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.sticky_tasks import legacy_sticky_tasks, sticky_tasks
from kafka_groups.assignment.application.task_assignor import TaskAssignor

__all__ = [
    "FallbackPriorTaskAssignor",
    "HighAvailabilityTaskAssignor",
    "LegacyStickyTaskAssignor",
    "StickyTaskAssignor",
]


class HighAvailabilityTaskAssignor(TaskAssignor):
    """Balances the load, and warms copies up before tasks move to processes without their state (KIP-441).

    The same state always gives the same assignment. While tasks are still to move, the group rebalances again after the
    probing interval.
    """

    def __repr__(self) -> str:
        return "HighAvailabilityTaskAssignor()"

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """Return the tasks of each process."""
        states = application_state.kafka_streams_states(compute_task_lags=True)
        configs = application_state.assignment_configs
        result = highly_available(states, application_state.all_tasks, configs)
        assignments = [plan.as_assignment() for plan in result.plans.values()]
        # While tasks are not where they shall be, the group has to look again whether copies have caught up (KIP-441).
        # Kafka Streams calls it a probing rebalance.
        return _asking_again(assignments, application_state) if result.moves else TaskAssignment(assignments)


class StickyTaskAssignor(TaskAssignor):
    """Leaves tasks in the processes that had them, as long as no process has more than its share (KIP-924).

    Tasks that are new, or that a process has too many of, go to processes that had copies of them, and otherwise to the
    least loaded ones. Copies are placed in the same way. Client tags do not count. Racks do if they are configured to;
    in Kafka Streams, only if both costs are configured, too.

    In Kafka Streams, the copies of tasks depend on chance: the same state gives different assignments there. Here, it
    always gives the same.

    Args:
        must_preserve_active_task_assignment: Whether no active task leaves its process, however unequal the loads are.
            Racks do not count then, and the group rebalances again after the probing interval. In Kafka Streams, it
            does so at once, and again and again.
    """

    def __init__(self, *, must_preserve_active_task_assignment: bool = False) -> None:
        self._must_preserve = must_preserve_active_task_assignment

    def __repr__(self) -> str:
        return f"StickyTaskAssignor(must_preserve_active_task_assignment={self._must_preserve})"

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """Return the tasks of each process."""
        assignments = sticky_tasks(application_state, must_preserve=self._must_preserve)
        return _asking_again(assignments, application_state) if self._must_preserve else TaskAssignment(assignments)


class LegacyStickyTaskAssignor(TaskAssignor):
    """Assigns as the internal class of Kafka Streams that `StickyTaskAssignor` was made from.

    It differs in who gets a task of several processes with equal loads: the one with the most threads. For the same
    state, it gives the same assignment as Java's class does if that gets sorted maps and sets.

    Args:
        must_preserve_active_task_assignment: Whether no active task leaves its process, however unequal the loads are.
            Racks still count if they are configured to, and may move tasks.
    """

    def __init__(self, *, must_preserve_active_task_assignment: bool = False) -> None:
        self._must_preserve = must_preserve_active_task_assignment

    def __repr__(self) -> str:
        return f"LegacyStickyTaskAssignor(must_preserve_active_task_assignment={self._must_preserve})"

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """Return the tasks of each process."""
        return TaskAssignment(legacy_sticky_tasks(application_state, must_preserve=self._must_preserve))


class FallbackPriorTaskAssignor(TaskAssignor):
    """Leaves all active tasks where they are, and lets the group rebalance again after the probing interval.

    Kafka Streams uses it when the lags of tasks cannot be found out. It pays no regard to racks.
    """

    def __repr__(self) -> str:
        return "FallbackPriorTaskAssignor()"

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """Return the tasks of each process."""
        assignments = legacy_sticky_tasks(application_state, must_preserve=True, uses_racks=False)
        return _asking_again(assignments, application_state)


def _asking_again(assignments: Sequence[KafkaStreamsAssignment], state: ApplicationState) -> TaskAssignment:
    """Return an assignment after which the group rebalances again when the probing interval has passed."""
    later = _later(state)
    # One deadline is enough: the group rebalances for all. Kafka gives it to one process, too.
    first = [each.with_followup_rebalance(later) for each in assignments[:1]]
    return TaskAssignment([*first, *assignments[1:]])


def _later(state: ApplicationState) -> datetime:
    try:
        return state.now + timedelta(milliseconds=state.assignment_configs.probing_rebalance_interval_ms)
    except OverflowError:  # the interval may be as long as 64 bits allow, which is a way to say never
        return datetime.max.replace(tzinfo=state.now.tzinfo)
