"""Rack-aware optimisation inside an algorithm, by the rules of the internal classes of Kafka Streams."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Self

from attrs import evolve, frozen

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.algorithms.rack_aware.moves import move_active_tasks, move_standby_tasks
from kafka_groups.assignment.application.algorithms.rack_aware.racks import (
    PartitionFilter,
    RackCosts,
    are_racks_known,
    every_partition,
    is_changelog,
    is_source,
)
from kafka_groups.assignment.application.configs import AssignmentConfigs, RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import KafkaStreamsState
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId

__all__ = ["RackAwareness"]

_STATELESS_TRAFFIC, _STATELESS_NON_OVERLAP = 1, 0


@frozen
class RackAwareness:
    """Moves tasks to racks where they cost less, if the strategy asks for it and all racks are known.

    Sources count for active tasks, and changelogs for copies.

    Attributes:
        strategy: One of the two strategies, or `none`, with which nothing moves.
        sources: What active tasks cost.
        changelogs: What copies cost; None if there shall be none.
    """

    strategy: RackAwareStrategy
    sources: RackCosts
    changelogs: RackCosts | None

    @classmethod
    def of(
        cls,
        states: Mapping[ProcessId, KafkaStreamsState],
        tasks: Mapping[TaskId, TaskInfo],
        configs: AssignmentConfigs,
        default_costs: tuple[int, int],
    ) -> Self:
        """Return it for an application.

        Args:
            states: The processes.
            tasks: All tasks.
            configs: The configuration.
            default_costs: What a partition in another rack and a task that moves cost, unless that is configured.
        """
        strategy, counts = configs.rack_aware_assignment_strategy, _counting(configs)
        # There are two reasons to leave everything as it is (RackAwareTaskAssignor.canEnableRackAwareAssignor in Kafka
        # Streams): no strategy is configured, or a rack is unknown, so that costs could not be computed. One unknown
        # rack is enough.
        if strategy is RackAwareStrategy.NONE or not are_racks_known(states, tasks.values(), counts):
            return cls(RackAwareStrategy.NONE, RackCosts({}, {}, 0, 0), None)
        given = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
        # A cost that is not configured is the algorithm's. High availability prefers less traffic (10 to 1), and sticky
        # fewer moves (1 to 10).
        traffic, non_overlap = (
            default if cost is None else cost for cost, default in zip(given, default_costs, strict=True)
        )
        sources = RackCosts.of(states, tasks, is_source, traffic, non_overlap)
        if configs.num_standby_replicas == 0:
            return cls(strategy, sources, None)
        return cls(strategy, sources, RackCosts.of(states, tasks, is_changelog, traffic, non_overlap))

    def move_active(self, tasks: Iterable[TaskId], plans: Plans) -> None:
        """Let active tasks with state run where they cost less."""
        if self.strategy is not RackAwareStrategy.NONE:
            move_active_tasks(tasks, plans, self.sources, self.strategy)

    def move_stateless(self, tasks: Iterable[TaskId], plans: Plans) -> None:
        """Let active tasks without state run where they read least from other racks. It costs nothing to move them."""
        # These costs are fixed, whatever is configured (RackAwareTaskAssignor.STATELESS_TRAFFIC_COST).
        if self.strategy is not RackAwareStrategy.NONE:
            costs = evolve(self.sources, traffic=_STATELESS_TRAFFIC, non_overlap=_STATELESS_NON_OVERLAP)
            move_active_tasks(tasks, plans, costs, self.strategy)

    def move_standby(self, plans: Plans, *, keeps_tags: bool) -> None:
        """Keep copies where they cost less, always by `min_traffic`.

        Args:
            plans: The processes, which are changed.
            keeps_tags: Whether the processes of a task shall not have fewer different client tags than before.
        """
        # RackAwareTaskAssignor.optimizeStandbyTasks always uses `min_traffic`, even if active tasks are placed by
        # `balance_subtopology`.
        if self.changelogs is not None:
            may_move = partial(_keeps_tags, plans) if keeps_tags else _always
            move_standby_tasks(plans, self.changelogs, RackAwareStrategy.MIN_TRAFFIC, may_move)


def _counting(configs: AssignmentConfigs) -> PartitionFilter:
    """Return what tells the partitions whose racks must be known: those of changelogs only if there are copies."""
    # Changelogs are not in the metadata of the subscription, so Kafka describes their topics only when there are copies
    # to place.
    return every_partition if configs.num_standby_replicas else is_source


def _always(_task: TaskId, _source: ProcessPlan, _destination: ProcessPlan) -> bool:
    return True


def _keeps_tags(plans: Plans, task: TaskId, source: ProcessPlan, destination: ProcessPlan) -> bool:
    """Return whether the processes of a task have as many tags with different values if its copy moves.

    All client tags count, not only those that are configured.
    """
    # The rule of ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement with four parameters: the processes that have
    # the task may not become less diverse.
    others = [plan for plan in plans.values() if plan is not source and plan.has(task)]
    return _distinct_tags([*others, destination]) >= _distinct_tags([*others, source])


def _distinct_tags(plans: Iterable[ProcessPlan]) -> int:
    return len({tag for plan in plans for tag in plan.state.client_tags.items()})
