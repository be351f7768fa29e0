"""Plans what a task assignor would do to a running classic group. Nothing is changed."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from kafka_groups.admin.rules.classic_streams.classic_groups import DecodedClassicGroup, DecodedClassicMember
from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.plans.classic_situation import ClassicSituation, ask_for_classic_situation
from kafka_groups.admin.rules.plans.classic_topology import TopologyOf
from kafka_groups.admin.rules.plans.classic_warnings import warnings_about_classic_group
from kafka_groups.admin.rules.plans.comparison import GroupBefore, unassigned_tasks, with_changes
from kafka_groups.admin.rules.plans.copy_costs import CopyCosts, KnownSums, sums_of_changelogs
from kafka_groups.admin.rules.plans.plan_members import check_members
from kafka_groups.admin.rules.plans.plan_values import StreamsPlan
from kafka_groups.admin.rules.plans.plan_warnings import warnings_about_target
from kafka_groups.admin.rules.plans.planned_target import target_of_processes
from kafka_groups.admin.rules.plans.rejoining import KnownState, is_settled, rejoined, with_processes
from kafka_groups.admin.rules.plans.what_if import ClassicWhatIf
from kafka_groups.admin.rules.streams_leader.assigning import assignor_of
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings, LeadingError
from kafka_groups.admin.rules.streams_leader.leader_input import EPOCH, leader_input
from kafka_groups.admin.rules.streams_leader.rack_warnings import warnings_about_racks
from kafka_groups.admin.rules.streams_leader.subscriptions import Subscriptions
from kafka_groups.assignment import ProcessId
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId

__all__ = ["classic_plan", "plan_of_classic_group"]


async def plan_of_classic_group(
    ask: Asking, group_id: str, topology_of: TopologyOf, change: ClassicWhatIf, now: datetime
) -> StreamsPlan:
    """Ask the brokers for a classic group, and plan a change of it.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        topology_of: Returns the topology of its application.
        change: The change.
        now: The time.

    Raises:
        IllegalStateError: The group has no members, it rebalances, or its topics do not fit together.
        ConfigurationError: The topology is not that of the group, a member that is to leave is not in it, or nobody
            would be left.
        TaskAssignorError: The assignor raised an exception.
        KafkaGroupsError: The coordinator refused the group, or a topic cannot be described.
    """
    return classic_plan(await ask_for_classic_situation(ask, group_id, topology_of), change, now)


def classic_plan(situation: ClassicSituation, change: ClassicWhatIf, now: datetime) -> StreamsPlan:
    """Plan a change of a classic group that the brokers have described.

    Args:
        situation: The group.
        change: The change.
        now: The time.

    Raises:
        IllegalStateError: The endpoint of a member is invalid.
        ConfigurationError: A member that is to leave is not in the group, or nobody would be left.
        TaskAssignorError: The assignor raised an exception.
    """
    group, tasks = situation.group, situation.tasks
    check_members([each.member_id for each in group.members], change.leaving, change.joining)
    settings = LeaderSettings(
        application_id=group.group_id, assignment=change.configs.assignment, assignor=change.configs.assignor
    )
    assignor = assignor_of(settings, knows_lags=situation.ends.failure is None)
    members = _next_members(situation, change)
    given = _input(situation, settings, members, now)
    target = target_of_processes(assignor, given)
    unassigned = unassigned_tasks(tasks, target)
    head = StreamsPlan(
        group_id=group.group_id,
        state=group.state,
        assignor=assignor.name,
        group_assignor=None,
        error=target.error,
        followups=target.followups,
        unassigned_tasks=unassigned,
        missing_topics=situation.missing_topics,
        warnings=(
            *warnings_about_classic_group(situation, change.configs),
            *warnings_about_racks(settings.configs, members, situation.racks),
            *warnings_about_target(target, unassigned),
        ),
    )
    return with_changes(head, _before(situation), given.members, target)


# ------------------------------------------------------------------------------------------------- the next round


def _input(
    situation: ClassicSituation, settings: LeaderSettings, members: Subscriptions, now: datetime
) -> ApplicationInput:
    """Return what the assignor is given in the next round."""
    given = GroupRound(
        generation=0,
        member_id="",
        members={},
        instance_ids={each.member_id: each.instance_id for each in situation.group.members if each.instance_id},
        topology=GroupTopology(()),
        settings=settings,
    )
    try:
        return leader_input(given, members, situation.tasks, situation.ends, (now - EPOCH) // timedelta(milliseconds=1))
    except LeadingError as error:
        raise IllegalStateError(str(error)) from error


def _next_members(situation: ClassicSituation, change: ClassicWhatIf) -> Subscriptions:
    group = situation.group
    state = KnownState(tasks=situation.tasks, ends=situation.ends.sums or {}, are_copies_complete=is_settled(group))
    staying = rejoined(group, change.leaving, state)
    taken = {id_ for each in group.members for id_ in (each.member_id, str(each.info.process_id))}
    return with_processes(staying, change.joining, group.subscribed_topics, taken)


# --------------------------------------------------------------------------------------------------------- before


def _before(situation: ClassicSituation) -> GroupBefore:
    tasks, ends = situation.tasks, situation.ends.sums
    every_end: KnownSums = {
        task: None if ends is None else ends[task] for task, info in tasks.items() if info.is_stateful
    }
    starts = sums_of_changelogs(tasks, situation.starts)
    costs = CopyCosts(starts, every_end, dict(_furthest(situation.group)))
    return GroupBefore(tasks=tasks, members=_members_now(situation.group), costs=costs)


def _members_now(group: DecodedClassicGroup) -> dict[str, MemberInput]:
    return {each.member_id: _member_now(each) for each in group.members}


def _member_now(member: DecodedClassicMember) -> MemberInput:
    return MemberInput(
        process_id=ProcessId(member.info.process_id),
        active_tasks=frozenset(member.inputs),
        standby_tasks=member.standby_tasks,
        rack_id=member.subscription.rack_id or None,
        client_tags=dict(member.info.client_tags),
    )


def _furthest(group: DecodedClassicGroup) -> Mapping[tuple[str, TaskId], int]:
    """Return how far the state of tasks was in each process when its members joined."""
    found: dict[tuple[str, TaskId], int] = {}
    for process_id, task, total in _reports(group):
        found[process_id, task] = max(total, found.get((process_id, task), 0))
    return found


def _reports(group: DecodedClassicGroup) -> Iterator[tuple[str, TaskId, int]]:
    for each in group.members:
        for task, total in each.info.task_offset_sums:
            if total >= 0:  # and not RUNNING_TASK or UNKNOWN_OFFSET_SUM, which are no positions
                yield str(each.info.process_id), task, total
