"""The numbers of tasks that members have, and who has the fewest."""

from collections.abc import Container
from heapq import heappop, heappush

from kafka_groups.assignment.group.sticky.numbers import NumberedMembers

__all__ = ["Loads"]

_MEAN_BITS = 64
_FRACTION_BITS = 32


class Loads:
    """Counts tasks, and finds the least loaded member of all processes or of one.

    Ties go to the process with the fewest tasks per member. Each change adds an entry to two heaps. Entries that are no
    longer true are dropped when they reach the top. Each entry is one number, because Python's garbage collector would
    look at tuples: of a member, its number of tasks and its own number; of a process, its standing.

    Args:
        members: The members of the group. They begin without tasks.
    """

    def __init__(self, members: NumberedMembers) -> None:
        self.counts = [0] * members.count
        self._process_of = members.process_of
        self._sizes = [len(numbers) for numbers in members.of_process]
        self._sums = [0] * len(self._sizes)
        self._members = [list(numbers) for numbers in members.of_process]
        self._standings = list(range(len(self._sizes)))
        self._processes = list(self._standings)
        self._queued = set(self._standings)

    def change(self, member: int, by: int) -> None:
        """Add to a member's number of tasks."""
        process = self._process_of[member]
        self.counts[member] += by
        self._sums[process] += by
        heappush(self._members[process], self.counts[member] * len(self.counts) + member)
        standing = self._standings[process] = self._standing(process)
        if standing not in self._queued:  # or many equal entries would have to be passed over again and again
            self._queued.add(standing)
            heappush(self._processes, standing)

    def least(self) -> int:
        """Return the least loaded member."""
        queue, processes = self._processes, len(self._sizes)
        while queue[0] != self._standings[queue[0] % processes]:
            self._queued.remove(heappop(queue))
        return self.least_in(queue[0] % processes)

    def least_outside(self, barred: Container[int]) -> int | None:
        """Return the least loaded member that is not in a barred process, or None if all processes are barred."""
        passed: list[int] = []
        queue, found = self._processes, None
        while queue and found is None:
            standing = heappop(queue)
            process = standing % len(self._sizes)
            if standing != self._standings[process]:
                self._queued.remove(standing)
                continue
            # Barred processes go back into the heap afterwards. There are only as many as there are copies of a task.
            passed.append(standing)
            if process not in barred:
                found = self.least_in(process)
        for standing in passed:
            heappush(queue, standing)
        return found

    def least_in(self, process: int) -> int:
        """Return the least loaded member of a process."""
        queue, members = self._members[process], len(self.counts)
        while True:
            count, member = divmod(queue[0], members)
            if self.counts[member] == count:
                return member
            heappop(queue)

    def _standing(self, process: int) -> int:
        """Return a number that compares as the tasks of the least loaded member, tasks per member, and the process."""
        fewest = self.counts[self.least_in(process)]
        # Kafka compares fractions of tasks per member (ProcessState.load). Here they are integers with 32 binary digits
        # after the point, which is exact enough for any number of members that a group can have.
        mean = (self._sums[process] << _FRACTION_BITS) // self._sizes[process]
        return ((fewest << _MEAN_BITS) + mean) * len(self._sizes) + process
