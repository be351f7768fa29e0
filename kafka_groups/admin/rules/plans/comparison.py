"""The changes that a result means for a group: moves, loads, and traffic between racks."""

from collections.abc import Mapping

from attrs import evolve, frozen

from kafka_groups.admin.rules.plans.copy_costs import CopyCosts
from kafka_groups.admin.rules.plans.loads import planned_loads, rack_traffic
from kafka_groups.admin.rules.plans.moves import GroupPlacement, planned_moves
from kafka_groups.admin.rules.plans.plan_members import PlanMembers
from kafka_groups.admin.rules.plans.plan_values import StreamsPlan
from kafka_groups.admin.rules.plans.planned_target import PlannedTarget, RoleTasks
from kafka_groups.assignment import TaskInfo
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.types import TaskId

__all__ = ["GroupBefore", "unassigned_tasks", "with_changes"]


@frozen(kw_only=True)
class GroupBefore:
    """A group before a change.

    Attributes:
        tasks: Its tasks.
        members: Its members, with the tasks that they have.
        costs: The costs of copying the state of tasks.
    """

    tasks: Mapping[TaskId, TaskInfo]
    members: PlanMembers
    costs: CopyCosts


def with_changes(plan: StreamsPlan, before: GroupBefore, future: PlanMembers, target: PlannedTarget) -> StreamsPlan:
    """Return a plan with what changes. A result that cannot be read changes nothing.

    Args:
        plan: The plan.
        before: The group before the change.
        future: The members that it would have.
        target: Their tasks.
    """
    if target.members is None:
        return plan
    everyone = {**future, **before.members}
    processes = {id_: str(member.process_id) for id_, member in everyone.items()}
    had = {id_: RoleTasks(member.active_tasks, member.standby_tasks) for id_, member in before.members.items()}
    return evolve(
        plan,
        moves=planned_moves(GroupPlacement(had, processes), GroupPlacement(target.members, processes), before.costs),
        processes=planned_loads(everyone, had, target.members),
        traffic=rack_traffic(everyone, before.tasks, had, target.members),
    )


def unassigned_tasks(tasks: Mapping[TaskId, TaskInfo], target: PlannedTarget) -> tuple[TaskId, ...]:
    """Return the tasks that nobody would run, in order; none if the result cannot be read."""
    if target.members is None:
        return ()
    return tuple(in_task_order(tasks.keys() - {task for each in target.members.values() for task in each.active}))
