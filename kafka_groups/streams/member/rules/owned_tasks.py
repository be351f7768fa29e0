"""Reconciliation on the member's side: which tasks it owns, which it should own, and what has to happen first."""

from collections.abc import Iterable
from types import MappingProxyType

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.streams.member.rules.inbox import MemberInbox
from kafka_groups.streams.member.rules.member_events import (
    StatusesChanged,
    StreamsMembershipEvent,
    TaskInputs,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
    assigned_only,
)
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks

__all__ = ["ConfirmationReminder", "TaskOwnership"]

NO_INPUTS: TaskInputs = MappingProxyType({})
"""The group names only tasks."""

_FIRST_MS, _LONGEST_MS = 30_000, 300_000
"""The time until the first reminder, and the longest time between two."""


class TaskOwnership:
    """The tasks of a member between what it owns and what it was assigned.

    It gives up tasks before it takes others, and it owns them until the application has confirmed that it closed them.

    Each task that is reported to the application ends with exactly one event. Events that are outdated before the
    application has taken them are withdrawn: a task that was lost again is never reported, and a revocation becomes
    part of a loss.

    Attributes:
        owned: The tasks that are the member's now.
        target: The tasks that the coordinator assigned.
        inbox: The events for the application.
    """

    def __init__(self) -> None:
        self.owned = NO_TASKS
        self.target = NO_TASKS
        self.inbox = MemberInbox()
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

    def _note_taken(self) -> None:
        """Note the tasks that the application has heard of. It may have taken events at any time since."""
        for event in self.inbox.taken():
            self._hold(event)

    def _hold(self, event: StreamsMembershipEvent) -> None:
        if isinstance(event, TasksAssigned):
            self._held |= event.tasks
        elif isinstance(event, TasksRevoked | TasksLost):
            self._held -= event.tasks

    def tell(self, statuses: StatusesChanged) -> None:
        """Add an event that is not about tasks."""
        self.inbox.put(statuses)

    def told(self, tasks: MemberTasks) -> None:
        """Note that the coordinator has heard that the member owns these tasks."""
        self._told = tasks

    def advance(self, epoch: int, *, lost: bool = False, inputs: TaskInputs = NO_INPUTS) -> None:
        """Take the next step towards the target.

        Args:
            epoch: The member's epoch.
            inputs: The partitions that active tasks of the target read, if the group names them.
            lost: Whether tasks that are not in the target may already be another member's.
        """
        # One step at a time: the next one is computed when the application has confirmed this one, from the target that
        # is current then. Java defers further targets in the same way (StreamsMembershipManager.maybeReconcile).
        if self.awaits_confirmation:
            return
        self._take_back()
        surplus = self.owned - self.target
        # Tasks are given up before others are taken, as in Java (StreamsMembershipManager.maybeReconcile): KIP-1071,
        # "Reconciliation of the group", lets a task that changes its role come back only when the old role is closed.
        # Java asks the application about active tasks only. Here standby and warm-up tasks are revoked in the same way,
        # because their stores must be closed before another member of this process opens them.
        if surplus:
            # A member that has just joined again owns nothing for the coordinator, so tasks that it did not get back
            # may run elsewhere already. Committing them could overwrite the new owner's offsets.
            self._give_up(TasksLost(surplus) if lost else TasksRevoked(surplus, self.target.only(surplus.ids)))
            return
        missing = self.target - self.owned
        # The coordinator sends a task only when it is free, so the member owns it from here on, before the application
        # has heard of it.
        if missing:
            self.owned = self.target
            its = {task: inputs[task] for task in missing.active if task in inputs}
            self.inbox.put(TasksAssigned(missing, epoch, its))

    def _take_back(self) -> None:
        """Give up tasks of earlier targets that the application has not heard of: there is nothing to close."""
        self._note_taken()
        # All surplus tasks are known to the application.
        if not self.owned - self.target - self._held:
            return
        # The application may take events while this runs. What it takes before they are withdrawn, it knows, so the
        # difference is computed anew after that.
        withdrawn = self._withdrawn()
        tasks = self.owned - self.target - self._held
        self.owned -= tasks
        for event in withdrawn:
            # The other events keep their order.
            kept = assigned_only(event, event.tasks - tasks) if isinstance(event, TasksAssigned) else event
            if not isinstance(kept, TasksAssigned) or kept.tasks:
                self.inbox.put(kept)

    def _withdrawn(self) -> list[StreamsMembershipEvent]:
        """Withdraw the events from the application. It knows the tasks of all others from here on."""
        withdrawn = self.inbox.withdraw()
        self._note_taken()
        return withdrawn

    def _give_up(self, event: TasksRevoked | TasksLost) -> None:
        self._unconfirmed.append(event)
        self.inbox.put(event)

    def confirm(self, event: TasksRevoked | TasksLost) -> bool:
        """Note that the application has closed these tasks. Return whether that was still expected."""
        # Confirmed a second time, or dropped when the member left.
        if event not in self._unconfirmed:
            return False
        self._unconfirmed.remove(event)
        self.owned -= event.tasks
        return True

    def lose(self) -> None:
        """Give up all tasks at once: the member is out of the group.

        A revocation that the application has already taken remains valid: it closes those tasks and confirms the event.
        """
        # There are three kinds of tasks. Those that the application never heard of vanish with their events.
        withdrawn = self._withdrawn()
        self._unconfirmed = [event for event in self._unconfirmed if event not in withdrawn]
        # Statuses are not about tasks and stay.
        for event in withdrawn:
            if isinstance(event, StatusesChanged):
                self.inbox.put(event)
        # Those that it runs are lost in one event. Those of a revocation that it has taken are not held any more: it
        # closes them for that event, which stays unconfirmed.
        if self._held:
            self._give_up(TasksLost(self._held))
        self.owned = self.target = NO_TASKS
        self._told = NO_TASKS

    def drop(self) -> None:
        """Forget all tasks, because the application has closed them already."""
        # Nobody takes events after this, and nobody has to confirm any.
        self._withdrawn()
        self.owned = self.target = self._held = NO_TASKS
        self._told = NO_TASKS
        self._unconfirmed.clear()


class ConfirmationReminder:
    """The times of reminders: after 30 seconds, and then after twice as long each time, up to five minutes.

    Attributes:
        since_ms: Since when an event has not been confirmed; None if there is none.
    """

    def __init__(self) -> None:
        self.since_ms: int | None = None
        self._next_ms = 0

    def is_due(self, now_ms: int, *, awaits_confirmation: bool) -> bool:
        """Note whether events are not confirmed, and return whether to remind the program of them."""
        # There are three cases: nothing is open, so the next event starts anew; an event has just become open; or one
        # has been open until the next reminder is due.
        if not awaits_confirmation:
            self.since_ms = None
        elif self.since_ms is None:
            self.since_ms, self._next_ms = now_ms, now_ms + _FIRST_MS
        elif now_ms >= self._next_ms:
            self._next_ms = now_ms + min(now_ms - self.since_ms + _FIRST_MS, _LONGEST_MS)
            return True
        return False

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the next reminder."""
        return NEVER_MS if self.since_ms is None else max(0, self._next_ms - now_ms)


def _all_of(events: Iterable[TasksRevoked | TasksLost]) -> MemberTasks:
    tasks = NO_TASKS
    for event in events:
        tasks |= event.tasks
    return tasks
