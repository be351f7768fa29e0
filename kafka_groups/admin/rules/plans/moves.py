"""The tasks that get another place."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import frozen

from kafka_groups.admin.rules.plans.copy_costs import CopyCosts
from kafka_groups.admin.rules.plans.plan_values import PlannedMove, TaskPlace
from kafka_groups.admin.rules.plans.planned_target import RoleTasks
from kafka_groups.assignment import AssignedTaskType
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.types import TaskId

__all__ = ["GroupPlacement", "planned_moves"]

PlacePair = tuple[TaskPlace | None, TaskPlace | None]


@frozen
class GroupPlacement:
    """The places of all tasks of a group.

    Attributes:
        tasks: The tasks of each member.
        processes: The process of each member.
    """

    tasks: Mapping[str, RoleTasks]
    processes: Mapping[str, str]

    def places(self, role: AssignedTaskType) -> dict[TaskId, list[TaskPlace]]:
        """Return where tasks are in a role, sorted by member id."""
        found: dict[TaskId, list[TaskPlace]] = {}
        for member_id in sorted(self.tasks):
            for task in _in_role(self.tasks[member_id], role):
                found.setdefault(task, []).append(TaskPlace(member_id, self.processes[member_id]))
        return found

    def roles(self) -> dict[tuple[str, TaskId], AssignedTaskType]:
        """Return the role of each task in each process that has it."""
        roles: dict[tuple[str, TaskId], AssignedTaskType] = {}
        # Active last, so that it wins where a process had both for a moment.
        for role in (AssignedTaskType.STANDBY, AssignedTaskType.ACTIVE):
            for task, places in self.places(role).items():
                roles |= {(place.process_id, task): role for place in places}
        return roles


def planned_moves(before: GroupPlacement, after: GroupPlacement, costs: CopyCosts) -> tuple[PlannedMove, ...]:
    """Return the tasks that get another place, in the order of tasks, active ones first.

    Args:
        before: Who has which tasks.
        after: Who gets which tasks.
        costs: What it costs to copy their state.
    """
    had, has = before.roles(), after.roles()
    moves = [
        _move(task, role, pair, had, costs)
        for role in AssignedTaskType
        for task, pair in _changes(before.places(role), after.places(role))
        if not _stays_in_another_role(task, pair, has)
    ]
    places = {task: number for number, task in enumerate(in_task_order({move.task for move in moves}))}
    return tuple(sorted(moves, key=lambda move: places[move.task]))


def _in_role(tasks: RoleTasks, role: AssignedTaskType) -> frozenset[TaskId]:
    return tasks.active if role is AssignedTaskType.ACTIVE else tasks.standby


def _changes(
    before: Mapping[TaskId, list[TaskPlace]], after: Mapping[TaskId, list[TaskPlace]]
) -> Iterator[tuple[TaskId, PlacePair]]:
    for task in before.keys() | after.keys():
        old, new = before.get(task, []), after.get(task, [])
        gone = [place for place in old if place not in new]
        for pair in _paired(gone, [place for place in new if place not in old]):
            yield task, pair


def _paired(gone: Collection[TaskPlace], come: Iterable[TaskPlace]) -> Iterator[PlacePair]:
    """Pair old places with new ones: first those in the same process, then in their order."""
    left, rest = list(gone), []
    for place in come:
        # A move between threads of one process costs nothing, so it is told as one, and not as two moves across
        # processes.
        near = next((each for each in left if each.process_id == place.process_id), None)
        if near is None:
            rest.append(place)
        else:
            left.remove(near)
            yield near, place
    for number in range(max(len(left), len(rest))):
        yield left[number] if number < len(left) else None, rest[number] if number < len(rest) else None


def _stays_in_another_role(task: TaskId, pair: PlacePair, has: Mapping[tuple[str, TaskId], AssignedTaskType]) -> bool:
    """Return whether a place is only given up because the task gets another role there, which is a move of its own."""
    source, target = pair
    return target is None and source is not None and (source.process_id, task) in has


def _move(
    task: TaskId,
    role: AssignedTaskType,
    pair: PlacePair,
    had: Mapping[tuple[str, TaskId], AssignedTaskType],
    costs: CopyCosts,
) -> PlannedMove:
    source, target = pair
    if target is None:
        return PlannedMove(task=task, role=role, source=source, target=None)
    role_before = had.get((target.process_id, task))
    records, basis = costs.records(task, target.process_id, role_before, role)
    return PlannedMove(
        task=task, role=role, source=source, target=target, role_before=role_before, records=records, basis=basis
    )
