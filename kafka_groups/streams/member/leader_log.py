"""The log of a leader of a classic group: what its rounds have to say."""

from kafka_groups.admin.rules.streams_leader.group_round import LedRound
from kafka_groups.client.events import Area, Events, listed
from kafka_groups.errors.texts import counted

__all__ = ["LeaderLog"]


class LeaderLog:
    """Writes log messages about the rounds that a member leads. Some of them are written once.

    Args:
        events: The events.
        group_id: The group.
    """

    def __init__(self, events: Events, group_id: str) -> None:
        self._events = events
        self._group_id = group_id
        self._told: set[object] = set()

    def leads(self, generation: int, member_id: str, assignor: str) -> None:
        """The member leads, and has not led the generation before."""
        self._events.note(
            Area.GROUP,
            f"Member {member_id} leads group {self._group_id} from generation {generation} on, and assigns its tasks "
            f"with {assignor}.",
        )

    def led(self, done: LedRound) -> None:
        """A round has its assignments."""
        for text in done.warnings:
            self._events.warn(Area.GROUP, text, text)
        for text in done.warnings_once:
            self._once(text, text)
        if done.unassigned:
            self._unassigned(done)
        if done.follow_up_ms is not None:
            self._joins_itself()
        if done.created_topics:
            self._events.note(Area.GROUP, f"Created the internal topics {listed(done.created_topics)}.")

    def slow(self, text: str) -> None:
        """The task assignor takes long."""
        self._events.warn(Area.GROUP, "slow assignor", text)

    def _unassigned(self, done: LedRound) -> None:
        self._once(
            ("unassigned", done.unassigned),
            f"The task assignor of group {self._group_id} has given {counted(len(done.unassigned), 'task')} to no "
            f"process, and nobody runs them: {listed(done.unassigned)}. This is logged once.",
        )

    def _joins_itself(self) -> None:
        self._once(
            "joins itself",
            f"The group {self._group_id} has members of Kafka Streams 2.5 or older, which cannot be told when to join "
            "again. This member leads, and joins again itself when the task assignor asks for another round.",
        )

    def _once(self, subject: object, text: str) -> None:
        if subject not in self._told:
            self._told.add(subject)
            self._events.warn(Area.GROUP, text, text)
