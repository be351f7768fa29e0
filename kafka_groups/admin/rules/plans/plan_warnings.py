"""Reasons why a group may decide otherwise than a plan says."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from kafka_groups.admin.rules.plans.planned_target import PlannedTarget
from kafka_groups.admin.rules.plans.situation import GroupSituation
from kafka_groups.assignment import OfferedAssignor, StickyGroupAssignor, TaskInfo
from kafka_groups.assignment.application.neutral import MemberInput
from kafka_groups.assignment.application.reports import has_reports
from kafka_groups.errors.texts import named
from kafka_groups.types import TaskId

__all__ = ["warnings_about_group", "warnings_about_target"]

_STABLE: Final = "Stable"
_SHOWN: Final = 10


def warnings_about_group(
    situation: GroupSituation,
    tasks: Mapping[TaskId, TaskInfo],
    members: Iterable[MemberInput],
    assignor: OfferedAssignor,
) -> Iterator[str]:
    """Yield what makes a plan for a group uncertain.

    Args:
        situation: The group.
        tasks: Its tasks.
        members: The members that it has.
        assignor: The assignor.
    """
    if not _is_settled(situation):
        yield (
            f"The group is not settled ({situation.group.state}): tasks are about to move already. The plan compares "
            "with the tasks that members have now. Plan again when the group is Stable."
        )
    if any(info.is_stateful for info in tasks.values()):
        yield from _about_offsets(situation, members)
    if isinstance(assignor, StickyGroupAssignor):
        yield "Kafka's own brokers may decide otherwise: their 'sticky' is another implementation, with its own rules."
    if situation.configs_error is not None:
        yield (
            f"The configuration of the group could not be read ({situation.configs_error}). The plan has no rack tags, "
            "and no standby tasks unless you give their number."
        )


def _is_settled(situation: GroupSituation) -> bool:
    group = situation.group
    return (
        group.state == _STABLE
        and group.epoch == group.assignment_epoch
        and all(each.assignment == each.target_assignment for each in group.members)
    )


def _about_offsets(situation: GroupSituation, members: Iterable[MemberInput]) -> Iterator[str]:
    if not has_reports(members):
        why = (
            "Kafka before 4.4 does not return offsets of tasks"
            if situation.group.assignor is None
            else "No member has reported offsets of its tasks"
        )
        yield (
            f"{why}. Assignors see every process as caught up, and a process that was not active in a task counts as "
            "copying the whole changelog."
        )
    errors = {**situation.starts.errors, **situation.ends.errors}
    if errors:
        yield (
            "Some numbers of records are unknown, because offsets of changelogs are unknown: "
            f"{next(iter(errors.values()))}"
        )


def warnings_about_target(target: PlannedTarget, unassigned: Iterable[TaskId]) -> Iterator[str]:
    """Yield what is strange about a result.

    Args:
        target: The result.
        unassigned: Tasks that nobody would run, in order.
    """
    listed = list(unassigned)
    if listed:
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        yield f"Nobody would run these tasks: {', '.join(map(str, islice(listed, _SHOWN)))}{more}."
    if target.callback_error is not None:
        yield f"on_assignment_computed of the task assignor failed: {named(target.callback_error)}"
