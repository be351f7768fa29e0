"""Reconciliation on the member's side: which tasks it owns, which it should own, and what has to happen first."""

from collections import deque
from collections.abc import Iterable

from attrs import evolve

from kafka_groups.streams.member.rules.member_events import (
    StatusesChanged,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.tasks import NO_TASKS, MemberTasks

__all__ = ["TaskOwnership"]


class TaskOwnership:
    """The tasks of a member between what it owns and what it was assigned.

    It gives up tasks before it takes others, and it owns them until the application has confirmed that it closed them.

    Each task that is reported to the application ends with exactly one event. Events that are outdated before the
    application has taken them are withdrawn: a task that was lost again is never reported, and a revocation becomes
    part of a loss.

    Attributes:
        owned: The tasks that are the member's now.
        target: The tasks that the coordinator assigned.
        events: The events for the application.
    """

    def __init__(self) -> None:
        self.owned = NO_TASKS
        self.target = NO_TASKS
        self.events: deque[StreamsMembershipEvent] = deque()
        self._told = NO_TASKS
        self._held = NO_TASKS
        self._unconfirmed: list[TasksRevoked | TasksLost] = []

    @property
    def awaits_confirmation(self) -> bool:
        """True if the application still has to close tasks."""
        return bool(self._unconfirmed)

    @property
    def is_told(self) -> bool:
        """True if the coordinator knows which tasks the member owns."""
        return self._told == self.owned

    @property
    def lost(self) -> MemberTasks:
        """Tasks that may be another member's by now, and that the application has not closed."""
        return _all_of(event for event in self._unconfirmed if isinstance(event, TasksLost))

    @property
    def unconfirmed(self) -> MemberTasks:
        """Tasks that the application still has to close."""
        return _all_of(self._unconfirmed)

    def take_events(self) -> tuple[StreamsMembershipEvent, ...]:
        """Remove and return the events."""
        taken = tuple(self.events)
        self.events.clear()
        for event in taken:
            self._hold(event)
        return taken

    def _hold(self, event: StreamsMembershipEvent) -> None:
        if isinstance(event, TasksAssigned):
            self._held |= event.tasks
        elif isinstance(event, TasksRevoked | TasksLost):
            self._held -= event.tasks

    def tell(self, statuses: StatusesChanged) -> None:
        """Add an event that is not about tasks."""
        self.events.append(statuses)

    def told(self, tasks: MemberTasks) -> None:
        """Note that the coordinator has heard that the member owns these tasks."""
        self._told = tasks

    def advance(self, epoch: int, *, lost: bool = False) -> None:
        """Take the next step towards the target.

        Args:
            epoch: The member's epoch.
            lost: Whether tasks that are not in the target may already be another member's.
        """
        if self.awaits_confirmation:
            return
        self._take_back(self.owned - self.target - self._held)
        surplus = self.owned - self.target
        if surplus:
            self._give_up(TasksLost(surplus) if lost else TasksRevoked(surplus, self.target.only(surplus.ids)))
            return
        missing = self.target - self.owned
        if missing:
            self.owned = self.target
            self.events.append(TasksAssigned(missing, epoch))

    def _take_back(self, tasks: MemberTasks) -> None:
        """Give up tasks that the application has not heard of: there is nothing to close."""
        self.owned -= tasks
        told = [
            evolve(each, tasks=each.tasks - tasks) if isinstance(each, TasksAssigned) else each for each in self.events
        ]
        self.events = deque(each for each in told if not isinstance(each, TasksAssigned) or each.tasks)

    def _give_up(self, event: TasksRevoked | TasksLost) -> None:
        self._unconfirmed.append(event)
        self.events.append(event)

    def confirm(self, event: TasksRevoked | TasksLost) -> bool:
        """Note that the application has closed these tasks. Return whether that was still expected."""
        if event not in self._unconfirmed:
            return False
        self._unconfirmed.remove(event)
        self.owned -= event.tasks
        return True

    def lose(self) -> None:
        """Give up all tasks at once: the member is out of the group.

        A revocation that the application has already taken remains valid: it closes those tasks and confirms the event.
        """
        self._unconfirmed = [event for event in self._unconfirmed if event not in self.events]
        self.events = deque(event for event in self.events if isinstance(event, StatusesChanged))
        if self._held:
            self._give_up(TasksLost(self._held))
        self.owned = self.target = NO_TASKS
        self._told = NO_TASKS

    def drop(self) -> None:
        """Forget all tasks, because the application has closed them already."""
        self.owned = self.target = self._held = NO_TASKS
        self._told = NO_TASKS
        self._unconfirmed.clear()
        self.events.clear()


def _all_of(events: Iterable[TasksRevoked | TasksLost]) -> MemberTasks:
    tasks = NO_TASKS
    for event in events:
        tasks |= event.tasks
    return tasks
