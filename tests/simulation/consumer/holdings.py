"""What the wire shows of one member of a consumer group: what it has, since which epoch, and how surely it is there."""

from collections.abc import Iterable

from attrs import define, field

from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.simulation.consumer.member import SESSION_S
from tests.simulation.consumer.membership import NOTHING, REBALANCE_S, Partitions, Place, places_in

__all__ = ["Holding"]

_SURELY_MS = min(SESSION_S, REBALANCE_S) * 1000
"""For so long after a heartbeat that left nothing to revoke, no deadline of a member can have passed."""
_LATE_MS = 10_000
"""How late a request may be handled."""
_LONG_AGO = -1_000_000


@define(eq=False)
class Holding:
    """One member id.

    Attributes:
        instance: Its instance id.
        epoch: The epoch of the last answer.
        held: What it may own: what it was told, without what it has said since that it does not own.
        told: The last assignment that it was told.
        since: For each partition that the coordinator may have for it, an epoch before or at which it was assigned.
        is_away: It has left for a while, or has tried to.
        is_leaving: It has tried to leave for good.
        has_left: The coordinator has said that it has left, for good or for a while.
        is_gone: The coordinator has said that it is no member.
        is_fenced: Its epoch was refused.
        is_joining: It has tried to join since then.
        clean_ms: When the last heartbeat was sent that was accepted and left nothing to revoke.
        removed_ms: When somebody else last tried to remove it.
        unanswered: How many heartbeats it has sent since the last answer.
        repeats: How many heartbeats were repeated before the last answer, of any member.
    """

    member_id: str
    instance: str | None = None
    epoch: int = 0
    held: Partitions = NOTHING
    told: Partitions = NOTHING
    since: dict[Place, int] = field(factory=dict)
    is_away: bool = False
    is_leaving: bool = False
    has_left: bool = False
    is_gone: bool = False
    is_joining: bool = False
    is_fenced: bool = False
    clean_ms: int = _LONG_AGO
    removed_ms: int = _LONG_AGO
    unanswered: int = 0
    repeats: int = 0
    _floor: int = 0
    _left_ms: int = _LONG_AGO

    def is_there(self, now_ms: int) -> bool:
        """Whether it is a member for certain: no deadline may have passed, and nobody has removed it."""
        is_removed = self.clean_ms <= self.removed_ms or now_ms <= self.removed_ms + _LATE_MS
        may_be_over = self.is_gone or self.is_leaving or self.is_fenced or is_removed
        return not may_be_over and now_ms < self.clean_ms + _SURELY_MS

    def may_commit(self, epoch: int, partitions: Iterable[Place]) -> bool:
        """Whether a commit may be accepted, by what is known now (KIP-1251)."""
        if self.is_gone or self.has_left:
            return self.is_joining
        return epoch >= self.epoch or all(self.since.get(each, epoch + 1) <= epoch for each in partitions)

    # ------------------------------------------------------------------------------------------ heartbeats

    def asked(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> Partitions:
        """It sends a heartbeat. Returns what it owns without having been told that it may."""
        self.unanswered += 1
        self.instance = request.instance_id
        if request.member_epoch == JOIN_GROUP_EPOCH:
            self.held, self.is_joining = NOTHING, True
        elif request.member_epoch == LEAVE_STATIC_EPOCH:
            self.held, self.is_away, self._floor, self._left_ms = self.told, True, 0, now_ms
            self.is_joining = False
            self.since = dict.fromkeys(self.since, 0)
        elif request.member_epoch < 0:
            self.held, self.is_leaving, self.is_joining, self._left_ms = NOTHING, True, False, now_ms
        elif request.topic_partitions is not None:
            owned = places_in(request.topic_partitions)
            foreign, self.held = owned - self.held, owned & self.held
            return foreign
        return NOTHING

    def accepted(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse, sent_ms: int
    ) -> Partitions:
        """A heartbeat of a member that joins or stays is accepted. Returns the partitions that are new to it."""
        if sent_ms > self._left_ms:
            self.is_gone = self.is_away = self.is_leaving = self.has_left = False
            self.is_joining = self.is_fenced = False
        self.unanswered = 0
        if response.assignment is not None:
            self.told = places_in(response.assignment.topic_partitions)
        self._note_epochs(request)
        new, self.held = self.told - self.held, self.held | self.told
        self.epoch = self._floor = response.member_epoch
        if self.held == self.told:
            self.clean_ms = sent_ms
        return new

    def _note_epochs(self, request: ConsumerGroupHeartbeatRequest) -> None:
        if request.topic_partitions is not None:
            kept = places_in(request.topic_partitions) | self.told
            self.since = {place: epoch for place, epoch in self.since.items() if place in kept}
        for place in self.told:
            self.since.setdefault(place, self._floor)

    def left(self) -> None:
        """The coordinator knows that it has left, for good or for a while."""
        self.has_left = True

    def fenced(self) -> None:
        """It was told to give everything up."""
        self.is_fenced = True

    def lost(self) -> None:
        """It is no member any more. It may not have heard of it."""
        self.is_gone, self.is_joining = True, False

    def released(self) -> None:
        """What it has kept while it was away may be given to its instance, and then to others."""
        if self.is_away:
            self.held = NOTHING
