"""The tasks of a process, spread over its members as the leader of a group in Kafka Streams does."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field, frozen

from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment
from kafka_groups.assignment.application.states import KafkaStreamsState
from kafka_groups.assignment.application.tasks import TaskInfo, in_java_order, in_task_order, task_order
from kafka_groups.assignment.java_queue import JavaQueue
from kafka_groups.types import TaskId

__all__ = ["MemberShare", "spread_over_threads"]


@frozen
class MemberShare:
    """The tasks of a member, in the order in which it got them.

    Attributes:
        stateful: Active tasks with changelogs.
        stateless: Active tasks without.
        standby: Tasks of which it keeps copies.
    """

    stateful: tuple[TaskId, ...] = ()
    stateless: tuple[TaskId, ...] = ()
    standby: tuple[TaskId, ...] = ()

    @property
    def active(self) -> tuple[TaskId, ...]:
        """All active tasks."""
        return self.stateful + self.stateless


def spread_over_threads(
    state: KafkaStreamsState, assignment: KafkaStreamsAssignment, tasks: Mapping[TaskId, TaskInfo]
) -> dict[str, MemberShare]:
    """Spread the tasks of a process over its members.

    First come active tasks with state, then copies, then active tasks without state. In each of the first two passes,
    members get tasks that they have had, as long as none gets more than its share. Kafka Streams has active tasks in
    hash tables and copies in sorted sets; their order decides who gets a task that is left over.

    Args:
        state: The process, with the lags of its tasks.
        assignment: Its tasks.
        tasks: All tasks of the application.

    Returns:
        The tasks of each member, by its id.
    """
    active = [each.id for each in assignment.tasks.values() if each.is_active]
    copies = [each.id for each in assignment.tasks.values() if not each.is_active]
    loads = dict.fromkeys(state.consumer_client_ids, 0)
    had = {member: list(state.prev_tasks_by_lag(member)) for member in loads}
    # The three passes of StreamsPartitionAssignor.computeNewAssignment in Kafka Streams. They share the loads, so that
    # a member with many active tasks gets fewer copies.
    stateful = _Pass(loads, in_java_order([task for task in active if tasks[task].is_stateful])).spread(had)
    standby = _Pass(loads, copies).spread(had)
    stateless = _Pass(loads, in_java_order([task for task in active if not tasks[task].is_stateful])).spread({})
    return {
        member: MemberShare(tuple(stateful[member]), tuple(stateless[member]), tuple(standby[member]))
        for member in loads
    }


@define(eq=False)
class _Pass:
    """One of the passes.

    Attributes:
        loads: The number of tasks that each member has, from the passes before, too.
        tasks: The tasks of the pass: in Java's order, in which they enter the queue of tasks to assign.
    """

    loads: dict[str, int]
    tasks: Sequence[TaskId]
    _shares: dict[str, list[TaskId]] = field(init=False)
    _least: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._shares = {member: [] for member in self.loads}
        # Rounded down: each member gets at least so many, and nobody gets more than one more.
        self._least = (len(self.tasks) + sum(self.loads.values())) // len(self.loads)

    def spread(self, had: Mapping[str, Iterable[TaskId]]) -> dict[str, list[TaskId]]:
        """Give all tasks to members."""
        queue = JavaQueue.of(task_order, self.tasks)
        remembered = self._keep(queue, had)
        self._fill(queue)
        self._give_rest(queue, remembered)
        return self._shares

    def _keep(self, queue: JavaQueue[TaskId], had: Mapping[str, Iterable[TaskId]]) -> dict[TaskId, str]:
        """Give members what they have had, up to their share. Return what they have had beyond that."""
        remembered: dict[TaskId, str] = {}
        left = set(self.tasks)
        for member, tasks in had.items():
            for task in (task for task in tasks if task in left):
                # Tasks beyond the share are remembered. If there are tasks left in the end, members that have had them
                # come first (StreamsPartitionAssignor.assignTasksToThreads).
                if self.loads[member] < self._least:
                    self._give(task, member)
                    left.remove(task)
                    queue.remove(task)
                else:
                    remembered[task] = member
        return remembered

    def _fill(self, queue: JavaQueue[TaskId]) -> None:
        """Give tasks in turn to members that have less than their share."""
        members = deque(member for member, load in self.loads.items() if load < self._least)
        while queue and members:
            member = members.popleft()
            self._give(queue.poll(), member)
            if self.loads[member] < self._least:
                members.append(member)

    def _give_rest(self, queue: JavaQueue[TaskId], remembered: Mapping[TaskId, str]) -> None:
        """Give one more task to some members: to those that have had it, then to others."""
        # Some members may be above already: copies can be fewer than members, and the pass before may have given one
        # more to some.
        members = [member for member, load in self.loads.items() if load == self._least]
        for task in in_task_order(set(queue) & remembered.keys()):
            if remembered[task] in members:
                members.remove(remembered[task])
                self._give(task, remembered[task])
                queue.remove(task)
        # Kafka goes over the queue without polling it, so these tasks come in the order of the heap's array and not
        # sorted.
        for task, member in zip(queue, members, strict=False):
            self._give(task, member)

    def _give(self, task: TaskId, member: str) -> None:
        self._shares[member].append(task)
        self.loads[member] += 1
