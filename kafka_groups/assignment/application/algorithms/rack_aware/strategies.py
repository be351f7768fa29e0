"""The strategies `min_traffic` and `balance_subtopology` (KIP-925)."""

from collections.abc import Mapping, Sequence

from kafka_groups.assignment.application.algorithms.rack_aware.cycles import cancel_cycles
from kafka_groups.assignment.application.algorithms.rack_aware.filling import fill_places
from kafka_groups.assignment.application.algorithms.rack_aware.placements import Placement, PlacementProblem
from kafka_groups.assignment.application.algorithms.rack_aware.racks import RackCosts
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.types import TaskId

__all__ = ["cheapest_owners"]


def cheapest_owners(
    owners: Mapping[TaskId, ProcessId],
    processes: Sequence[ProcessId],
    costs: RackCosts,
    strategy: RackAwareStrategy,
) -> dict[TaskId, ProcessId]:
    """Return the process of each task such that all cost least together. Each process keeps its number of tasks.

    With `balance_subtopology`, no process gets more than its share of each sub-topology.

    Args:
        owners: The tasks, and their processes now.
        processes: The processes, in their order.
        costs: What the tasks cost.
        strategy: One of the two strategies.
    """
    tasks = in_task_order(owners)
    if not tasks:
        return {}
    numbers = {process_id: number for number, process_id in enumerate(processes)}
    now = [numbers[owners[task]] for task in tasks]
    counts = [now.count(number) for number in numbers.values()]
    rows = [costs.row(task, owners[task], processes) for task in tasks]
    placement = _first_placement(tasks, rows, now, counts, strategy)
    cancel_cycles(placement)
    return {task: processes[number] for task, number in zip(tasks, placement.owners, strict=True)}


def _first_placement(
    tasks: Sequence[TaskId],
    rows: Sequence[Sequence[int]],
    now: Sequence[int],
    counts: Sequence[int],
    strategy: RackAwareStrategy,
) -> Placement:
    # MinTrafficGraphConstructor.constructTaskGraph starts with the present placement, all tasks as one group.
    if strategy is RackAwareStrategy.MIN_TRAFFIC:
        return Placement(PlacementProblem(rows, counts, [0] * len(tasks)), now)
    # BalanceSubtopologyGraphConstructor.constructTaskGraph limits each process to its share of each sub-topology. The
    # present placement may be beyond these limits, so a new one is computed, whatever it costs, and then improved.
    subtopologies = list(dict.fromkeys(task.subtopology_id for task in tasks))
    groups = [subtopologies.index(task.subtopology_id) for task in tasks]
    sizes = [groups.count(group) for group in range(len(subtopologies))]
    # Rounded up, so that there is room for all tasks (BalanceSubtopologyGraphConstructor.constructEdges).
    limits = [-(-count * size // len(tasks)) for size in sizes for count in counts]
    problem = PlacementProblem(rows, counts, groups, limits)
    return Placement(problem, fill_places(problem))
