"""Reconciliation on the member's side: which tasks it owns, which it should own, and what has to happen first."""

from collections import deque

from kafka_groups.streams.member_events import (
    StatusesChanged,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.tasks import NO_TASKS, TaskAssignment

__all__ = ["TaskOwnership"]


class TaskOwnership:
    """The tasks of a member on the way from what it owns to what it was assigned.

    It gives up tasks before it takes others, and it owns them until the application has confirmed that it closed them.

    Attributes:
        owned: The tasks that are the member's now.
        target: The tasks that the coordinator assigned.
        events: What the application has to hear.
    """

    def __init__(self) -> None:
        self.owned = NO_TASKS
        self.target = NO_TASKS
        self.events: deque[StreamsMembershipEvent] = deque()
        self._told = NO_TASKS
        self._unconfirmed: TasksRevoked | TasksLost | None = None

    @property
    def awaits_confirmation(self) -> bool:
        """Whether the application still has to close tasks."""
        return self._unconfirmed is not None

    @property
    def is_told(self) -> bool:
        """Whether the coordinator knows which tasks the member owns."""
        return self._told == self.owned

    def take_events(self) -> tuple[StreamsMembershipEvent, ...]:
        """Remove and return the events."""
        taken = tuple(self.events)
        self.events.clear()
        return taken

    def tell(self, statuses: StatusesChanged) -> None:
        """Add an event that is not about tasks."""
        self.events.append(statuses)

    def told(self, tasks: TaskAssignment) -> None:
        """Note that the coordinator has heard that the member owns these tasks."""
        self._told = tasks

    def advance(self, *, lost: bool = False) -> None:
        """Take the next step towards the target.

        Args:
            lost: Whether tasks that are not in the target may already be another member's.
        """
        if self.awaits_confirmation:
            return
        surplus = self.owned - self.target
        if surplus:
            self._give_up(TasksLost(surplus) if lost else TasksRevoked(surplus, self.target.only(surplus.ids)))
            return
        missing = self.target - self.owned
        if missing:
            self.owned = self.target
            self.events.append(TasksAssigned(missing))

    def _give_up(self, event: TasksRevoked | TasksLost) -> None:
        self._unconfirmed = event
        self.events.append(event)

    def confirm(self, event: TasksRevoked | TasksLost) -> bool:
        """Note that the application has closed these tasks. Return whether that was still expected."""
        if event is not self._unconfirmed:
            return False
        self._unconfirmed = None
        self.owned -= event.tasks
        return True

    def lose(self) -> None:
        """Give up all tasks at once: the member is out of the group. A revocation that was asked for is moot."""
        if self.owned:
            self._give_up(TasksLost(self.owned))
        else:
            self._unconfirmed = None
        self.owned = self.target = NO_TASKS
        self._told = NO_TASKS

    def drop(self) -> None:
        """Forget all tasks, because the application has closed them already."""
        self.owned = self.target = NO_TASKS
        self._told = NO_TASKS
        self._unconfirmed = None
        self.events.clear()
