"""The way of a member of a classic group from the tasks that it owns to those that its leader assigned."""

from collections.abc import Iterable

from kafka_groups.streams.member.rules.member_events import TaskInputs
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks
from kafka_groups.streams.member.rules.owned_tasks import NO_INPUTS, TaskOwnership
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["InputReconciliation"]


class InputReconciliation:
    """The tasks of a member, and the partitions that its active tasks read.

    Attributes:
        tasks: What the member owns, and what its application has to do.
    """

    def __init__(self) -> None:
        self.tasks = TaskOwnership()
        self._inputs = self._next_inputs = NO_INPUTS
        self._next = NO_TASKS

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions of the owned active tasks, as the leader has to know them."""
        # From the assignment and not from metadata, which may show partitions that no task reads yet.
        return self._partitions_of(self.tasks.owned.active)

    def _partitions_of(self, tasks: Iterable[TaskId]) -> frozenset[TopicPartition]:
        return frozenset(partition for task in tasks for partition in self._inputs.get(task, ()))

    def assign(self, tasks: MemberTasks, inputs: TaskInputs) -> None:
        """Take an assignment as the next goal."""
        self._next, self._next_inputs = tasks, inputs

    def advance(self, epoch: int) -> None:
        """Take the next steps towards the goal, until it is reached or the application has to close tasks."""
        # A task whose partitions have changed ends and begins again with the others: the leader decides which
        # partitions a task reads. A target without it comes first.
        self._step(self._next - MemberTasks(active=self._changed()), epoch)
        if not self.tasks.awaits_confirmation:
            self._step(self._next, epoch)
            self._inputs = self._next_inputs

    def _step(self, target: MemberTasks, epoch: int) -> None:
        self.tasks.target = target
        self.tasks.advance(epoch, inputs=self._next_inputs)

    def _changed(self) -> frozenset[TaskId]:
        both = self.tasks.owned.active & self._next.active
        return frozenset(task for task in both if self._inputs.get(task) != self._next_inputs[task])

    def lose(self) -> None:
        """Give up all tasks at once: the member is out of the group."""
        self.tasks.lose()
        self._forget()

    def drop(self) -> None:
        """Forget all tasks, because the application has closed them already."""
        self.tasks.drop()
        self._forget()

    def _forget(self) -> None:
        self._inputs = self._next_inputs = NO_INPUTS
        self._next = NO_TASKS
