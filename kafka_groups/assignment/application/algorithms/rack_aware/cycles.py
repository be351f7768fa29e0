"""Cycles with negative costs: tasks that can change places so that they cost less together.

The cycle is the one that Kafka Streams finds. It makes another pass of the algorithm of Bellman and Ford until
an edge still makes a distance shorter, and walks back from there. Nodes come in this order: source, sink, tasks, places
and processes.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from kafka_groups.assignment.application.algorithms.rack_aware.distances import DistanceTable, distances_of
from kafka_groups.assignment.application.algorithms.rack_aware.placements import Move, Placement

__all__ = ["cancel_cycles"]


def cancel_cycles(placement: Placement) -> None:
    """Move tasks until no other placement of as many tasks in each process costs less."""
    # Graph.cancelNegativeCycles in Kafka Streams does the same: a placement is cheapest if and only if no cycle has
    # negative costs. Each cycle lowers the costs, so this ends.
    while (table := distances_of(placement)) is not None:
        cycle = CycleSearch(placement, table).cycle()
        if not cycle:
            break
        placement.move(cycle)


class CycleSearch:
    """Finds a cycle with negative costs.

    Nodes of the search are places and, after them, processes.

    Args:
        placement: The tasks and where they are.
        table: The distances after each pass.
    """

    def __init__(self, placement: Placement, table: DistanceTable) -> None:
        self._placement = placement
        self._problem = placement.problem
        self._table = table
        self._count = len(placement.problem.places)
        self._reached_by: dict[int, int | None] = {}

    def __repr__(self) -> str:
        return f"<CycleSearch among {self._count} places>"

    def cycle(self) -> list[Move]:
        """Return the moves of a cycle; none if there is no cycle."""
        start = self._start()
        if start is None:
            return []
        passed: dict[int, int] = {}
        # The start may lie outside of the cycle that it was reached from. The first node that comes twice is in it.
        for node in self._backwards(start):
            if node in passed:
                return self._moves(list(passed)[passed[node] :])
            passed[node] = len(passed)
        return []

    def _moves(self, nodes: Sequence[int]) -> list[Move]:
        # A place that was reached from its process gets no task by that: it only takes part in the exchange.
        by = [(self._task_that_reached(node), node) for node in nodes if node < self._count]
        return [(task, node) for task, node in by if task is not None]

    # ------------------------------------------------------------------------------- where the walk begins

    def _start(self) -> int | None:
        """Return the first node, in the order of the pass, that gets closer in another one."""
        # Kafka makes as many passes as the graph has nodes, and takes the first edge that still helps in the last one
        # (Graph.detectNegativeCycles). Which cycle is found depends on it, and with it which of equally cheap
        # placements.
        count = self._problem.node_count
        ends = self._table.after(count)
        settled = [self._settled(ends, place) for place in self._problem.places]
        # Flow comes to each task from the source, so each task has an edge back to it at no cost: the source is as
        # close as the closest task.
        source = min(chain([0], self._distances_of_tasks(self._table.after(count - 1))))
        for task, distance in enumerate(self._distances_of_tasks(ends)):
            node = self._reached_from(task, distance, source, settled)
            if node is not None:
                return node
        return next((place for place in self._problem.places if settled[place] < ends[place]), None)

    def _reached_from(self, task: int, distance: int, source: int, settled: Sequence[int]) -> int | None:
        # There are two kinds of edges from a task that may still help: the one back to the source, from which the way
        # back leads to the task's own place, and those to the other places.
        if distance < source:
            return self._placement.place_of(task)
        for place, cost in zip(self._problem.places_for(task), self._problem.costs[task], strict=True):
            if distance + cost < settled[place]:
                self._reached_by[place] = task
                return place
        return None

    def _distances_of_tasks(self, distances: Sequence[int]) -> Iterator[int]:
        placement = self._placement
        for task in range(len(placement.owners)):
            yield distances[placement.place_of(task)] - placement.own_cost(task)

    def _settled(self, distances: Sequence[int], place: int) -> int:
        """Return the distance of a place at the end of a pass, after it was reached from its process."""
        # Without limits, places are processes. Without tasks, no flow goes from the place to the process, and so no
        # edge back.
        if self._problem.limits is None or not self._placement.tasks_at(place):
            return distances[place]
        return min(distances[place], distances[self._process_node(place)])

    # -------------------------------------------------------------------------------------- the way back

    def _backwards(self, node: int) -> Iterator[int]:
        """Return a node, the one that it was reached from last, and so on."""
        while True:
            yield node
            node = self._before_process(node) if node >= self._count else self._before_place(node)

    def _before_place(self, place: int) -> int:
        task = self._task_that_reached(place)
        return self._process_node(place) if task is None else self._placement.place_of(task)

    def _task_that_reached(self, place: int) -> int | None:
        """Return the task from which a place was reached last, or None if that was its process."""
        if place not in self._reached_by:
            self._reached_by[place] = self._last_task(place)
        return self._reached_by[place]

    def _last_task(self, place: int) -> int | None:
        for after, before in self._latest_passes():
            # The latest change decides, and within a pass the process comes after the tasks, as its node has a higher
            # number.
            if self._settled(after, place) < after[place]:
                return None
            if after[place] < self._settled(before, place):
                group = self._problem.group_at(place)
                found = [self._placement.first_from(other, place, after[place] - before[other]) for other in group]
                return min(task for task in found if task is not None)
        raise AssertionError(f"place {place} was never reached")

    def _before_process(self, node: int) -> int:
        places = self._problem.places[node - self._count :: len(self._problem.counts)]
        for after, before in self._latest_passes():
            # Several places may give the same distance. The first one set it, since others did not make it shorter.
            if after[node] < before[node]:
                return next(each for each in places if after[each] == after[node] and not self._placement.is_full(each))
        raise AssertionError(f"process {node - self._count} was never reached")

    def _latest_passes(self) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """Return the distances after and before each pass, latest first."""
        for count in range(self._problem.node_count, 1, -1):
            yield self._table.after(count), self._table.after(count - 1)

    def _process_node(self, place: int) -> int:
        return self._count + self._problem.process_of(place)
