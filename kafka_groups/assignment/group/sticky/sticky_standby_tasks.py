"""The second part of `sticky`: standby tasks. No process gets a task twice, in whatever roles."""

from collections import Counter
from collections.abc import Sequence

from kafka_groups.assignment.group.sticky.loads import Loads
from kafka_groups.assignment.group.sticky.numbers import NumberedMembers, NumberedTasks
from kafka_groups.assignment.group.sticky.previous_assignment import NOBODY, PreviousAssignment

__all__ = ["assign_standby"]


def assign_standby(
    tasks: NumberedTasks, members: NumberedMembers, previous: PreviousAssignment, owners: Sequence[int], replicas: int
) -> Sequence[Sequence[int]]:
    """Return the standby tasks of each member.

    Args:
        tasks: The tasks of the topology.
        members: The members of the group.
        previous: What is known of each task.
        owners: The member that runs each task.
        replicas: The number of standby tasks for each stateful task. If there are fewer other processes, each of them
            gets one.
    """
    # KIP-1071, "Assignment": no process has a stateful task twice. Kafka assigns as many standby tasks as there are
    # other processes, and logs a warning (StickyTaskAssignor.assignStandby).
    replicas = min(replicas, len(members.of_process) - 1)
    if replicas < 1:
        return [[] for _ in members.member_ids]
    placing = _StandbyPlacing(list(tasks.stateful_numbers()), members, owners, replicas)
    placing.follow_copies(previous)
    placing.fill()
    placing.even_out()
    return [list(mine) for mine in placing.standbys]


class _StandbyPlacing:
    """Standby tasks on their way to members.

    The quota of a member is an equal share of all active and standby tasks, rounded up.
    """

    def __init__(self, stateful: Sequence[int], members: NumberedMembers, owners: Sequence[int], replicas: int) -> None:
        self.standbys: list[dict[int, None]] = [{} for _ in members.member_ids]
        self._process_of = members.process_of
        self._copies = replicas + 1
        # Tuples and not sets: Python's garbage collector does not look at tuples of numbers again and again.
        # Active tasks that are not stateful count for the load, but not here.
        self._holders: dict[int, tuple[int, ...]] = {task: (members.process_of[owners[task]],) for task in stateful}
        # Kafka rounds its quota of all tasks up, too (StickyTaskAssignor.computeTasksPerMember), and lowers it as
        # members fill. This one stays, and `even_out` does what the lower quota would have done.
        self._quota = -(-(len(owners) + replicas * len(stateful)) // members.count)
        self._loads = Loads(members)
        for member, count in Counter(owners).items():
            self._loads.change(member, count)

    def follow_copies(self, previous: PreviousAssignment) -> None:
        """Keep copies of the state where they are: with the former owner, in former standby tasks, or dormant.

        Former standby tasks stay even beyond the quota. Whether it is worth moving them is decided later.
        """
        for task in self._holders:
            former = previous.active[task]
            # There are three kinds of copies, in the order of Kafka's StickyTaskAssignor.assignStandby. The former
            # owner has the complete state if the active task has moved away. `_may_go_to` refuses its process if it has
            # not.
            if former != NOBODY:
                self._use_state(task, former)
            for _, is_dormant, _, member in previous.copies_of(task):
                # State on disk that nobody uses is worth using, but no reason to overload a member; former standby
                # tasks are.
                if is_dormant:
                    self._use_state(task, member)
                elif self._may_go_to(self._process_of[member], task):
                    self._add(task, member)

    def _use_state(self, task: int, member: int) -> None:
        """Give a task to a member, or to another one of its process, within the quota."""
        process = self._process_of[member]
        if self._may_go_to(process, task):
            least = self._loads.least_in(process)
            # The member that reported the state is not the only one that can use it: all members of a process share a
            # directory.
            for each in (member, least):
                if self._loads.counts[each] < self._quota:
                    self._add(task, each)
                    break

    def fill(self) -> None:
        """Give missing standby tasks to the least loaded members."""
        for task in self._holders:
            while len(self._holders[task]) < self._copies:
                member = self._loads.least_outside(self._holders[task])
                # Cannot happen, as there are never more copies than other processes (see `assign_standby`).
                if member is None:
                    return
                self._add(task, member)

    def even_out(self) -> None:
        """Move standby tasks away from members above the quota, as long as that makes loads more equal.

        When it ends, no such move is left. So the next assignment of an unchanged group moves nothing.
        """
        while sum(self._relieve(member) for member in self._overloaded()):
            pass

    def _overloaded(self) -> Sequence[int]:
        counts = self._loads.counts
        found = (member for member, mine in enumerate(self.standbys) if mine and counts[member] > self._quota)
        return sorted(found, key=lambda member: -counts[member])

    def _relieve(self, member: int) -> int:
        """Move standby tasks away from a member, the ones without state first, and return how many moved."""
        moved = 0
        for task in reversed(list(self.standbys[member])):
            if self._loads.counts[member] <= self._quota:
                break
            receiver = self._receiver(task, member)
            if receiver is not None:
                self._remove(task, member)
                self._add(task, receiver)
                moved += 1
        return moved

    def _receiver(self, task: int, member: int) -> int | None:
        """Return a member with at least two tasks fewer that may have the task, one of the same process if possible."""
        # Within the process, nothing has to be restored.
        least = self._loads.least_in(self._process_of[member])
        candidates = (least, self._loads.least_outside(self._holders[task]))
        # With one task fewer only, the move would exchange the two loads, and the next assignment would move it back.
        enough = self._loads.counts[member] - 1
        return next((each for each in candidates if each is not None and self._loads.counts[each] < enough), None)

    def _may_go_to(self, process: int, task: int) -> bool:
        holders = self._holders[task]
        return process not in holders and len(holders) < self._copies

    def _add(self, task: int, member: int) -> None:
        self.standbys[member][task] = None
        self._holders[task] += (self._process_of[member],)
        self._loads.change(member, 1)

    def _remove(self, task: int, member: int) -> None:
        del self.standbys[member][task]
        gone = self._process_of[member]
        self._holders[task] = tuple(process for process in self._holders[task] if process != gone)
        self._loads.change(member, -1)
