"""The assignors of Kafka Streams, as classes."""

from datetime import timedelta

from kafka_groups.assignment.application.algorithms.highly_available import highly_available
from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.interface import TaskAssignor
from kafka_groups.assignment.application.states import ApplicationState

__all__ = ["HighAvailabilityTaskAssignor"]


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
        if result.moves and assignments:
            later = application_state.now + timedelta(milliseconds=configs.probing_rebalance_interval_ms)
            assignments[0] = assignments[0].with_followup_rebalance(later)
        return TaskAssignment(assignments)
