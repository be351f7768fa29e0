"""One member id as the wire shows it: how surely it is a member, in which epoch, and what it may own."""

from collections.abc import Collection, Hashable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from attrs import define, field

from kafka_groups.protocol.messages.consumer_group_heartbeat import JOIN_GROUP_EPOCH, LEAVE_STATIC_EPOCH
from tests.simulation.groups.timing import REBALANCE_S, SESSION_S

__all__ = ["Holding", "SeenMember"]

_SURELY_MS = min(SESSION_S, REBALANCE_S) * 1000
"""For so long after a heartbeat that left nothing to revoke, no deadline of a member can have passed."""
_LATE_MS = 10_000
"""How late a request may be handled."""
_LONG_AGO = -1_000_000

O_co = TypeVar("O_co", covariant=True)


class Holding(Protocol[O_co]):
    """The partitions or tasks that a member may own, by what it was told and what it has said since."""

    @property
    def held(self) -> O_co:
        """All that it may own: its assignments, without what it has said since that it does not own."""
        ...

    @property
    def told(self) -> O_co:
        """The last assignment that it was told."""
        ...

    @property
    def is_clean(self) -> bool:
        """True if it has nothing to revoke."""
        ...

    @property
    def committable(self) -> Collection[Hashable]:
        """The part of its last assignment whose offsets it commits."""
        ...

    def listed(self, request: Any) -> Collection[Hashable] | None:
        """Return that part of what a heartbeat says that it owns. None: the heartbeat does not say."""
        ...

    def asked(self, request: Any, *, is_certain: bool) -> O_co:
        """Note a heartbeat that it sends. Return what it says that it owns and was not told to.

        Args:
            request: The heartbeat.
            is_certain: Whether no response to an earlier heartbeat is missing.
        """
        ...

    def accepted(self, request: Any, response: Any, *, is_certain: bool) -> O_co:
        """Note a response to a heartbeat that joins or stays. Return what is new to the member."""
        ...

    def release(self) -> None:
        """Give up what it has kept while it was away."""
        ...


H = TypeVar("H", bound=Holding[Any])


@define(eq=False)
class SeenMember(Generic[H]):
    """One member id.

    Attributes:
        holding: What it may own.
        instance: Its instance id.
        epoch: The epoch of the last response.
        since: For what the coordinator may have for it, an epoch before or at which that was assigned.
        is_away: It has left for a while, or has tried to.
        is_leaving: It has tried to leave for good.
        has_left: The coordinator has said that it has left, for good or for a while.
        is_gone: The coordinator has said that it is not a member.
        is_fenced: Its epoch was refused.
        is_joining: It has tried to join since then.
        clean_ms: When the last heartbeat was sent that was accepted and left nothing to revoke.
        removed_ms: When somebody else last tried to remove it.
        unanswered: How many heartbeats it has sent since the last response.
        repeats: How many heartbeats were repeated before the last response, of any member.
    """

    member_id: str
    holding: H
    instance: str | None = None
    epoch: int = 0
    since: dict[Hashable, int] = field(factory=dict)
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
        """Return whether it is a member for certain: no deadline can have passed, and nobody has removed it."""
        is_removed = self.clean_ms <= self.removed_ms or now_ms <= self.removed_ms + _LATE_MS
        may_be_over = self.is_gone or self.is_leaving or self.is_fenced or is_removed
        return not may_be_over and now_ms < self.clean_ms + _SURELY_MS

    def may_commit(self, epoch: int, committed: Iterable[Hashable]) -> bool:
        """Return whether a commit may be accepted, by what is known now (KIP-1251, KAFKA-19779)."""
        if self.is_gone or self.has_left:
            return self.is_joining
        return epoch >= self.epoch or all(self.since.get(each, epoch + 1) <= epoch for each in committed)

    # ------------------------------------------------------------------------------------------ heartbeats

    def asked(self, request: Any, now_ms: int) -> Any:
        """Note a heartbeat that it sends. Return what it says that it owns and was not told to."""
        self.unanswered += 1
        self.instance = request.instance_id
        if request.member_epoch == JOIN_GROUP_EPOCH:
            self.is_joining = True
        elif request.member_epoch < 0:
            self._leave(now_ms, is_for_a_while=request.member_epoch == LEAVE_STATIC_EPOCH)
        return self.holding.asked(request, is_certain=self.unanswered <= 1)

    def _leave(self, now_ms: int, *, is_for_a_while: bool) -> None:
        self.is_joining, self._left_ms = False, now_ms
        if is_for_a_while:
            self.is_away, self._floor = True, 0
            self.since = dict.fromkeys(self.since, 0)
        else:
            self.is_leaving = True

    def accepted(self, request: Any, response: Any, sent_ms: int) -> Any:
        """Note a response to a heartbeat that joins or stays. Return what is new to the member."""
        if sent_ms > self._left_ms:
            self.is_gone = self.is_away = self.is_leaving = self.has_left = False
            self.is_joining = self.is_fenced = False
        new = self.holding.accepted(request, response, is_certain=self.unanswered <= 1)
        self._note_epochs(request)
        self.unanswered = 0
        self.epoch = self._floor = response.member_epoch
        if self.holding.is_clean:
            self.clean_ms = sent_ms
        return new

    def _note_epochs(self, request: Any) -> None:
        listed, told = self.holding.listed(request), self.holding.committable
        if listed is not None:
            self.since = {each: epoch for each, epoch in self.since.items() if each in listed or each in told}
        for each in told:
            self.since.setdefault(each, self._floor)

    def left(self) -> None:
        """Note that the coordinator knows that it has left, for good or for a while."""
        self.has_left = True

    def fenced(self) -> None:
        """Note that it was told to give everything up."""
        self.is_fenced = True

    def lost(self) -> None:
        """Note that it is not a member any more, though it may not know that yet."""
        self.is_gone, self.is_joining = True, False

    def released(self) -> None:
        """If it is away, give up what it has kept: its instance may get that, and then others."""
        if self.is_away:
            self.holding.release()
