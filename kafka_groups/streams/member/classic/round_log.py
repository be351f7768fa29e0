"""The log of a member of a classic group: one line for each round, and what holds a round up."""

from attrs import frozen

from kafka_groups.client.events import Area, Events, listed
from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import sentences
from kafka_groups.streams.member.classic.subscribed_topics import SubscriptionChanges
from kafka_groups.streams.member.rules.member_tasks import MemberTasks

__all__ = ["JoinWatch", "RoundLog"]

_FIRST_MS, _LONGEST_MS = 10_000, 300_000
"""The time until the first warning of an unanswered JoinGroup, and the longest time between two."""


@frozen
class RoundLog:
    """Writes log messages about the rounds of one group.

    Attributes:
        events: The events.
        group_id: The group.
    """

    events: Events
    group_id: str

    def assigned(
        self, generation: int, member_id: str, why: str, *, leads: bool, taken: MemberTasks, given_up: MemberTasks
    ) -> None:
        """A round has ended."""
        role = "leads" if leads else "follows"
        self.events.note(
            Area.GROUP,
            f"Generation {generation} of group {self.group_id}: member {member_id} {role}. It joined because {why}. "
            f"It takes {taken}, and gives up {given_up}.",
        )

    def topics_changed(self, changes: SubscriptionChanges) -> None:
        """Topics have come or gone that patterns match."""
        roles = {"new": changes.new, "deleted": changes.gone}
        told = "; ".join(f"{role}: {listed(topics)}" for role, topics in roles.items() if topics)
        self.events.note(Area.GROUP, f"Group {self.group_id}: topics that match the patterns have changed ({told}).")

    def without_topics(self, patterns: tuple[str, ...]) -> None:
        """Patterns match no topic."""
        self.events.note(
            Area.GROUP,
            f"Group {self.group_id}: no topic matches {listed(map(repr, patterns))} now. The application reads such "
            "topics within metadata.max.age.ms after they are created.",
        )

    def refused(self, generation: int, member_id: str, code: int, leader: str) -> None:
        """A round has ended with an error for all members."""
        self.events.warn(
            Area.GROUP,
            "refused",
            f"Generation {generation} of group {self.group_id}: the leader, {leader}, has sent the error {code} to all "
            f"members. Member {member_id} keeps its tasks until the application ends.",
        )

    def waits(self, member_id: str, waited_ms: int) -> None:
        """A JoinGroup is not answered for long."""
        self.events.warn(
            Area.GROUP,
            "join waits",
            f"The group {self.group_id} has not answered JoinGroup of member {member_id or '(new)'} for "
            f"{waited_ms // 1000} s. It waits for other members to join, at most for their session.timeout.ms if they "
            "are gone, and for their max.poll.interval.ms if they live. This member processes its tasks meanwhile.",
        )

    def given_up(self, member_id: str) -> None:
        """The answer to JoinGroup was lost."""
        self.events.warn(
            Area.GROUP,
            "join lost",
            f"The group {self.group_id} has gone on without member {member_id}: the answer to its JoinGroup was lost. "
            "It joins again.",
        )

    def holds_up(self, member_id: str, tasks: MemberTasks, waited_ms: int) -> None:
        """The group waits for this member to close tasks."""
        self.events.warn(
            Area.GROUP,
            "holds up",
            f"The group {self.group_id} waits for member {member_id} to join, which has not closed its tasks for "
            f"{waited_ms // 1000} s: {tasks}. If that lasts for max.poll.interval.ms, the group goes on without it.",
        )

    def no_endpoint(self, pause_ms: int) -> None:
        """The leader does not take the member's endpoint."""
        self.events.warn(
            Area.GROUP,
            "no endpoint",
            f"The leader of group {self.group_id} tells the members the application.server of others, but not that of "
            f"this member. The member joins again in {pause_ms} ms. Queries for its keys fail meanwhile.",
        )

    def far_ahead(self, ahead_ms: int) -> None:
        """The leader asks for a round in the far future."""
        self.events.warn(
            Area.GROUP,
            "far ahead",
            f"The leader of group {self.group_id} asks for the next round in {ahead_ms // 1000} s, far beyond "
            "probing.rebalance.interval.ms. Compare the clocks of the machines.",
        )

    def cannot_shut_down(self, version: int) -> None:
        """The group has members that cannot be told to shut down."""
        self.events.warn(
            Area.GROUP,
            "cannot shut down",
            f"The group {self.group_id} has members of Kafka Streams 2.7 or older (version {version} of the protocol), "
            "which cannot be told to shut down. Stop them yourself.",
        )

    def not_led(self, why: KafkaGroupsError) -> None:
        """The member gives up leading, for a reason that may pass."""
        self.events.warn(
            Area.GROUP,
            "not led",
            sentences(
                f"This member leads group {self.group_id} and cannot assign its tasks",
                str(why),
                "It leaves, closes its tasks and joins again, so that another member can lead",
            ),
        )


class JoinWatch:
    """The times at which a JoinGroup that is not answered is mentioned: after 10 seconds, and at growing intervals."""

    def __init__(self) -> None:
        self._since_ms: int | None = None
        self._next_ms = NEVER_MS

    def sent(self, now_ms: int) -> None:
        """Note that JoinGroup was sent."""
        self._since_ms, self._next_ms = now_ms, now_ms + _FIRST_MS

    def answered(self) -> None:
        """Note its response, or that none will come."""
        self._since_ms, self._next_ms = None, NEVER_MS

    def due(self, now_ms: int) -> int | None:
        """Return for how long there has been no response if that should be mentioned now."""
        if self._since_ms is None or now_ms < self._next_ms:
            return None
        waited_ms = now_ms - self._since_ms
        self._next_ms = now_ms + min(max(waited_ms, _FIRST_MS), _LONGEST_MS)
        return waited_ms

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until it is mentioned next."""
        return NEVER_MS if self._since_ms is None else max(0, self._next_ms - now_ms)
