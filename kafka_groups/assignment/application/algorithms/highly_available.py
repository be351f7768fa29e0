"""The algorithm `highly_available`: balanced loads, reached by copies that catch up before tasks move (KIP-441)."""

from collections.abc import Mapping, Sequence

from attrs import frozen

from kafka_groups.assignment.application.algorithms.balance import balance, deal_out
from kafka_groups.assignment.application.algorithms.caught_up import CaughtUp
from kafka_groups.assignment.application.algorithms.least_loaded import LeastLoaded
from kafka_groups.assignment.application.algorithms.movements import Movements
from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan, empty_plans
from kafka_groups.assignment.application.algorithms.rack_aware.rack_awareness import RackAwareness
from kafka_groups.assignment.application.algorithms.standby_tasks import add_standby_tasks, have_equal_tags
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import KafkaStreamsState
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId

__all__ = ["HighlyAvailable", "highly_available"]

_TRAFFIC_COST, _NON_OVERLAP_COST = 10, 1
"""The default costs of a partition in another rack, and of a task that moves."""


@frozen
class HighlyAvailable:
    """The result of the algorithm.

    Attributes:
        plans: The tasks of each process.
        moves: The number of tasks that are where their state is, and shall move when copies have caught up.
    """

    plans: Mapping[ProcessId, ProcessPlan]
    moves: int


def highly_available(
    states: Mapping[ProcessId, KafkaStreamsState], tasks: Mapping[TaskId, TaskInfo], configs: AssignmentConfigs
) -> HighlyAvailable:
    """Assign all tasks.

    Args:
        states: The processes, with their lags.
        tasks: All tasks, in the order of tasks.
        configs: The configuration.
    """
    # The steps are those of HighAvailabilityTaskAssignor.assign in Kafka Streams: first the balanced assignment that
    # the group shall reach, as if all state were everywhere, and then, where state is missing, one that runs tasks
    # where their state is.
    plans = empty_plans(states)
    stateful = [task for task, info in tasks.items() if info.is_stateful]
    racks = RackAwareness.of(states, tasks, configs, (_TRAFFIC_COST, _NON_OVERLAP_COST))
    _balance_active(stateful, plans)
    racks.move_active(stateful, plans)
    _balance_standby(stateful, plans, configs, racks)
    # Active tasks and copies share one budget of warm-ups (max.warmup.replicas), active tasks first.
    movements = Movements(CaughtUp(plans, configs.acceptable_recovery_lag), configs.max_warmup_replicas)
    moves = movements.move_active(stateful) + movements.move_standby(stateful)
    # Stateless tasks come last: they need no state, so they fill what stateful ones have left.
    stateless = [task for task, info in tasks.items() if not info.is_stateful]
    _add_stateless(stateless, plans)
    racks.move_stateless(stateless, plans)
    return HighlyAvailable(plans, moves)


def _balance_active(stateful: Sequence[TaskId], plans: Plans) -> None:
    deal_out(stateful, plans)
    balance(plans, lambda plan: plan.active)


def _balance_standby(
    stateful: Sequence[TaskId], plans: Plans, configs: AssignmentConfigs, racks: RackAwareness
) -> None:
    # Without copies, racks of changelogs play no part either.
    if configs.num_standby_replicas == 0:
        return
    tags = configs.rack_aware_assignment_tags
    add_standby_tasks(stateful, plans, configs.num_standby_replicas, tags)
    # Copies that were spread by tags move only between processes with the same tags, or balancing would undo the
    # spreading (ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement).
    balance(plans, lambda plan: plan.standby, have_equal_tags if tags else _always)
    racks.move_standby(plans, keeps_tags=bool(tags))


def _always(_source: ProcessPlan, _destination: ProcessPlan) -> bool:
    return True


def _add_stateless(stateless: Sequence[TaskId], plans: Plans) -> None:
    # Copies do not count here, as in HighAvailabilityTaskAssignor.assignStatelessActiveTasks.
    least = LeastLoaded(plans, lambda plan: len(plan.active) / plan.threads)
    for task in stateless:
        plan = least.least(lambda _plan: True)
        if plan is not None:
            plan.active.add(task)
            least.changed(plan)
