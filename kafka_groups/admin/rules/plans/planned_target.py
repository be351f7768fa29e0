"""Has an assignor compute the tasks of a group: one by process (KIP-924), or one by member (KIP-1357)."""

from collections.abc import Callable, Mapping
from datetime import datetime

from attrs import field, frozen

from kafka_groups.admin.rules.plans.plan_members import PlanMembers
from kafka_groups.assignment import (
    AssignmentConfigs,
    AssignmentError,
    DescribedSubtopology,
    GroupAssignorConfigs,
    GroupTaskAssignor,
    OfferedAssignor,
    Registered,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TaskAssignmentError,
    TaskAssignorError,
    TaskInfo,
    TopologyDescriber,
    check_assignment,
)
from kafka_groups.assignment.application.assignor_run import Computed, computed
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput
from kafka_groups.assignment.application.reports import input_of_streams_group
from kafka_groups.assignment.group.by_subtopology import grouped_offsets, grouped_tasks, tasks_in
from kafka_groups.errors.texts import named, sentences
from kafka_groups.types import TaskId

__all__ = ["PlannedTarget", "RoleTasks", "planned_target", "target_of_processes"]


@frozen
class RoleTasks:
    """The tasks of a member.

    Attributes:
        active: Those that it runs.
        standby: Those of which it has copies.
    """

    active: frozenset[TaskId] = frozenset()
    standby: frozenset[TaskId] = frozenset()


@frozen(kw_only=True)
class PlannedTarget:
    """The result of an assignor.

    Attributes:
        members: The tasks of each member; None if the result cannot be read.
        error: Why a group would not use it, or None.
        followups: When processes want another rebalance.
        callback_error: What the assignor's callback has raised, or None.
    """

    members: Mapping[str, RoleTasks] | None
    error: str | None = None
    followups: Mapping[str, datetime] = field(factory=dict)
    callback_error: Exception | None = None


def planned_target(
    assignor: OfferedAssignor,
    members: PlanMembers,
    tasks: Mapping[TaskId, TaskInfo],
    configs: AssignmentConfigs,
    now: datetime,
) -> PlannedTarget:
    """Have an assignor assign the tasks of a group.

    Args:
        assignor: The assignor.
        members: The members, with the tasks that they have and the offsets that they have reported.
        tasks: The tasks.
        configs: The configuration of the group.
        now: The time.

    Raises:
        TaskAssignorError: The assignor raised an exception, which is the cause.
    """
    # The two interfaces of assignors. A coordinator makes the same distinction.
    if isinstance(assignor, Registered):
        return target_of_processes(assignor, input_of_streams_group(members, tasks, configs, now))
    return _caught(assignor, lambda: _by_member(assignor, members, tasks, configs))


def target_of_processes(assignor: Registered, given: ApplicationInput) -> PlannedTarget:
    """Have an assignor by process assign the tasks of an application.

    Args:
        assignor: The assignor.
        given: The application.

    Raises:
        TaskAssignorError: The assignor raised an exception, which is the cause.
    """
    return _caught(assignor, lambda: _by_process(assignor, given))


def _caught(assignor: OfferedAssignor, assign: Callable[[], PlannedTarget]) -> PlannedTarget:
    try:
        return assign()
    except (TaskAssignmentError, TaskAssignorError) as error:  # what assignors may raise
        return PlannedTarget(members=None, error=named(error))
    except Exception as error:  # an assignor may be anybody's
        raise TaskAssignorError(f"The task assignor {assignor.name} failed: {named(error)}") from error


# --------------------------------------------------------------------------------------------- by process


def _by_process(assignor: Registered, given_input: ApplicationInput) -> PlannedTarget:
    done: Computed = computed(assignor, given_input)
    outcome = done.outcome
    given = {
        id_: RoleTasks(each.active_tasks, each.standby_tasks) for id_, each in outcome.group_assignment.members.items()
    }
    is_wrong = outcome.error is not AssignmentError.NONE
    return PlannedTarget(
        # Members of a process that the result lacks have no tasks. Without any member, the result could not be read: it
        # has an unknown process or task.
        members={id_: given.get(id_, RoleTasks()) for id_ in given_input.members} if given else None,
        error=sentences(f"The result has the error {outcome.error.name}: {outcome.detail}") if is_wrong else None,
        followups={str(process_id): deadline for process_id, deadline in outcome.deadlines.items()},
        callback_error=done.callback_error,
    )


# ---------------------------------------------------------------------------------------------- by member


def _by_member(
    assignor: GroupTaskAssignor, members: PlanMembers, tasks: Mapping[TaskId, TaskInfo], configs: AssignmentConfigs
) -> PlannedTarget:
    wanted = GroupAssignorConfigs(configs.num_standby_replicas, configs.rack_aware_assignment_tags)
    group = StreamsGroupSpec({id_: _spec(member) for id_, member in members.items()}, wanted)
    topology = _described(tasks)
    assignment = assignor.assign(group, topology)
    # Kafka 4.4 would store the result without a check. A plan says what is wrong with it.
    check_assignment(assignment, group, topology)
    given = {
        id_: RoleTasks(tasks_in(each.active_tasks), tasks_in(each.standby_tasks))
        for id_, each in assignment.members.items()
    }
    return PlannedTarget(members={id_: given.get(id_, RoleTasks()) for id_ in members})


def _spec(member: MemberInput) -> StreamsMemberSpec:
    return StreamsMemberSpec(
        process_id=str(member.process_id),
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_tags=member.client_tags,
        active_tasks=grouped_tasks(member.active_tasks),
        standby_tasks=grouped_tasks(member.standby_tasks),
        task_offsets=grouped_offsets(member.task_offsets),
        task_end_offsets=grouped_offsets(member.task_end_offsets),
    )


def _described(tasks: Mapping[TaskId, TaskInfo]) -> TopologyDescriber:
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.subtopology_id] = counts.get(task.subtopology_id, 0) + 1
    return TopologyDescriber(
        {id_: DescribedSubtopology(count, tasks[TaskId(id_, 0)].is_stateful) for id_, count in counts.items()}
    )
