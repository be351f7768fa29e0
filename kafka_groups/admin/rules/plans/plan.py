"""Plans what a task assignor would do to a running streams group. Nothing is changed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from kafka_groups.admin.rules.group_kinds import kind_of_group
from kafka_groups.admin.rules.plans.comparison import GroupBefore, unassigned_tasks, with_changes
from kafka_groups.admin.rules.plans.copy_costs import CopyCosts, furthest_reports, sums_of_changelogs
from kafka_groups.admin.rules.plans.plan_members import PlanMembers, members_after, members_now, tasks_of_group
from kafka_groups.admin.rules.plans.plan_values import StreamsPlan
from kafka_groups.admin.rules.plans.plan_warnings import warnings_about_group, warnings_about_target
from kafka_groups.admin.rules.plans.planned_target import planned_target
from kafka_groups.admin.rules.plans.situation import GroupSituation, ask_for_situation
from kafka_groups.admin.rules.plans.what_if import WhatIf
from kafka_groups.assignment import AssignmentConfigs, TaskInfo
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.readers import read_list
from kafka_groups.errors import ConfigurationError, GroupIdNotFoundError, UnsupportedVersionError
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
        ConfigurationError: A member that is to leave is not in the group, nobody would be left, or it is a classic
            group.
        TaskAssignorError: The assignor raised an exception.
        KafkaGroupsError: The coordinator refused the group, or a topic cannot be described.
    """
    try:
        situation = await ask_for_situation(ask, group_id)
    except (GroupIdNotFoundError, UnsupportedVersionError) as error:
        kind = await kind_of_group(ask, group_id)
        if kind is None or not kind.is_of_streams:
            raise
        raise ConfigurationError(
            f"The group {group_id} is a classic group. Brokers do not keep the topology of a classic group: give that "
            "of its application, with topology=, or --topology MODULE:FUNCTION."
        ) from error
    return streams_plan(situation, change, now)


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
    group, unassigned = situation.group, unassigned_tasks(tasks, target)
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
    before = GroupBefore(tasks=tasks, members=present, costs=_costs(situation, tasks, present))
    return with_changes(head, before, future, target)


def _configs(situation: GroupSituation, change: WhatIf) -> AssignmentConfigs:
    """Return the configuration of the group that concerns assignments. The acceptable lag is Kafka's default."""
    known = {name: each.value or "" for name, each in situation.configs.items()}
    standbys = change.standby_replicas
    return AssignmentConfigs(
        num_standby_replicas=int(known.get(_STANDBYS) or 0) if standbys is None else standbys,
        rack_aware_assignment_tags=read_list(known.get(_TAGS, "")),
    )


def _costs(situation: GroupSituation, tasks: Mapping[TaskId, TaskInfo], present: PlanMembers) -> CopyCosts:
    starts, ends = (sums_of_changelogs(tasks, offsets) for offsets in (situation.starts, situation.ends))
    return CopyCosts(starts, ends, furthest_reports(present.values()))
