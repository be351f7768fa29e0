"""A simulated consumer of a consumer group: sends heartbeats, revokes and takes partitions, commits, follows errors."""

import asyncio
import random

from attrs import define, field

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupIdNotFoundError,
    KafkaGroupsError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.consumer.membership import GROUP, NOTHING, Membership, Partitions, Place, Seat
from tests.simulation.consumer.offset_requests import (
    committing,
    error_of_fetch,
    fetching,
    positions_in,
)
from tests.simulation.consumer.topics import changed_subscription
from tests.simulation.groups.coordination import link_to
from tests.simulation.groups.coordinator_link import CoordinatorLink, check
from tests.simulation.groups.offset_requests import error_of_commit
from tests.simulation.groups.timing import REBALANCE_S, SESSION_S

__all__ = ["Member"]

_HEARTBEAT_S = (1.5, 2.5)
_BACKOFF_S = (0.1, 1.0)
_DAWDLE_S, _AWAY_S = 2.0, (1.0, 9.0)
_UNRELEASED_S = 1.0
_STALE = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)
_REJOIN = (FencedMemberEpochError, UnknownMemberIdError, GroupIdNotFoundError)


@define(eq=False, repr=False)
class Member:
    """One life of a consumer.

    Attributes:
        seat: What it is.
        world: Where it lives.
        rng: Its own randomness.
        membership: What it knows of the group.
        version: The version of its heartbeats.
        with_ids: Whether its requests about offsets have ids of topics.
        is_in: Whether it is a member, and owns what it was told to.
    """

    seat: Seat
    world: SimulatedWorld
    rng: random.Random
    membership: Membership
    version: int
    with_ids: bool
    is_in: bool = False
    _positions: dict[Place, int] = field(factory=dict)
    _commits: int = 0
    _standstill_s: float = 0
    _link: CoordinatorLink = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._link = link_to(self.world, GROUP, f"client {self.seat.name}")

    def __repr__(self) -> str:
        numbers = sorted(number for _, number in self.membership.owned)
        return f"<{self.seat.name} {'in' if self.is_in else 'out of'} epoch {self.membership.epoch} with {numbers}>"

    @property
    def epoch(self) -> int:
        """Its epoch."""
        return self.membership.epoch

    @property
    def owned(self) -> Partitions:
        """What it consumes."""
        return self.membership.owned

    def stand_still(self, seconds: float) -> None:
        """Do nothing for so long, as a process does that the operating system has stopped."""
        self._standstill_s = seconds

    async def live(self) -> None:
        """Consume until another member of the same instance takes over, or the process ends."""
        try:
            while not await self._is_over():
                self.is_in = False
                await asyncio.sleep(self.rng.uniform(*_BACKOFF_S))
        except asyncio.CancelledError:
            await self._leave()
            raise
        finally:
            self.is_in = False
            self._link.close()

    async def _is_over(self) -> bool:
        """Consume until something goes wrong, and return whether that is final."""
        try:
            await self._link.find(self.rng.randrange(3))
            while True:
                await self._beat()
                await self._work()
        except FencedInstanceIdError:
            self.world.struck["older one fenced"] += 1
            self.membership.give_up()
            await self._commit_late()
            return True
        except _REJOIN as error:
            await self._rejoin(error)
        except UnreleasedInstanceIdError:
            self.world.struck["unreleased instance"] += 1
            await asyncio.sleep(_UNRELEASED_S)
        except KafkaGroupsError as error:
            self._note(error)
        self.membership.failed()
        return False

    async def _rejoin(self, error: KafkaGroupsError) -> None:
        """Give everything up, and now and then commit all the same, as a thread does that was not told."""
        self._note(error)
        self.membership.give_up()
        self._positions.clear()
        if self.rng.random() < 0.5:
            await self._commit_late()

    def _note(self, error: KafkaGroupsError) -> None:
        self.world.note(self.seat.name, "met", type(error).__name__)

    # -------------------------------------------------------------------------------------------- heartbeats

    async def _beat(self) -> None:
        response = await self._link.ask(self.membership.heartbeat(), self.version)
        check(response.error_code)
        self.membership.answered(response)

    async def _work(self) -> None:
        """Reach the assignment, and consume until the next heartbeat is due, which is at once after a change."""
        if self.membership.owned != self.membership.assigned:
            self.is_in = False
            await self._reconcile()
            return
        await self._fetch_committed()
        self.is_in = True
        await asyncio.sleep(self.rng.uniform(*_HEARTBEAT_S))
        await self._misbehave()
        if self.rng.random() < 0.3:
            await self._commit(self.membership.owned)

    async def _reconcile(self) -> None:
        """Revoke what is not assigned any more, after a last commit, and take what is new."""
        membership = self.membership
        if not membership.owned <= membership.assigned:
            await self._dawdle()
            await self._commit(membership.owned - membership.assigned)
            membership.own(membership.owned & membership.assigned)
        membership.own(membership.assigned)
        for place in self._positions.keys() - membership.owned:
            del self._positions[place]

    async def _dawdle(self) -> None:
        """Now and then, take too long to revoke partitions, while a background thread sends heartbeats."""
        if self.world.strikes("slow_revocation", 0.1):
            for _ in range(round(REBALANCE_S * 1.3 / _DAWDLE_S)):
                await asyncio.sleep(_DAWDLE_S)
                await self._beat()

    async def _misbehave(self) -> None:
        if self.world.strikes("session_expired", 0.006):
            self.stand_still(SESSION_S * self.rng.uniform(1.1, 1.6))
        seconds, self._standstill_s = self._standstill_s, 0
        await asyncio.sleep(seconds)
        if self.world.strikes("left_for_a_while", 0.01):
            await self._leave()
            self.membership.give_up()
            await self._commit_late()
            await asyncio.sleep(self.rng.uniform(*_AWAY_S))
            await self._beat()
        if self.world.strikes("other_subscription", 0.01):
            # Who takes the place of a static member does not know that there was a regular expression.
            may_be_regex = self.version > 0 and self.seat.instance is None
            self.membership.subscription = changed_subscription(
                self.rng,
                self.membership.subscription.assignor if self.seat.instance else None,
                may_be_regex=may_be_regex,
            )
        if self.world.strikes("late_commit", 0.05):
            await self._commit_late()

    async def _leave(self) -> None:
        """Leave the group after a last commit: static members for a while."""
        if self.membership.epoch <= 0:
            return
        try:
            await self._commit(self.membership.owned)
            self.membership.own(NOTHING)
            self.is_in = False
            await self._link.ask(self.membership.leaving(), self.version)
        except KafkaGroupsError as error:
            self.world.note(self.seat.name, "could not leave", type(error).__name__)

    # ----------------------------------------------------------------------------------------------- offsets

    async def _fetch_committed(self) -> None:
        """Find out where to begin with new partitions. With a stale epoch it asks again after the next heartbeat."""
        new = self.membership.owned - self._positions.keys()
        if new:
            request = fetching(self._metadata, self.membership, new)
            response = await self._link.ask(request, 10 if self.with_ids else 9)
            self._check_unless_stale(error_of_fetch(response))
            self._positions |= positions_in(self._metadata, response)

    async def _commit(self, partitions: Partitions) -> None:
        """Commit after some progress. With a stale epoch, the next heartbeat tells more."""
        known = partitions & self._positions.keys()
        for place in sorted(known):
            self._positions[place] += self.rng.randrange(1, 10)
        await self._send_commit(self.membership.epoch, {place: self._positions[place] for place in sorted(known)})

    async def _commit_late(self) -> None:
        """Commit with a former epoch what was owned then, as a request does that was on its way for long."""
        earlier = self.membership.earlier(self.rng)
        if earlier is None:
            return
        epoch, partitions = earlier
        self.world.struck["late_commit"] += 1
        try:
            await self._send_commit(epoch, {place: self.rng.randrange(1000) for place in sorted(partitions)})
        except KafkaGroupsError as error:
            self._note(error)

    async def _send_commit(self, epoch: int, positions: dict[Place, int]) -> None:
        if not positions or epoch <= 0:
            return
        self._commits += 1
        mark = f"{self.membership.member_id} {self._commits}"
        request = committing(self._metadata, self.membership, epoch, positions, mark)
        response = await self._link.ask(request, 10 if self.with_ids else 9)
        self._check_unless_stale(error_of_commit(response))

    def _check_unless_stale(self, error: ErrorCode) -> None:
        if error not in _STALE:
            check(error)

    @property
    def _metadata(self) -> ClusterMetadata:
        return self.world.cluster.metadata
