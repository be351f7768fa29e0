"""Tasks that move to processes without their state: until it is there, they stay where it is.

A task that is to run in a process that has not caught up runs where the state is. The process gets a copy first, a
warm-up, as long as there are not too many of them.
"""

from collections.abc import Iterator, Sequence

from kafka_groups.assignment.application.algorithms.caught_up import CaughtUp
from kafka_groups.assignment.application.algorithms.least_loaded import LeastLoaded
from kafka_groups.assignment.application.algorithms.plans import ProcessPlan
from kafka_groups.assignment.application.tasks import task_order
from kafka_groups.assignment.java_queue import JavaQueue
from kafka_groups.types import TaskId

__all__ = ["Movements"]


class Movements:
    """Moves tasks to where their state is.

    Args:
        caught_up: Tells where state is.
        most_warmups: How many warm-ups there may be.
    """

    def __init__(self, caught_up: CaughtUp, most_warmups: int) -> None:
        self._caught_up = caught_up
        self._warmups_left = most_warmups
        self._warmups: set[tuple[TaskId, ProcessPlan]] = set()
        self._least = LeastLoaded(caught_up.plans)

    def __repr__(self) -> str:
        return f"<Movements: {len(self._warmups)} warm-ups, {self._warmups_left} left>"

    def move_active(self, tasks: Sequence[TaskId]) -> int:
        """Let tasks run where their state is. Return how many are to move later."""
        # All movements are found before the first one is made, because each of them changes the plans
        # (TaskMovement.assignActiveTaskMovements).
        behind = [each for each in self._active(tasks) if self._should_run_elsewhere(*each)]
        for task, plan in self._in_order(behind):
            self._move_active(task, plan)
        return len(behind)

    def move_standby(self, tasks: Sequence[TaskId]) -> int:
        """Keep copies where state is. Return how many are to move later."""
        # Only those count that are made, as in TaskMovement.assignStandbyTaskMovements: a copy without a better place
        # stays, and another rebalance would not help it.
        behind = [each for each in self._standby(tasks) if self._should_run_elsewhere(*each)]
        return sum(self._move_standby(task, plan) for task, plan in self._in_order(behind))

    # --------------------------------------------------------------------------------- what is to move

    def _active(self, tasks: Sequence[TaskId]) -> Iterator[tuple[TaskId, ProcessPlan]]:
        for plan in self._caught_up.plans.values():
            yield from ((task, plan) for task in tasks if task in plan.active)

    def _standby(self, tasks: Sequence[TaskId]) -> Iterator[tuple[TaskId, ProcessPlan]]:
        # A warm-up is a copy that catches up on purpose, so nobody moves it away again.
        for plan in self._caught_up.plans.values():
            yield from ((task, plan) for task in tasks if task in plan.standby and (task, plan) not in self._warmups)

    def _without(self, task: TaskId) -> Sequence[ProcessPlan]:
        return [plan for plan in self._caught_up.plans.values() if not plan.has(task)]

    def _should_run_elsewhere(self, task: TaskId, plan: ProcessPlan) -> bool:
        """Return whether a process lacks state of a task of which another one has more."""
        if self._caught_up.has_state(task, plan):
            return False
        # The smallest lag decides, also against a process with all the state
        # (TaskMovement.taskIsNotCaughtUpOnClientAndOtherMoreCaughtUpClientsExist). `UNKNOWN_LAG` is smaller than every
        # other lag, so a process with it keeps the task.
        best = self._caught_up.best(task, self._caught_up.plans.values()) or plan
        return best.state.lag_for(task) < plan.state.lag_for(task)

    def _in_order(self, moves: list[tuple[TaskId, ProcessPlan]]) -> Iterator[tuple[TaskId, ProcessPlan]]:
        """Yield movements in the order in which they are made: those first for which the fewest processes can help.

        Several of the same task come in the order of Java's queue.
        """
        # Tasks with the fewest caught-up processes have the least choice, so they choose first, while loads are still
        # even (TaskMovement.numCaughtUpClients).
        counts = {task: len(self._caught_up.with_state(task)) for task, _ in moves}
        return JavaQueue(lambda move: (counts[move[0]], task_order(move[0])), moves).drained()

    # ------------------------------------------------------------------------------------ how they move

    def _move_active(self, task: TaskId, plan: ProcessPlan) -> None:
        has_state = self._caught_up.has_state
        # There are three sources, in the order of TaskMovement.assignActiveTaskMovements. The first is a process that
        # has all the state and was to keep a copy: the two swap their roles, which costs no warm-up.
        with_copy = self._least.least(lambda other: task in other.standby and has_state(task, other))
        # Else any process with all the state, and else the one that lacks the fewest records.
        source = with_copy or self._least.least(lambda other: has_state(task, other))
        source = source or self._caught_up.best(task, self._caught_up.plans.values())
        if source is None:
            return
        is_swap = task in source.standby
        source.standby.discard(task)
        source.active.add(task)
        plan.active.remove(task)
        # Also if the most caught-up process had a copy to keep (TaskMovement.tryToMoveActiveToMostCaughtUpClient).
        if is_swap:
            plan.standby.add(task)
        else:
            self._warm_up(task, plan)
        self._changed(source, plan)

    def _move_standby(self, task: TaskId, plan: ProcessPlan) -> bool:
        """Move a copy to a better place. Return False if there is none, or a movement before has taken it."""
        source = self._better_place(task, plan)
        if source is None:
            return False
        source.standby.add(task)
        # Removed, and given back as a warm-up if the budget allows it (TaskMovement.moveStandbyAndTryToWarmUp).
        plan.standby.remove(task)
        self._warm_up(task, plan)
        self._changed(source, plan)
        return True

    def _better_place(self, task: TaskId, plan: ProcessPlan) -> ProcessPlan | None:
        """Return the process without a task that has more of its state than this one, or as much and a smaller id."""
        has_state = self._caught_up.has_state
        # A process with all the state first, by load, and else by lag. Processes that have the task already are out of
        # the question: they cannot have it twice.
        source = self._least.least(lambda other: not other.has(task) and has_state(task, other))
        if source is not None:
            return source
        # Kafka goes over all processes by lag and stops at this one (TaskMovement.mostCaughtUpEligibleClient), so one
        # with as much state and a smaller id wins.
        best = self._caught_up.best(task, [plan, *self._without(task)])
        return None if best is plan else best

    def _warm_up(self, task: TaskId, plan: ProcessPlan) -> None:
        # Without budget the process gets nothing, and is looked at again in the rebalance that follows
        # (TaskMovement.moveActiveAndTryToWarmUp).
        if self._warmups_left > 0:
            self._warmups_left -= 1
            plan.standby.add(task)
            self._warmups.add((task, plan))

    def _changed(self, *plans: ProcessPlan) -> None:
        for plan in plans:
            self._least.changed(plan)
