"""The first part of `sticky`: one member for each task."""

from collections.abc import Sequence

from kafka_groups.assignment.group.sticky.loads import Loads
from kafka_groups.assignment.group.sticky.numbers import NumberedMembers, NumberedTasks
from kafka_groups.assignment.group.sticky.previous_assignment import NOBODY, PreviousAssignment

__all__ = ["assign_active"]


def assign_active(tasks: NumberedTasks, members: NumberedMembers, previous: PreviousAssignment) -> Sequence[int]:
    """Return the member that runs each task. The numbers of tasks of any two members differ by at most one."""
    placing = _ActivePlacing(tasks, members, previous)
    placing.keep()
    placing.stay_in_process()
    placing.follow_copies()
    placing.fill()
    return placing.owners


class _ActivePlacing:
    """Active tasks on their way to members.

    Every member gets an equal share of the tasks, rounded down. Each of the tasks left over goes to another member.
    """

    def __init__(self, tasks: NumberedTasks, members: NumberedMembers, previous: PreviousAssignment) -> None:
        self.owners = [NOBODY] * tasks.count
        self._members = members
        self._previous = previous
        self._partitions = tasks.partitions()
        # Kafka's StickyTaskAssignor (in org.apache.kafka.coordinator.group.streams.assignor) rounds the quota up, and
        # lowers it when enough members are full (maybeUpdateActiveTasksPerMember). Members that come late can end up
        # with two tasks fewer than others. Exactly this many members get one task more here, so two never differ by
        # more than one.
        self._share, self._left = divmod(tasks.count, members.count)
        self._loads = Loads(members)

    def keep(self) -> None:
        """Leave as many tasks with their former owners as balance allows."""
        former: list[list[int]] = [[] for _ in self._members.member_ids]
        # The first step of Kafka's StickyTaskAssignor.assignActive, which goes task by task while the owner has room.
        # Here all former tasks of a member are looked at together, so that it can choose which ones to give up.
        for task, member in enumerate(self._previous.active):
            if member != NOBODY:
                former[member].append(task)
        process_of = self._members.process_of
        # Processes that will get tasks. State in other processes does not help anybody, so it plays no part in the
        # choice.
        receivers = {process_of[member] for member, had in enumerate(former) if len(had) < self._share}
        winners = self._winners([len(had) for had in former])
        for member, had in enumerate(former):
            self._give(self._dearest(had, self._share + (member in winners), receivers), member)

    def _winners(self, former: Sequence[int]) -> set[int]:
        """Return the members that keep one task more than a share. They had more, and so it stays where it is.

        Those whose process would otherwise have to give tasks to other processes come first.
        """
        # How many tasks of a process are beyond the shares of its members: if it is negative, members of the same
        # process take over what these give up.
        spare = [
            sum(former[member] for member in numbers) - self._share * len(numbers)
            for numbers in self._members.of_process
        ]
        above = [member for member, count in enumerate(former) if count > self._share]
        winners: list[int] = []
        for member in above:
            process = self._members.process_of[member]
            if spare[process] > 0:
                spare[process] -= 1
                winners.append(member)
        first = set(winners)
        winners += [member for member in above if member not in first]
        return set(winners[: self._left])

    def _dearest(self, had: Sequence[int], limit: int, receivers: set[int]) -> Sequence[int]:
        """Return the tasks that a member keeps. It gives up those whose state is elsewhere, then high partitions."""
        if len(had) <= limit:
            return had
        process_of, copies_of = self._members.process_of, self._previous.copies_of

        def rank(task: int) -> tuple[bool, int, int]:
            is_elsewhere = any(process_of[member] in receivers for *_, member in copies_of(task))
            return is_elsewhere, self._partitions[task], task

        return sorted(had, key=rank)[:limit]

    def stay_in_process(self) -> None:
        """Give tasks to other members of their former owners' processes, as far as these have room."""
        for task in self._without_owner():
            former = self._previous.active[task]
            # Kafka has no such step, and may restore the state of these tasks in another process although it is in this
            # one.
            if former != NOBODY:
                self._offer(task, self._loads.least_in(self._members.process_of[former]))

    def follow_copies(self) -> None:
        """Give tasks to processes that have copies of their state, best first, as far as these have room."""
        for task in self._without_owner():
            for *_, member in self._previous.copies_of(task):
                least = self._loads.least_in(self._members.process_of[member])
                # The second step of Kafka's StickyTaskAssignor.assignActive asks the least loaded of the members that
                # had a copy. Here the best copy comes first, because it has the least to restore, and other members of
                # its process can use it as well.
                if self._offer(task, member) or self._offer(task, least):
                    break

    def fill(self) -> None:
        """Give the rest to the least loaded members."""
        for task in self._without_owner():
            # The third step of Kafka's StickyTaskAssignor.assignActive: the least loaded process, and its least loaded
            # member (ProcessState.addTaskToLeastLoadedMember). Here the member's own number of tasks comes first, so
            # that the numbers of two members stay equal.
            self._give([task], self._loads.least())

    def _without_owner(self) -> Sequence[int]:
        return [task for task, owner in enumerate(self.owners) if owner == NOBODY]

    def _offer(self, task: int, member: int) -> bool:
        """Give a task to a member if it has room, and return whether it has."""
        # As long as there are tasks left over, each member may have one more than its share.
        has_room = self._loads.counts[member] < self._share + (1 if self._left else 0)
        if has_room:
            self._give([task], member)
        return has_room

    def _give(self, tasks: Sequence[int], member: int) -> None:
        for task in tasks:
            self.owners[task] = member
        self._loads.change(member, len(tasks))
        if tasks and self._loads.counts[member] > self._share:
            self._left -= 1
