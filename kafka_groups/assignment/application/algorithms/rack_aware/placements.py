"""The process of each task while the cheapest placement is searched for, and what it costs to move tasks."""

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

__all__ = ["Move", "Placement", "PlacementProblem"]

_UNREACHABLE: Final = 1 << 62
"""More than the costs of all tasks together."""

Move = tuple[int, int]
"""A task, and the place that it moves to."""


@frozen(slots=False)
class PlacementProblem:
    """Tasks and processes, and what each task costs in each process. Both are numbers from 0.

    A *place* is a process as far as it has tasks of one group. Its number is `group * len(counts) + process`.

    Attributes:
        costs: The costs of each task, by process; none is negative.
        counts: How many tasks each process gets.
        groups: The group of each task: its sub-topology, numbered from 0. Tasks are in the order of groups.
        limits: How many tasks each place may get; None if there are no limits. Then all tasks are one group.
    """

    costs: Sequence[Sequence[int]]
    counts: Sequence[int]
    groups: Sequence[int]
    limits: Sequence[int] | None = None

    @cached_property
    def places(self) -> range:
        """All places."""
        return range((self.groups[-1] + 1) * len(self.counts))

    @property
    def node_count(self) -> int:
        """The number of nodes of the graph: a source, the tasks, places if they have limits, processes, and a sink."""
        limited = 0 if self.limits is None else len(self.places)
        return 1 + len(self.costs) + limited + len(self.counts) + 1

    def process_of(self, place: int) -> int:
        """Return the process of a place."""
        return place % len(self.counts)

    def group_at(self, place: int) -> range:
        """Return all places of the group of a place."""
        start = place - self.process_of(place)
        return range(start, start + len(self.counts))

    def places_for(self, task: int) -> range:
        """Return the places where a task may be."""
        return self.group_at(self.groups[task] * len(self.counts))


class Placement:
    """The process of each task, which changes while cheaper ones are found.

    Args:
        problem: The tasks and processes.
        owners: The process of each task.
    """

    def __init__(self, problem: PlacementProblem, owners: Sequence[int]) -> None:
        self.problem = problem
        self.owners = list(owners)
        self._tasks: list[list[int]] = [[] for _ in problem.places]
        self._columns = [[_UNREACHABLE] * len(problem.counts) for _ in problem.places]
        self._first: list[list[int]] = [[] for _ in problem.places]
        for task in range(len(owners)):
            self._tasks[self.place_of(task)].append(task)
        self._compare(problem.places)

    def __repr__(self) -> str:
        return f"<Placement of {len(self.owners)} tasks in {len(self.problem.counts)} processes>"

    def place_of(self, task: int) -> int:
        """Return the place where a task is."""
        return self.problem.places_for(task)[self.owners[task]]

    def tasks_at(self, place: int) -> Sequence[int]:
        """Return the tasks of a place, in their order."""
        return self._tasks[place]

    def is_full(self, place: int) -> bool:
        """Return whether a place must not get more tasks, unless others leave it."""
        limits = self.problem.limits
        return limits is None or len(self._tasks[place]) >= limits[place]

    def own_cost(self, task: int) -> int:
        """Return what a task costs where it is."""
        return self.problem.costs[task][self.owners[task]]

    def groups(self) -> Iterator[tuple[range, Sequence[Sequence[int]]]]:
        """Return the places of each group and, for each place, how much more the best task of each one costs there."""
        width = len(self.problem.counts)
        for start in self.problem.places[::width]:
            yield range(start, start + width), self._columns[start : start + width]

    def first_from(self, place: int, target: int, more: int) -> int | None:
        """Return the first task of a place that costs least in another place of its group, if that is so much more."""
        process = self.problem.process_of(place)
        # A place has no edge to itself, and a task counts only if it is what set the distance.
        if place == target or self._columns[target][process] != more:
            return None
        return self._first[place][self.problem.process_of(target)]

    def move(self, moves: Iterable[Move]) -> None:
        """Move tasks."""
        changed = set()
        for task, place in moves:
            old = self.place_of(task)
            changed |= {old, place}
            self._tasks[old].remove(task)
            self.owners[task] = self.problem.process_of(place)
            insort(self._tasks[place], task)
        self._compare(changed)

    def _compare(self, places: Iterable[int]) -> None:
        """Compare what the tasks of places cost elsewhere with what they cost where they are."""
        for place in places:
            process = self.problem.process_of(place)
            least = self._least_more(place, process)
            self._first[place] = [task for _, task in least]
            for target, (more, _) in zip(self.problem.group_at(place), least, strict=True):
                self._columns[target][process] = more
            # A place reaches itself at no cost: its distance stays if nobody makes it shorter.
            self._columns[place][process] = 0

    def _least_more(self, place: int, process: int) -> list[tuple[int, int]]:
        """Return how much more the best task of a place costs in each process, and the first such task."""
        rows = [(self.problem.costs[task], task) for task in self._tasks[place]]
        # No task can leave an empty place.
        if not rows:
            return [(_UNREACHABLE, 0)] * len(self.problem.counts)
        return [min((row[other] - row[process], task) for row, task in rows) for other in range(len(rows[0][0]))]
