"""A member that owns tasks: the part that the memberships of all kinds of groups have in common."""

from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.owned_tasks import TaskOwnership

__all__ = ["OwningMember"]


class OwningMember:
    """Tells what the member owns, as `GroupMembership` has it. The subclass sets `_tasks`."""

    _tasks: TaskOwnership

    @property
    def owned(self) -> MemberTasks:
        """The tasks that the member owns, with those that it still has to give up."""
        return self._tasks.owned

    @property
    def lost(self) -> MemberTasks:
        """Tasks that may be another member's by now, and that the application has not closed."""
        return self._tasks.lost

    @property
    def unconfirmed(self) -> MemberTasks:
        """Tasks of events that the application has not confirmed."""
        return self._tasks.unconfirmed

    @property
    def has_events(self) -> bool:
        """True if there are events for the application. Any thread may ask."""
        return bool(self._tasks.inbox)
