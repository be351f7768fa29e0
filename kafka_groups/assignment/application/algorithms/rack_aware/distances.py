"""Distances of the nodes of a graph, which the Bellman-Ford algorithm finds in passes over all nodes.

There is one pass per node. The distances after the last pass decide which cycle is found. If some cycle has negative
costs, distances fall in every pass, but soon by the same amount in each period of passes. The remaining passes are then
extrapolated instead of computed.

All nodes begin with the distance 0. A pass goes over tasks, places and processes:

- tasks reach the other places of their group,
- places reach their tasks and, if they may get more tasks, their process,
- processes reach their places that have tasks.

A task is only reached from its place, so its distance is that of the place less its own cost. What processes reach is
noticed in the next pass. Nothing changes in the first one.
"""

from collections.abc import Sequence
from itertools import compress
from operator import add, sub

from kafka_groups.assignment.application.algorithms.rack_aware.placements import Placement

__all__ = ["DistanceTable", "distances_of"]

Distances = Sequence[int]
"""The distances of places when a pass has come to them and, if places have limits, those of processes."""


class DistanceTable:
    """The distances after each pass.

    Args:
        passes: Those after the first passes.
        period: After how many passes they fall as they did before; 0 if all passes are there.
    """

    def __init__(self, passes: Sequence[Distances], period: int) -> None:
        self._passes = passes
        self._period = period

    def __repr__(self) -> str:
        return f"<DistanceTable of {len(self._passes)} passes>"

    def after(self, count: int) -> Distances:
        """Return the distances after so many passes."""
        # The passes that were computed, and beyond them as many whole periods as fit, each of which lowers all
        # distances by the same amounts.
        if count <= len(self._passes):
            return self._passes[count - 1]
        last = len(self._passes) - 1
        periods, rest = divmod(count - 1 - last, self._period)
        falls = map(sub, self._passes[last], self._passes[last - self._period])
        return [
            distance + (periods + 1) * fall
            for distance, fall in zip(self._passes[last - self._period + rest], falls, strict=True)
        ]


def distances_of(placement: Placement) -> DistanceTable | None:
    """Return the distances in the graph of a placement, or None if there is no cycle with negative costs."""
    edges = PlaceEdges(placement)
    passes = [edges.first()]
    changes: list[Distances] = []
    last_seen: dict[Distances, int] = {}
    # Kafka makes as many passes as there are nodes, always (Graph.detectNegativeCycles). With hundreds of processes and
    # thousands of tasks that takes minutes, so this stops as soon as the rest is certain.
    while len(passes) < placement.problem.node_count:
        passes.append(edges.next(passes[-1]))
        change = tuple(map(sub, passes[-1], passes[-2]))
        # A pass that changes nothing changes nothing in any later one, so there is no cycle with negative costs.
        if not any(change):
            return None
        changes.append(change)
        period = len(changes) - last_seen.get(change, len(changes))
        last_seen[change] = len(changes)
        # Two equal periods alone prove nothing: one part may fall faster than another, and overtake it much later.
        if _repeats(changes, period) and edges.keep_falling(list(map(sub, passes[-1], passes[-1 - period]))):
            return DistanceTable(passes, period)
    return DistanceTable(passes, 0)


def _repeats(changes: Sequence[Distances], period: int) -> bool:
    return bool(period) and changes[-period:] == changes[-2 * period : -period]


class PlaceEdges:
    """The edges between places and processes that may be used, tasks being parts of edges between places.

    Args:
        placement: The placement.
    """

    def __init__(self, placement: Placement) -> None:
        problem = placement.problem
        places, self._has_limits = problem.places, problem.limits is not None
        self._count = len(places)
        self._processes = len(problem.counts) if self._has_limits else 0
        self._groups = list(placement.groups())
        self._owning = [bool(placement.tasks_at(place)) for place in places]
        nodes = [(place, self._count + problem.process_of(place)) for place in places]
        self._to_processes = [pair for pair in nodes if not placement.is_full(pair[0])]
        self._to_places = list(compress(nodes, self._owning)) if self._has_limits else []

    def __repr__(self) -> str:
        return f"<PlaceEdges between {self._count} places>"

    def first(self) -> list[int]:
        """Return the distances after the first pass."""
        # Kafka adds a node with edges of cost 0 to all others, so all begin with the same distance
        # (Graph.addDummySourceNode).
        return [0] * (self._count + self._processes)

    def next(self, before: Distances) -> list[int]:
        """Return the distances after another pass."""
        after: list[int] = []
        # The order of a pass is that of Kafka's node numbers: tasks and their places, then processes.
        for places, columns in self._groups:
            part = before[places.start : places.stop]
            after += [min(map(add, part, column)) for column in columns]
        after += before[self._count :]
        for place, process in self._to_places:
            after[place] = min(after[place], before[process])
        for place, process in self._to_processes:
            after[process] = min(after[process], after[place])
        return after

    def keep_falling(self, changes: Sequence[int]) -> bool:
        """Return whether distances that changed so in two periods do so in all others.

        That is so unless a node falls more slowly than one that it is reached from, and will be overtaken by it.
        """
        return (
            all(self._falls_alike(places, changes) for places, _ in self._groups)
            and all(changes[process] <= changes[place] for place, process in self._to_processes)
            and all(changes[place] <= changes[process] for place, process in self._to_places)
        )

    def _falls_alike(self, places: range, changes: Sequence[int]) -> bool:
        part = changes[places.start : places.stop]
        return max(part) <= min(compress(part, self._owning[places.start : places.stop]), default=max(part))
