"""The sticky algorithm with rack-aware optimisation, as the two classes of Kafka Streams combine them."""

from typing import Final

from kafka_groups.assignment.application.algorithms.rack_aware.rack_awareness import RackAwareness
from kafka_groups.assignment.application.algorithms.sticky import Sticky
from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.rack_aware import (
    RackAwareOptimizationParams,
    optimize_rack_aware_active_tasks,
    optimize_rack_aware_standby_tasks,
)
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.types import TaskId

__all__ = ["legacy_sticky_tasks", "sticky_tasks"]

_TRAFFIC_COST: Final = 1
_NON_OVERLAP_COST: Final = 10
"""The default costs of a partition in another rack, and of a task that moves."""
_STATELESS_COSTS: Final = (1, 0)
"""The costs for tasks without state, no matter what is configured."""


def legacy_sticky_tasks(
    state: ApplicationState, *, must_preserve: bool, uses_racks: bool = True
) -> list[KafkaStreamsAssignment]:
    """Return the assignments of processes that the internal class of Kafka Streams makes.

    Args:
        state: The application.
        must_preserve: Whether active tasks stay where they are, as far as racks do not count.
        uses_racks: Whether racks count if they are configured to.
    """
    states, configs = state.kafka_streams_states(compute_task_lags=False), state.assignment_configs
    sticky = Sticky.of(states, is_legacy=True)
    sticky.place_active(state.all_tasks, must_preserve=must_preserve)
    stateful, stateless = _by_kind(state)
    racks = RackAwareness.of(states, state.all_tasks, configs, (_TRAFFIC_COST, _NON_OVERLAP_COST))
    # FallbackPriorTaskAssignor passes no RackAwareTaskAssignor on, so nothing is optimised. With racks, tasks may move
    # even if they are to be preserved, as in LegacyStickyTaskAssignor.optimizeActive.
    if uses_racks:
        racks.move_active(stateful, sticky.plans)
        racks.move_stateless(stateless, sticky.plans)
    sticky.place_standby(stateful, configs.num_standby_replicas)
    if uses_racks:
        racks.move_standby(sticky.plans, keeps_tags=False)
    return list(_assignments(sticky).values())


def sticky_tasks(state: ApplicationState, *, must_preserve: bool) -> list[KafkaStreamsAssignment]:
    """Return the assignments of processes that the class of KIP-924 makes.

    Racks do not count if active tasks must be preserved.
    """
    sticky = Sticky.of(state.kafka_streams_states(compute_task_lags=False), is_legacy=False)
    sticky.place_active(state.all_tasks, must_preserve=must_preserve)
    # Active tasks are optimised before there are copies, or a task could move to where its copy is
    # (StickyTaskAssignor.assign in Kafka Streams).
    if not must_preserve:
        _move_active(state, sticky)
    sticky.place_standby(_by_kind(state)[0], state.assignment_configs.num_standby_replicas)
    assignments = _assignments(sticky)
    if not must_preserve:
        optimize_rack_aware_standby_tasks(_parameters(state), assignments)
    return list(assignments.values())


def _move_active(state: ApplicationState, sticky: Sticky) -> None:
    assignments = _assignments(sticky)
    traffic, non_overlap = _STATELESS_COSTS
    stateless = RackAwareOptimizationParams.of(state).for_stateless_tasks()
    stateless = stateless.with_traffic_cost_override(traffic).with_non_overlap_cost_override(non_overlap)
    for parameters in (_parameters(state).for_stateful_tasks(), stateless):
        optimize_rack_aware_active_tasks(parameters, assignments)
    for process_id, plan in sticky.plans.items():
        plan.active = {task.id for task in assignments[process_id].tasks.values()}


def _parameters(state: ApplicationState) -> RackAwareOptimizationParams:
    """Return parameters with the costs that are configured, or else the default ones."""
    given = RackAwareOptimizationParams.of(state)
    traffic = _TRAFFIC_COST if given.traffic_cost is None else given.traffic_cost
    non_overlap = _NON_OVERLAP_COST if given.non_overlap_cost is None else given.non_overlap_cost
    return given.with_traffic_cost_override(traffic).with_non_overlap_cost_override(non_overlap)


def _by_kind(state: ApplicationState) -> tuple[list[TaskId], list[TaskId]]:
    """Return the tasks with changelogs, and those without."""
    stateful = [task for task, info in state.all_tasks.items() if info.is_stateful]
    return stateful, [task for task, info in state.all_tasks.items() if not info.is_stateful]


def _assignments(sticky: Sticky) -> dict[ProcessId, KafkaStreamsAssignment]:
    return {process_id: plan.as_assignment() for process_id, plan in sticky.plans.items()}
