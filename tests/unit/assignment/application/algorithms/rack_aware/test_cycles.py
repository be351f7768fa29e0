"""The cheapest placement of tasks in processes that keep their numbers of tasks."""

import random
from collections.abc import Sequence
from itertools import permutations

import pytest

from kafka_groups.assignment.application.algorithms.rack_aware.cycles import cancel_cycles
from kafka_groups.assignment.application.algorithms.rack_aware.distances import distances_of
from kafka_groups.assignment.application.algorithms.rack_aware.filling import fill_places
from kafka_groups.assignment.application.algorithms.rack_aware.placements import Placement, PlacementProblem
from tests.support.assignors.plain_flow import cheapest_owners_plainly

SEEDS = range(60)


def random_problem(seed: int, *, has_limits: bool) -> tuple[PlacementProblem, list[int]]:
    """Return a few tasks and processes, and the process of each task."""
    rng = random.Random(seed)
    tasks, processes = rng.randint(1, 7), rng.randint(1, 4)
    groups = sorted(rng.randrange(3 if has_limits else 1) for _ in range(tasks))
    groups = [sorted(set(groups)).index(group) for group in groups]
    owners = [rng.randrange(processes) for _ in range(tasks)]
    counts = [owners.count(process) for process in range(processes)]
    costs = [[rng.choice((0, 0, 1, 2, 10, 11)) for _ in range(processes)] for _ in range(tasks)]
    sizes = [groups.count(group) for group in range(groups[-1] + 1)]
    limits = [-(-count * size // tasks) for size in sizes for count in counts]
    return PlacementProblem(costs, counts, groups, limits if has_limits else None), owners


def cost(problem: PlacementProblem, owners: Sequence[int]) -> int:
    return sum(row[owner] for row, owner in zip(problem.costs, owners, strict=True))


def keeps_limits(problem: PlacementProblem, owners: Sequence[int]) -> bool:
    places = [problem.places_for(task)[owner] for task, owner in enumerate(owners)]
    return problem.limits is None or all(places.count(place) <= problem.limits[place] for place in problem.places)


def least_cost(problem: PlacementProblem, owners: Sequence[int]) -> int:
    return min(cost(problem, each) for each in set(permutations(owners)) if keeps_limits(problem, each))


def optimized(problem: PlacementProblem, owners: Sequence[int]) -> list[int]:
    placement = Placement(problem, owners if problem.limits is None else fill_places(problem))
    cancel_cycles(placement)
    return placement.owners


@pytest.mark.parametrize("has_limits", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_other_placement_costs_less(seed: int, has_limits: bool) -> None:
    problem, owners = random_problem(seed, has_limits=has_limits)
    found = optimized(problem, owners)
    assert sorted(found) == sorted(owners)
    assert keeps_limits(problem, found)
    assert cost(problem, found) == least_cost(problem, owners)


@pytest.mark.parametrize("has_limits", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_ties_fall_as_in_a_plain_search(seed: int, has_limits: bool) -> None:
    """Equal distances have many ties here, so that the order of nodes decides."""
    problem, owners = random_problem(seed, has_limits=has_limits)
    first = owners if problem.limits is None else fill_places(problem)
    assert optimized(problem, owners) == cheapest_owners_plainly(problem, first)


@pytest.mark.parametrize("seed", SEEDS)
def test_places_are_filled_up_to_their_limits(seed: int) -> None:
    problem, owners = random_problem(seed, has_limits=True)
    filled = fill_places(problem)
    assert sorted(filled) == sorted(owners)
    assert keeps_limits(problem, filled)


def test_two_tasks_change_places() -> None:
    problem = PlacementProblem(costs=[[10, 0], [0, 10]], counts=[1, 1], groups=[0, 0])
    assert optimized(problem, [0, 1]) == [1, 0]


def test_three_tasks_change_places_in_a_circle() -> None:
    problem = PlacementProblem(costs=[[5, 0, 9], [9, 5, 0], [0, 9, 5]], counts=[1, 1, 1], groups=[0, 0, 0])
    assert optimized(problem, [0, 1, 2]) == [1, 2, 0]


def test_tasks_stay_if_moves_cost_as_much_as_they_save() -> None:
    problem = PlacementProblem(costs=[[1, 1], [1, 1]], counts=[1, 1], groups=[0, 0])
    placement = Placement(problem, [1, 0])
    assert distances_of(placement) is None
    cancel_cycles(placement)
    assert placement.owners == [1, 0]


def test_a_task_moves_to_make_room_for_another() -> None:
    """The second process has room for tasks of the first group only, which is in the first process already."""
    problem = PlacementProblem([[0, 0]] * 2, counts=[1, 1], groups=[0, 1], limits=[1, 1, 1, 0])
    assert fill_places(problem) == [1, 0]


def test_limits_keep_a_group_apart() -> None:
    """All tasks of the first group would cost less in the first process, which may have one of each."""
    problem = PlacementProblem([[0, 9], [0, 9], [5, 5], [5, 5]], [2, 2], groups=[0, 0, 1, 1], limits=[1, 1, 1, 1])
    found = optimized(problem, [0, 0, 1, 1])
    assert sorted(found[:2]) == sorted(found[2:]) == [0, 1]


def test_distances_after_many_passes_are_calculated() -> None:
    """Going round the cycle of the first two tasks saves seven, and takes two passes."""
    problem = PlacementProblem([[3, 0], [0, 4]] + [[1, 1]] * 200, [101, 101], [0] * 202)
    table = distances_of(Placement(problem, [0, 1] * 101))
    assert table is not None
    assert repr(table) == "<DistanceTable of 5 passes>"
    for last in (5, 6, 150, 151, problem.node_count):
        assert [before - after for before, after in zip(table.after(last - 2), table.after(last), strict=True)] == [
            7,
            7,
        ]
