"""The load of processes, and the traffic between racks, before and after a change."""

from collections.abc import Iterator, Mapping

from kafka_groups.admin.rules.plans.plan_members import PlanMembers
from kafka_groups.admin.rules.plans.plan_values import PlannedLoad, PlannedThread, RackTraffic, TaskCounts
from kafka_groups.admin.rules.plans.planned_target import RoleTasks
from kafka_groups.assignment import ProcessId, TaskInfo
from kafka_groups.types import TaskId

__all__ = ["planned_loads", "rack_traffic"]

TasksByMember = Mapping[str, RoleTasks]


def planned_loads(members: PlanMembers, before: TasksByMember, after: TasksByMember) -> tuple[PlannedLoad, ...]:
    """Return the load of each process, sorted by id.

    Args:
        members: The members that leave, stay and join.
        before: The tasks of those that are in the group.
        after: The tasks of those that will be in the group.
    """
    threads: dict[ProcessId, list[str]] = {}
    for member_id in sorted(members):
        threads.setdefault(members[member_id].process_id, []).append(member_id)
    return tuple(
        PlannedLoad(
            process_id=str(process_id),
            rack=members[threads[process_id][0]].rack_id,
            client_tags=members[threads[process_id][0]].client_tags,
            threads=tuple(
                PlannedThread(member_id=id_, before=_counts(before.get(id_)), after=_counts(after.get(id_)))
                for id_ in threads[process_id]
            ),
        )
        for process_id in sorted(threads)
    )


def _counts(tasks: RoleTasks | None) -> TaskCounts | None:
    return None if tasks is None else TaskCounts(len(tasks.active), len(tasks.standby))


def rack_traffic(
    members: PlanMembers, tasks: Mapping[TaskId, TaskInfo], before: TasksByMember, after: TasksByMember
) -> RackTraffic | None:
    """Return the traffic between racks; None if nothing can be said of it.

    Args:
        members: The members that leave, stay and join.
        tasks: The tasks.
        before: The tasks of those that are in the group.
        after: The tasks of those that will be in the group.
    """
    known_before, known_after = (list(_reads(members, tasks, each)) for each in (before, after))
    if not known_before and not known_after:
        return None
    return RackTraffic(sum(known_before), sum(known_after), len(known_after))


def _reads(members: PlanMembers, tasks: Mapping[TaskId, TaskInfo], assigned: TasksByMember) -> Iterator[bool]:
    """Yield for each source partition with known racks whether it is read from another one."""
    for member_id, mine in assigned.items():
        rack = members[member_id].rack_id
        for task in mine.active & tasks.keys() if rack else ():
            for place in tasks[task].topic_partitions:
                if place.is_source and place.rack_ids:
                    yield rack not in place.rack_ids
