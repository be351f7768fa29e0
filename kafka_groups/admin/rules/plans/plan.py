"""Plans what a task assignor would do to a running streams group. Nothing is changed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from attrs import evolve

from kafka_groups.admin.rules.plans.copy_costs import copy_costs
from kafka_groups.admin.rules.plans.loads import planned_loads, rack_traffic
from kafka_groups.admin.rules.plans.moves import GroupPlacement, planned_moves
from kafka_groups.admin.rules.plans.plan_members import PlanMembers, members_after, members_now, tasks_of_group
from kafka_groups.admin.rules.plans.plan_values import StreamsPlan
from kafka_groups.admin.rules.plans.plan_warnings import warnings_about_group, warnings_about_target
from kafka_groups.admin.rules.plans.planned_target import PlannedTarget, RoleTasks, planned_target
from kafka_groups.admin.rules.plans.situation import GroupSituation, ask_for_situation
from kafka_groups.admin.rules.plans.what_if import WhatIf
from kafka_groups.assignment import AssignmentConfigs, TaskInfo
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.readers import read_list
from kafka_groups.types import TaskId

__all__ = ["plan_of_group", "streams_plan"]

_STANDBYS: Final = "streams.num.standby.replicas"
_TAGS: Final = "streams.rack.aware.assignment.tags"


async def plan_of_group(ask: Asking, group_id: str, change: WhatIf, now: datetime) -> StreamsPlan:
    """Ask the brokers for a group, and plan a change of it.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        change: The change.
        now: The time.

    Raises:
        IllegalStateError: The group has no members, or no tasks.
        ConfigurationError: A member that is to leave is not in the group, or nobody would be left.
        TaskAssignorError: The assignor raised an exception.
        KafkaGroupsError: The coordinator refused the group, or a topic cannot be described.
    """
    return streams_plan(await ask_for_situation(ask, group_id), change, now)


def streams_plan(situation: GroupSituation, change: WhatIf, now: datetime) -> StreamsPlan:
    """Plan a change of a group that the brokers have described.

    Args:
        situation: The group.
        change: The change.
        now: The time.

    Raises:
        IllegalStateError: The group has no tasks.
        ConfigurationError: A member that is to leave is not in the group, or nobody would be left.
        TaskAssignorError: The assignor raised an exception.
    """
    tasks = tasks_of_group(situation)
    present = members_now(situation, tasks)
    future = members_after(present, change)
    target = planned_target(change.assignor, future, tasks, _configs(situation, change), now)
    group, unassigned = situation.group, _unassigned(tasks, target)
    warnings = [
        *warnings_about_group(situation, tasks, present.values(), change.assignor),
        *warnings_about_target(target, unassigned),
    ]
    head = StreamsPlan(
        group_id=group.group_id,
        state=group.state,
        assignor=change.assignor.name,
        group_assignor=group.assignor,
        error=target.error,
        followups=target.followups,
        unassigned_tasks=unassigned,
        warnings=tuple(warnings),
    )
    return head if target.members is None else _compared(head, situation, tasks, present, future, target.members)


def _configs(situation: GroupSituation, change: WhatIf) -> AssignmentConfigs:
    """Return the configuration of the group that concerns assignments. The acceptable lag is Kafka's default."""
    known = {name: each.value or "" for name, each in situation.configs.items()}
    standbys = change.standby_replicas
    return AssignmentConfigs(
        num_standby_replicas=int(known.get(_STANDBYS) or 0) if standbys is None else standbys,
        rack_aware_assignment_tags=read_list(known.get(_TAGS, "")),
    )


def _unassigned(tasks: Mapping[TaskId, TaskInfo], target: PlannedTarget) -> tuple[TaskId, ...]:
    if target.members is None:
        return ()
    return tuple(in_task_order(tasks.keys() - {task for each in target.members.values() for task in each.active}))


def _compared(
    plan: StreamsPlan,
    situation: GroupSituation,
    tasks: Mapping[TaskId, TaskInfo],
    present: PlanMembers,
    future: PlanMembers,
    after: Mapping[str, RoleTasks],
) -> StreamsPlan:
    """Add what changes."""
    everyone = {**future, **present}
    processes = {id_: str(member.process_id) for id_, member in everyone.items()}
    before = {id_: RoleTasks(member.active_tasks, member.standby_tasks) for id_, member in present.items()}
    costs = copy_costs(situation, tasks, present.values())
    return evolve(
        plan,
        moves=planned_moves(GroupPlacement(before, processes), GroupPlacement(after, processes), costs),
        processes=planned_loads(everyone, before, after),
        traffic=rack_traffic(everyone, tasks, before, after),
    )
