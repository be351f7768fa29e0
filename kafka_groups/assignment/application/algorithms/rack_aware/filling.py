"""A first placement of tasks in places with limits: the most that fit, found by breadth-first search.

This is the algorithm of Edmonds and Karp. The search goes over nodes in their order, which decides the place of a task.
A task that is not placed yet reaches all places of its group. If none of their processes has room, others move.
"""

from collections import deque
from collections.abc import Iterator

from kafka_groups.assignment.application.algorithms.rack_aware.placements import PlacementProblem

__all__ = ["fill_places"]

_NOWHERE = -1

_Node = tuple[str, int]
"""The kind of a node, and its number."""


def fill_places(problem: PlacementProblem) -> list[int]:
    """Return a process for each task, such that all limits are kept."""
    filling = TaskFilling(problem)
    while filling.place_another():
        pass
    return filling.owners


class TaskFilling:
    """Tasks that are placed one by one.

    Args:
        problem: The tasks and processes. Places have limits, and there is room for all tasks.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.owners = [_NOWHERE] * len(problem.costs)
        self._problem = problem
        self._limits = problem.limits or ()
        self._left = list(problem.counts)
        self._tasks: list[set[int]] = [set() for _ in problem.places]

    def __repr__(self) -> str:
        return f"<TaskFilling of {sum(self._left)} more tasks>"

    def place_another(self) -> bool:
        """Place one more task. Return False if all are placed."""
        return self._place_directly() or self._place_by_search()

    def _place_directly(self) -> bool:
        """Place a task in the first place with room, which is what the search would find first."""
        for (_, place), (_, task) in self._first_places():
            process = self._problem.process_of(place)
            if self._left[process] and len(self._tasks[place]) < self._limits[place]:
                self._left[process] -= 1
                self._put(task, place)
                return True
        return False

    def _place_by_search(self) -> bool:
        reached_from: dict[_Node, _Node] = {}
        queue: deque[_Node] = deque()
        for node, before in self._first_places():
            reached_from[node] = before
            queue.append(node)
        while queue:
            node = queue.popleft()
            # The shortest way to a process with room. Graph.breadthFirstSearch in Kafka Streams stops at the sink,
            # which comes right after it.
            if node[0] == "process" and self._left[node[1]]:
                self._left[node[1]] -= 1
                self._shift(node, reached_from)
                return True
            new = [each for each in self._neighbours(node) if each not in reached_from]
            reached_from.update(dict.fromkeys(new, node))
            queue.extend(new)
        return False

    def _first_places(self) -> Iterator[tuple[_Node, _Node]]:
        """Return the places that tasks reach, each with the first of the tasks that are not placed."""
        groups: set[int] = set()
        for task, owner in enumerate(self.owners):
            # The search goes over tasks in their order, so the first unplaced task of a group reaches all its places,
            # and the others reach nothing new.
            if owner == _NOWHERE and self._problem.groups[task] not in groups:
                groups.add(self._problem.groups[task])
                yield from ((("place", place), ("task", task)) for place in self._problem.places_for(task))

    def _neighbours(self, node: _Node) -> Iterator[_Node]:
        kind, number = node
        # There are three kinds of nodes. A task that was placed reaches all places of its group: it could be in another
        # one.
        if kind == "task":
            yield from (("place", place) for place in self._problem.places_for(number))
        elif kind == "process":
            owning = self._problem.places[number :: len(self._left)]
            # A process gives up a task of a place that has one, as flow can go back.
            yield from (("place", place) for place in owning if self._tasks[place])
        else:
            # A place gives up its tasks, and below its limit it hands a task on to its process. Tasks come first,
            # because their numbers are lower.
            yield from (("task", task) for task in sorted(self._tasks[number]))
            if len(self._tasks[number]) < self._limits[number]:
                yield "process", self._problem.process_of(number)

    def _shift(self, process: _Node, reached_from: dict[_Node, _Node]) -> None:
        """Place a task, and move those that make room for it."""
        node: _Node | None = process
        while node is not None:
            before = reached_from.get(node)
            if before is not None and before[0] == "task":
                self._put(before[1], node[1])
            node = before

    def _put(self, task: int, place: int) -> None:
        if self.owners[task] != _NOWHERE:
            self._tasks[self._problem.places_for(task)[self.owners[task]]].remove(task)
        self._tasks[place].add(task)
        self.owners[task] = self._problem.process_of(place)
