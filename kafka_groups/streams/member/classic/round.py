"""The round of a member of a classic group: its JoinGroup and SyncGroup, and the gate before commits meanwhile."""

from collections.abc import Mapping

from attrs import evolve

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import NEVER_MS, OutgoingRequest
from kafka_groups.streams.member.classic.join_inquiry import JoinInquiry
from kafka_groups.streams.member.classic.round_log import JoinWatch

__all__ = ["ClassicRound"]


class ClassicRound:
    """The requests of a round. At most one of them is in flight.

    Args:
        backoff: Delays them after failures.
        inquiry: Finds out whether an unanswered JoinGroup will be answered.

    Attributes:
        watch: When an unanswered JoinGroup is mentioned.
        inquiry: Finds out whether it will be answered.
        in_flight: The request that is waiting for its response.
        join_sent: Whether JoinGroup was sent in this round, after which heartbeats stop until it is answered.
        joins: How many JoinGroup requests the member has built.
        assignments: What the member sends with SyncGroup if it leads, by the ids of members.
        error: Why all members get an error instead of tasks, if it leads.
        leader: The member that leads.
        reason: Why the member has joined.
    """

    def __init__(self, backoff: BackoffTimer, inquiry: JoinInquiry) -> None:
        self._backoff = backoff
        self._needs_connection = False
        self.inquiry = inquiry
        self._holds = 0
        self._is_gated = False
        self.watch = JoinWatch()
        self.in_flight: OutgoingRequest | None = None
        self.join_sent = False
        self.joins = 0
        self.assignments: Mapping[str, bytes] = {}
        self.error = self.leader = self.reason = ""

    # ----------------------------------------------------------------------------- the commit gate

    @property
    def is_gated(self) -> bool:
        """True from building JoinGroup until the assignment is known. No commit begins meanwhile."""
        return self._is_gated

    @property
    def is_held(self) -> bool:
        """True while a commit holds JoinGroup back."""
        return self._holds > 0

    def hold(self) -> None:
        """Hold JoinGroup back."""
        self._holds += 1

    def release(self) -> None:
        """Note that a commit that held JoinGroup back has ended."""
        self._holds -= 1

    # ----------------------------------------------------------------------------------- requests

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the next request may be sent; never while one is in flight."""
        return NEVER_MS if self.in_flight is not None else self._backoff.remaining_ms(now_ms)

    def building(self, reason: str) -> None:
        """Note that JoinGroup is built for this reason, or repeated if it is empty."""
        self.joins += 1
        self.join_sent = self._is_gated = True
        self.reason = reason or self.reason

    def sent(self, request: OutgoingRequest) -> OutgoingRequest:
        """Note a request, and return it as it is sent."""
        self.in_flight = evolve(request, on_new_connection=self._needs_connection)
        self._needs_connection = False
        return self.in_flight

    def answered(self, throttle_time_ms: int, now_ms: int) -> None:
        """Note a response, or a failure."""
        self.in_flight = None
        self._waits_no_more()
        self._backoff.wait(throttle_time_ms, now_ms)

    def failed(self, now_ms: int) -> None:
        """Wait before the next request."""
        self._backoff.failed(now_ms)

    def joined(self, leader: str) -> None:
        """Note that all members have joined."""
        self.leader, self.assignments, self.error = leader, {}, ""

    def over(self) -> None:
        """Note that the assignment is known."""
        self._is_gated = False
        self._backoff.succeeded()

    def again(self) -> None:
        """Note that the next round begins."""
        self.join_sent = False

    def forget(self) -> None:
        """Ignore what is in flight: the member has no generation any more."""
        self.give_up()
        self.join_sent = self._is_gated = False

    def give_up(self) -> None:
        """Ignore what is in flight."""
        # Brokers answer the requests of a connection in order, so the next one must not wait behind this one.
        self._needs_connection = self._needs_connection or self.in_flight is not None
        self.in_flight = None
        self._waits_no_more()

    def _waits_no_more(self) -> None:
        self.watch.answered()
        self.inquiry.over()

    @property
    def assigned_bytes(self) -> int:
        """The size of the assignments."""
        return sum(map(len, self.assignments.values()))
