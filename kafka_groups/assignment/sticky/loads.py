"""The numbers of tasks that members have, and who has the fewest."""

from collections.abc import Container
from heapq import heappop, heappush

from kafka_groups.assignment.sticky.numbering import NumberedMembers

__all__ = ["Loads"]

_Standing = tuple[int, float, int]
"""A process: the tasks of its least loaded member, its tasks per member, and its number."""


class Loads:
    """Counts tasks, and finds the least loaded member of all processes or of one.

    Ties go to the process with the fewest tasks per member. Each change adds an entry to two heaps. Entries that are no
    longer true are dropped when they reach the top.

    Args:
        members: The members of the group. They begin without tasks.
    """

    def __init__(self, members: NumberedMembers) -> None:
        self.counts = [0] * members.count
        self._process_of = members.process_of
        self._sizes = [len(numbers) for numbers in members.of_process]
        self._sums = [0] * len(self._sizes)
        self._members = [[(0, member) for member in numbers] for numbers in members.of_process]
        self._standings = [(0, 0.0, process) for process in range(len(self._sizes))]
        self._processes = list(self._standings)
        self._queued = set(self._standings)

    def change(self, member: int, by: int) -> None:
        """Add to a member's number of tasks."""
        process = self._process_of[member]
        self.counts[member] += by
        self._sums[process] += by
        heappush(self._members[process], (self.counts[member], member))
        fewest = self.counts[self.least_in(process)]
        standing = self._standings[process] = (fewest, self._sums[process] / self._sizes[process], process)
        if standing not in self._queued:  # or many equal entries would have to be passed over again and again
            self._queued.add(standing)
            heappush(self._processes, standing)

    def least(self) -> int:
        """Return the least loaded member."""
        queue = self._processes
        while queue[0] != self._standings[queue[0][2]]:
            self._queued.remove(heappop(queue))
        return self.least_in(queue[0][2])

    def least_outside(self, barred: Container[int]) -> int | None:
        """Return the least loaded member that is not in a barred process, or None if all processes are barred."""
        passed: list[_Standing] = []
        queue, found = self._processes, None
        while queue and found is None:
            standing = heappop(queue)
            process = standing[2]
            if standing != self._standings[process]:
                self._queued.remove(standing)
                continue
            passed.append(standing)
            if process not in barred:
                found = self.least_in(process)
        for standing in passed:
            heappush(queue, standing)
        return found

    def least_in(self, process: int) -> int:
        """Return the least loaded member of a process."""
        queue = self._members[process]
        while queue[0][0] != self.counts[queue[0][1]]:
            heappop(queue)
        return queue[0][1]
