"""Finds the process with the least load."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan

__all__ = ["LeastLoaded"]

Load = Callable[[ProcessPlan], Any]


def _load(plan: ProcessPlan) -> float:
    return plan.load


class LeastLoaded:
    """The processes by load, and those with equal load in their order.

    Loads change while tasks are chosen: call `changed` for each process whose load did. Entries that are no longer true
    are dropped when they reach the top of the heap.

    Args:
        plans: The processes. Their order counts if loads are equal.
        load: Tells the load, as anything that can be compared; all tasks per thread by default.
    """

    def __init__(self, plans: Plans, load: Load = _load) -> None:
        self._plans = list(plans.values())
        self._load = load
        self._places = {plan.process_id: place for place, plan in enumerate(self._plans)}
        self._loads = [load(plan) for plan in self._plans]
        self._heap = sorted(zip(self._loads, range(len(self._plans)), strict=True))

    def changed(self, plan: ProcessPlan) -> None:
        """Note that the load of a process may have changed."""
        place, load = self._places[plan.process_id], self._load(plan)
        # The old entry stays in the heap. It no longer matches the load, which `least` notices.
        if load != self._loads[place]:
            self._loads[place] = load
            heappush(self._heap, (load, place))

    def least(self, suits: Callable[[ProcessPlan], bool]) -> ProcessPlan | None:
        """Return the least loaded process that suits, or None if none does."""
        passed: list[tuple[Any, int]] = []
        found = None
        while self._heap and found is None:
            load, place = entry = heappop(self._heap)
            # Outdated, or there twice: a load that went away and came back was pushed again. Equal entries come out one
            # after the other, so the last one is all there is to compare with.
            if load != self._loads[place] or entry in passed[-1:]:
                continue
            passed.append(entry)
            if suits(self._plans[place]):
                found = self._plans[place]
        # Like ConstrainedPrioritySet.poll in Kafka Streams, which offers the processes again that did not suit. The
        # chosen one stays as well, since its load changes only if it gets the task.
        for entry in passed:
            heappush(self._heap, entry)
        return found
