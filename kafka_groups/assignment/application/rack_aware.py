"""Rack-aware optimisation for assignors, as `TaskAssignmentUtils` has it in Kafka Streams (KIP-924, KIP-925).

Of equally cheap results, the order of processes decides. Here, that is the order of their ids. Kafka Streams goes over
the map that it gets: with a sorted map the results are the same.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Self

from attrs import evolve, frozen

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.algorithms.rack_aware.moves import move_active_tasks, move_standby_tasks
from kafka_groups.assignment.application.algorithms.rack_aware.racks import (
    PartitionFilter,
    RackCosts,
    are_racks_known,
    every_partition,
    is_changelog,
)
from kafka_groups.assignment.application.assignments import AssignedTask, AssignmentsByProcess, KafkaStreamsAssignment
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.types import TaskId

__all__ = ["RackAwareOptimizationParams", "optimize_rack_aware_active_tasks", "optimize_rack_aware_standby_tasks"]

_HIGHEST_COST: Final = 2**31 - 1


@frozen
class RackAwareOptimizationParams:
    """The tasks to optimise, and their costs. Make one with `of`.

    In Kafka Streams 4.3.1, the overrides only have an effect if both costs are configured, too. Here they always have.

    Attributes:
        application_state: The application.
        tasks: The tasks that may move; None if all may that are assigned.
        traffic_cost_override: What a partition in another rack costs; None if that is configured.
        non_overlap_cost_override: What a task that moves costs; None if that is configured.
    """

    application_state: ApplicationState
    tasks: frozenset[TaskId] | None = None
    traffic_cost_override: int | None = None
    non_overlap_cost_override: int | None = None

    @classmethod
    def of(cls, application_state: ApplicationState) -> Self:
        """Return parameters that let all tasks move, for the costs that are configured."""
        return cls(application_state)

    def for_stateful_tasks(self) -> Self:
        """Let only tasks with state move."""
        return self.for_tasks(task for task, info in self.application_state.all_tasks.items() if info.is_stateful)

    def for_stateless_tasks(self) -> Self:
        """Let only tasks without state move."""
        return self.for_tasks(task for task, info in self.application_state.all_tasks.items() if not info.is_stateful)

    def for_tasks(self, tasks: Iterable[TaskId]) -> Self:
        """Let only these tasks move.

        Raises:
            IllegalStateError: One of them is not a task of the application.
        """
        chosen = frozenset(tasks)
        unknown = sorted(chosen - self.application_state.all_tasks.keys())
        if unknown:
            raise IllegalStateError(
                f"Unknown task {unknown[0]}. Choose tasks from the all_tasks of the application state."
            )
        return evolve(self, tasks=chosen)

    def with_traffic_cost_override(self, cost: int) -> Self:
        """Set what a partition in another rack costs, instead of `rack.aware.assignment.traffic_cost`.

        Raises:
            ConfigurationError: The cost is negative, or too high for Kafka.
        """
        return evolve(self, traffic_cost_override=_checked("traffic cost", cost))

    def with_non_overlap_cost_override(self, cost: int) -> Self:
        """Set what a task that moves costs, instead of `rack.aware.assignment.non_overlap_cost`.

        Raises:
            ConfigurationError: The cost is negative, or too high for Kafka.
        """
        return evolve(self, non_overlap_cost_override=_checked("non-overlap cost", cost))

    @property
    def traffic_cost(self) -> int | None:
        """The cost of a partition in another rack; None if it is neither configured nor overridden."""
        configured = self.application_state.assignment_configs.rack_aware_traffic_cost
        return configured if self.traffic_cost_override is None else self.traffic_cost_override

    @property
    def non_overlap_cost(self) -> int | None:
        """The cost of a task that moves; None if it is neither configured nor overridden."""
        configured = self.application_state.assignment_configs.rack_aware_non_overlap_cost
        return configured if self.non_overlap_cost_override is None else self.non_overlap_cost_override

    def may_move(self, task: TaskId) -> bool:
        """Return whether a task may move."""
        return self.tasks is None or task in self.tasks


def optimize_rack_aware_active_tasks(params: RackAwareOptimizationParams, assignments: AssignmentsByProcess) -> None:
    """Let active tasks run where they cost least together. Each process keeps its number of them.

    All partitions of a task count: sources and changelogs. A copy of a task is dropped where the task now runs. As in
    Kafka Streams, nothing changes if the strategy is `none`, a cost is neither configured nor overridden, or the rack
    of a process or the racks of a partition are not known, whether the task may move or not.

    Args:
        params: What to optimise. The configuration has the strategy.
        assignments: One for each process. They are changed.

    Raises:
        IllegalStateError: A task that was chosen does not run in any process, or a process is not known.
    """
    plans = _plans(params, assignments)
    running = {task: process_id for process_id, plan in plans.items() for task in plan.active}
    costs = _costs(params, every_partition)
    # TaskAssignmentUtils.canPerformRackAwareOptimization in Kafka Streams: an optimisation that is impossible is none,
    # and no error.
    if costs is None:
        return
    tasks = running.keys() if params.tasks is None else params.tasks
    _check_running(tasks, running)
    move_active_tasks(tasks, plans, costs, _strategy(params))
    for process_id, plan in plans.items():
        # Removed from where it ran, and assigned in place of a copy, if there is one: a process has a task only once.
        for task in (task for task in plan.active if running[task] != process_id):
            assignments[running[task]].remove_task(AssignedTask.active(task))
            assignments[process_id].assign_task(AssignedTask.active(task))


def optimize_rack_aware_standby_tasks(params: RackAwareOptimizationParams, assignments: AssignmentsByProcess) -> None:
    """Let processes of different racks exchange copies of tasks if that makes them cost less.

    Changelogs count. Client tags do not, as in Kafka Streams. Nothing changes if the strategy is `none`, a cost is
    neither configured nor overridden, or the rack of a process or the racks of a changelog are not known.

    Only chosen tasks move, and those without copies are skipped. Kafka Streams 4.3.1 moves others, too, or throws an
    exception.

    Args:
        params: What to optimise. The configuration has the strategy.
        assignments: One for each process. They are changed.

    Raises:
        IllegalStateError: A process is not known.
    """
    plans = _plans(params, assignments)
    costs = _costs(params, is_changelog)
    if costs is None:
        return
    # Kafka asks whether the tags permit a move, with the source as the destination too, so they always do
    # (TaskAssignmentUtils.optimizeRackAwareStandbyTasks). Its rounds go over all copies even if tasks were chosen.
    move_standby_tasks(plans, costs, _strategy(params), lambda task, _source, _destination: params.may_move(task))
    for process_id, plan in plans.items():
        _set_standby(assignments[process_id], plan)


def _checked(name: str, cost: int) -> int:
    if not 0 <= cost <= _HIGHEST_COST:
        raise ConfigurationError(f"The {name} must be between 0 and {_HIGHEST_COST}, not {cost}.")
    return cost


def _strategy(params: RackAwareOptimizationParams) -> RackAwareStrategy:
    return params.application_state.assignment_configs.rack_aware_assignment_strategy


def _plans(params: RackAwareOptimizationParams, assignments: AssignmentsByProcess) -> Plans:
    states = params.application_state.kafka_streams_states(compute_task_lags=False)
    unknown = sorted(assignments.keys() - states.keys())
    if unknown:
        raise IllegalStateError(
            f"Unknown process {unknown[0]}. Assign tasks only to processes of the application state."
        )
    return {id_: ProcessPlan.of(states[id_], assignments[id_].tasks.values()) for id_ in sorted(assignments)}


def _costs(params: RackAwareOptimizationParams, counts: PartitionFilter) -> RackCosts | None:
    """Return what tasks cost, or None if they cannot be optimised."""
    traffic, non_overlap = params.traffic_cost, params.non_overlap_cost
    # Kafka's check asks the configured costs only, so that overrides alone never count. They do here: a program that
    # gives both costs means them.
    if _strategy(params) is RackAwareStrategy.NONE or traffic is None or non_overlap is None:
        return None
    states = params.application_state.kafka_streams_states(compute_task_lags=False)
    tasks = params.application_state.all_tasks
    if not are_racks_known(states, tasks.values(), counts):
        return None
    return RackCosts.of(states, tasks, counts, traffic, non_overlap)


def _check_running(tasks: Iterable[TaskId], running: Mapping[TaskId, ProcessId]) -> None:
    missing = sorted(set(tasks) - running.keys())
    if missing:
        raise IllegalStateError(f"Task {missing[0]} does not run in any process. Assign it first, or do not choose it.")


def _set_standby(assignment: KafkaStreamsAssignment, plan: ProcessPlan) -> None:
    before = {task.id for task in assignment.tasks.values() if not task.is_active}
    for task in before - plan.standby:
        assignment.remove_task(AssignedTask.standby(task))
    for task in plan.standby - before:
        assignment.assign_task(AssignedTask.standby(task))
