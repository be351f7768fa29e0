"""The log of a member of a streams group: what happens to it, and what stops it."""

from kafka_groups.client.events import Area, Events
from kafka_groups.streams.member.rules.member_events import (
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState

__all__ = ["MembershipLog"]


class MembershipLog:
    """Writes log messages about one member.

    Args:
        events: The events.
        member: The member, with its group.
        group: The kind of its group.
    """

    def __init__(self, events: Events, member: str, group: str = "streams group") -> None:
        self._events = events
        self._member = member
        self._group = group

    def joined(self, epoch: int) -> None:
        """The coordinator accepted the member."""
        self._events.note(Area.GROUP, f"Member {self._member} joined the streams group with epoch {epoch}.")

    def told(self, event: StreamsMembershipEvent) -> None:
        """The program hears of tasks that come or go."""
        match event:
            case TasksAssigned(tasks):
                self._events.note(Area.GROUP, f"Tasks assigned to member {self._member}: {tasks}.")
            case TasksRevoked(tasks):
                self._events.note(Area.GROUP, f"Tasks revoked from member {self._member}: {tasks}.")
            case TasksLost(tasks):
                self._events.note(Area.GROUP, f"Tasks lost by member {self._member}: {tasks}.")
            case _:
                pass

    def closed(self, event: TasksRevoked | TasksLost) -> None:
        """The program has confirmed an event."""
        self._events.note(Area.GROUP, f"Tasks closed by member {self._member}: {event.tasks}.")

    def unconfirmed(self, tasks: MemberTasks, state: MembershipState, waited_ms: int) -> None:
        """The program does not confirm that it has closed tasks."""
        waits = "keeps other members waiting for them" if state in IN_GROUP else f"is not in the group ({state.value})"
        self._events.warn(
            Area.GROUP,
            "unconfirmed",
            f"Member {self._member} has waited {waited_ms // 1000} s for your program to confirm that it has closed"
            f" tasks: {tasks}. It gets no tasks before that, and {waits}. Continue to poll, close the tasks of each"
            " TasksRevoked and TasksLost event, and call confirm(event).",
        )

    def left(self) -> None:
        """The coordinator answered the heartbeat that leaves."""
        self._events.note(Area.GROUP, f"Member {self._member} left the {self._group}.")

    def not_told(self) -> None:
        """The client is closed before the coordinator answered."""
        self._events.warn(
            Area.GROUP,
            "not told",
            f"Could not notify the coordinator that member {self._member} is leaving the {self._group}. It will remove"
            " the member when its session times out.",
        )

    def overdue(self, limit_ms: int) -> None:
        """The application stayed away."""
        self._events.warn(
            Area.GROUP,
            "overdue",
            f"Member {self._member} is leaving the {self._group}: the program did not poll for {limit_ms} ms"
            " (max.poll.interval.ms). Its tasks are lost. Process fewer records at a time, or raise"
            " max.poll.interval.ms.",
        )

    def missed_tasks(self) -> None:
        """A static member does not know its tasks."""
        self._events.warn(
            Area.GROUP,
            "missed tasks",
            f"Static member {self._member} gives up its tasks and rejoins: the response with its new tasks was lost.",
        )

    def outdated(self, known_epoch: int, epoch: int) -> None:
        """The group has moved on before the member joined again."""
        self._events.warn(
            Area.GROUP,
            "outdated",
            f"Member {self._member} lost its tasks: when it rejoined after a lost response, the epoch was {epoch}"
            f" instead of {known_epoch}. Other members may have had the tasks in between.",
        )

    def fenced(self, epoch: int, error: str) -> None:
        """The coordinator removed the member."""
        self._events.warn(
            Area.GROUP,
            "fenced",
            f"The coordinator does not know member {self._member} with epoch {epoch} in the {self._group} ({error})."
            " Its tasks are lost, and it rejoins.",
        )

    def unreleased(self, instance_id: str | None, wait_ms: int) -> None:
        """Another member has the instance id."""
        self._events.warn(
            Area.GROUP,
            "unreleased",
            f"The group still has a member with the instance id {instance_id}, perhaps this process before it was"
            f" restarted. Its session ends by itself. Member {self._member} joins again in {wait_ms} ms.",
        )
