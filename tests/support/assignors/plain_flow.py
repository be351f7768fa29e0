"""The cheapest placement of tasks, found by plain passes over all edges of a graph, one by one.

This is slow. It shows what faster code has to return, ties included.
"""

from collections.abc import Sequence

from attrs import define, field

from kafka_groups.assignment.application.algorithms.rack_aware.placements import PlacementProblem

__all__ = ["cheapest_owners_plainly"]

SOURCE, SINK = -2, -1


@define(eq=False)
class _Edge:
    source: int
    target: int
    left: int
    cost: int
    back: "_Edge" = field(init=False)


class _Graph:
    def __init__(self) -> None:
        self.edges: dict[int, dict[int, _Edge]] = {}

    def add(self, source: int, target: int, capacity: int, cost: int, flow: int) -> None:
        there, back = _Edge(source, target, capacity - flow, cost), _Edge(target, source, flow, -cost)
        there.back, back.back = back, there
        self.edges.setdefault(source, {})[target] = there
        self.edges.setdefault(target, {})[source] = back

    def usable(self) -> list[_Edge]:
        """The edges with capacity left, by their nodes."""
        ends = [(source, target) for source, targets in self.edges.items() for target in targets]
        return [edge for source, target in sorted(ends) if (edge := self.edges[source][target]).left]


def cheapest_owners_plainly(problem: PlacementProblem, owners: Sequence[int]) -> list[int]:
    """Return the process of each task after all cycles with negative costs are cancelled, beginning with `owners`."""
    graph = _graph(problem, owners)
    while cycle := _cycle(graph):
        for edge in cycle:
            edge.left -= 1
            edge.back.left += 1
    count = len(problem.costs)
    return [
        next(
            problem.process_of(place)
            for place in problem.places_for(task)
            if graph.edges[task][count + place].back.left
        )
        for task in range(count)
    ]


def _graph(problem: PlacementProblem, owners: Sequence[int]) -> _Graph:
    graph, count, width = _Graph(), len(problem.costs), len(problem.counts)
    at = [problem.places_for(task)[owner] for task, owner in enumerate(owners)]
    for task, costs in enumerate(problem.costs):
        graph.add(SOURCE, task, 1, 0, 1)
        for place, cost in zip(problem.places_for(task), costs, strict=True):
            graph.add(task, count + place, 1, cost, int(at[task] == place))
    processes = count if problem.limits is None else count + len(problem.places)
    for place, limit in enumerate(problem.limits or ()):
        graph.add(count + place, processes + place % width, limit, 0, at.count(place))
    for process, most in enumerate(problem.counts):
        graph.add(processes + process, SINK, most, 0, most)
    return graph


def _cycle(graph: _Graph) -> list[_Edge]:
    edges, distances = graph.usable(), dict.fromkeys(graph.edges, 0)
    reached_by: dict[int, _Edge] = {}
    for _ in distances:
        for edge in edges:
            if distances[edge.source] + edge.cost < distances[edge.target]:
                distances[edge.target] = distances[edge.source] + edge.cost
                reached_by[edge.target] = edge
    for edge in edges:
        if distances[edge.source] + edge.cost < distances[edge.target]:
            return _walked_back(edge, reached_by | {edge.target: edge})
    return []


def _walked_back(start: _Edge, reached_by: dict[int, _Edge]) -> list[_Edge]:
    walk = [start]
    while (edge := reached_by[walk[-1].source]) not in walk:
        walk.append(edge)
    return walk[walk.index(edge) :]
