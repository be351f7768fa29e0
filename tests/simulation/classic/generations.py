"""What the wire shows of the generations of a group: who belongs to them, what they own, and why they end."""

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field

from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponseMember
from tests.simulation.classic.member import instance_of, owner_of
from tests.simulation.groups.timing import SESSION_S

__all__ = ["Generations"]

_SILENT_MS = 9_000
"""Who was heard of within this time is within its session of 15 s, whatever is late."""
_LATE_MS = 60_000
"""How long after a removal an instance may be missing."""
assert _SILENT_MS + 6_000 <= SESSION_S * 1000


@define(eq=False)
class _Generation:
    """One generation.

    Attributes:
        number: Its number.
        members: The owners in it. None: the leader's response was not seen.
        statics: Those of them that are instances.
        owners: Who owns each partition.
        synced: Who has an assignment.
        causes: Why another one may follow.
    """

    number: int
    members: frozenset[str] | None = None
    statics: frozenset[str] = frozenset()
    owners: dict[int, str] = field(factory=dict)
    synced: set[str] = field(factory=set)
    causes: list[str] = field(factory=list)

    @property
    def is_complete(self) -> bool:
        return self.members is not None and self.members <= self.synced


@define(eq=False)
class Generations:
    """All generations, the newest at the end.

    Attributes:
        heard_ms: When the coordinator last took a request of each owner as that of a member.
        removed_ms: When a request that removes an instance was last sent.
    """

    _all: dict[int, _Generation] = field(factory=dict)
    _complete: _Generation | None = None
    heard_ms: dict[str, int] = field(factory=dict)
    removed_ms: dict[str, int] = field(factory=dict)

    @property
    def is_quiet(self) -> bool:
        """Whether a generation is complete, and nothing has happened since that may end it."""
        return self._complete is not None and self._newest is self._complete and not self._complete.causes

    @property
    def newest(self) -> int:
        """The newest number, or 0."""
        return self._newest.number if self._newest is not None else 0

    @property
    def _newest(self) -> _Generation | None:
        return self._all[max(self._all)] if self._all else None

    def is_stored(self, number: int) -> bool:
        """Whether an assignment of the generation was given out, and so was stored."""
        return number in self._all and bool(self._all[number].synced)

    # ---------------------------------------------------------------------------------- why generations end

    def join_asked(self, request: JoinGroupRequest) -> None:
        """A member joins. After a complete generation, only restarted instances do so without a rebalance."""
        newest = self._newest
        if newest is None:
            return
        is_restart = not request.member_id and request.group_instance_id in newest.synced
        if not (is_restart and newest.is_complete):
            newest.causes.append(f"join of {request.group_instance_id or request.member_id or 'a new member'}")

    def leave_asked(self, instances: Iterable[str], now_ms: int) -> None:
        """Members leave or are removed."""
        self.removed_ms |= dict.fromkeys(instances, now_ms)
        if self._newest is not None:
            self._newest.causes.append("leave")

    def rebalancing(self, number: int, now_ms: int) -> Iterator[str]:
        """A member of a generation is told to join again. Yields what must not be: that nobody has caused it."""
        newest = self._newest
        if newest is None or newest.number != number or not newest.is_complete:
            return
        for owner in sorted(newest.synced):
            self._note_silence(owner, now_ms)
        if not newest.causes:
            yield f"generation {number} ends, though nothing but restarts has happened in it"
        newest.causes.append("told")

    def heard(self, owner: str, now_ms: int) -> None:
        """The coordinator has just taken a request of a member."""
        self._note_silence(owner, now_ms)
        self.heard_ms[owner] = now_ms

    def _note_silence(self, owner: str, now_ms: int) -> None:
        newest = self._newest
        if newest is not None and owner in newest.synced and now_ms - self.heard_ms.get(owner, 0) > _SILENT_MS:
            newest.causes.append(f"silence of {owner}")

    # --------------------------------------------------------------------------------------- what they are

    def joined(self, number: int, members: Iterable[JoinGroupResponseMember], now_ms: int) -> Iterator[str]:
        """A member has joined a generation; the leader is told the members. Yields what must not be."""
        self._all.setdefault(number, _Generation(number))
        generation, found = self._all[number], list(members)
        if not found or generation.synced:
            return
        statics = [instance for each in found if (instance := instance_of(each)) is not None]
        if len(set(statics)) < len(statics):
            yield f"generation {number} has an instance twice: {sorted(statics)}"
        generation.members = frozenset(owner_of(each.member_id, instance_of(each)) for each in found)
        generation.statics = frozenset(statics)
        yield from self._dropped(generation, now_ms)

    def synced(self, number: int, owner: str, partitions: Iterable[int], *, is_disputed: bool) -> Iterator[str]:
        """A member got its assignment. Yields what must not be.

        Args:
            number: The generation.
            owner: The member.
            partitions: Its assignment.
            is_disputed: Whether requests to join or leave are on their way.
        """
        generation = self._all.setdefault(number, _Generation(number))
        for partition in partitions:
            other = generation.owners.setdefault(partition, owner)
            if other != owner:
                yield f"generation {number}: {other} and {owner} own partition {partition}"
        was_complete = generation.is_complete
        generation.synced.add(owner)
        if generation.is_complete and not was_complete and generation is self._newest:
            self._complete = generation
            generation.causes += ["late request"] * is_disputed

    def forget_unstored(self) -> None:
        """Another coordinator begins with what is stored: it uses the later numbers again."""
        self._all = {number: each for number, each in self._all.items() if each.synced}

    def owned(self) -> Mapping[int, str]:
        """Who owns each partition in the newest generation."""
        return {} if self._newest is None else dict(self._newest.owners)

    def _dropped(self, generation: _Generation, now_ms: int) -> Iterator[str]:
        before = self._complete
        if before is None or before.number >= generation.number or generation.members is None:
            return
        for instance in sorted(before.statics - generation.members):
            was_removed = now_ms - self.removed_ms.get(instance, -_LATE_MS) < _LATE_MS
            if now_ms - self.heard_ms.get(instance, 0) < _SILENT_MS and not was_removed:
                yield f"generation {generation.number} dropped {instance}, which was within its session"
