"""Steps after which members of a streams group time out on both sides, one after the other and never by chance.

Usually all timeouts are far longer than a run. A member whose session is to end sends a heartbeat while the group's
session timeout is short: a new timeout holds from the next heartbeat on. A member that is to revoke its tasks too late
has a short rebalance timeout of its own. Then nobody sends anything until the real broker has removed the members.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import LEAVE_GROUP_EPOCH, LEAVE_STATIC_EPOCH
from tests.lockstep.classic_steps import STATIC
from tests.lockstep.epoch_members import REBALANCE_MS, STREAMS
from tests.lockstep.side import Side
from tests.lockstep.steps import GROUP, AlterGroupConfig, Question, Step
from tests.lockstep.streams_steps import Owns, StreamsHeartbeat

_SHORT_MS, _LONG_MS = 1_000, 60_000
_LONGEST_WAIT_S = 1.5
_PAUSE_S = 0.02
_OBSERVER = "observer"


@frozen(kw_only=True, repr=False)
class Silence(Question):
    """Nobody sends anything until clients are no members any more, or could not have been for long. Then: describe.

    Attributes:
        of: The clients.
    """

    of: tuple[str, ...] = ()

    def request(self, side: Side) -> Any:
        """The request."""
        return StreamsGroupDescribeRequest(group_ids=(side.group_id(GROUP),))


async def timed_out(side: Side, clients: Sequence[str]) -> None:
    """Wait until clients are no members on this side, at most until each timeout must be over."""
    gone = {STREAMS.id_of(side, name) for name in clients}
    deadline = asyncio.get_running_loop().time() + _LONGEST_WAIT_S
    while asyncio.get_running_loop().time() < deadline:
        described = (await side.client(_OBSERVER).ask(Silence().request(side))).groups[0]
        if gone.isdisjoint(each.member_id for each in described.members):
            return
        await asyncio.sleep(_PAUSE_S)


@frozen
class TimeoutSteps:
    """Chooses such steps."""

    _rng: random.Random

    def choose(self, mine: StreamsHeartbeat, other: StreamsHeartbeat, join: StreamsHeartbeat) -> Iterator[Step]:
        """Several steps that end with a wait.

        Args:
            mine: An ordinary heartbeat of a client.
            other: One of another client.
            join: What the other client joins with.
        """
        if self._rng.random() < 0.5:
            return self._sessions_end(mine, *(other,) * (self._rng.random() < 0.3))
        return self._is_late(mine, join, other)

    def _sessions_end(self, *heartbeats: StreamsHeartbeat) -> Iterator[Step]:
        yield AlterGroupConfig(name="streams.heartbeat.interval.ms", value="600")
        yield AlterGroupConfig(name="streams.session.timeout.ms", value=str(_SHORT_MS))
        yield from heartbeats
        for each in heartbeats:
            if each.by in STATIC and self._rng.random() < 0.5:
                yield StreamsHeartbeat(by=each.by, epoch=LEAVE_STATIC_EPOCH)
        yield AlterGroupConfig(name="streams.session.timeout.ms", value=str(_LONG_MS))
        yield Silence(of=tuple(each.by for each in heartbeats))

    def _is_late(self, mine: StreamsHeartbeat, join: StreamsHeartbeat, other: StreamsHeartbeat) -> Iterator[Step]:
        """Another member leaves and joins; this one is told to revoke tasks, and mostly does not."""
        yield AlterGroupConfig(name="streams.assignment.interval.ms", value="0")
        yield StreamsHeartbeat(by=other.by, epoch=LEAVE_GROUP_EPOCH)
        yield evolve(mine, rebalance_timeout_ms=_SHORT_MS)
        yield StreamsHeartbeat(by=mine.by, owns=Owns.TOLD)
        yield join
        yield StreamsHeartbeat(by=mine.by)
        yield from self._meanwhile(mine.by, other.by)
        yield Silence(of=(mine.by,))
        yield StreamsHeartbeat(by=mine.by, owns=Owns.TOLD, rebalance_timeout_ms=REBALANCE_MS)

    def _meanwhile(self, name: str, other: str) -> Sequence[Step]:
        return self._rng.choice((
            (),
            (),
            (StreamsHeartbeat(by=other, owns=Owns.TOLD),),
            (StreamsHeartbeat(by=name, owns=Owns.STILL),),
            (StreamsHeartbeat(by=name, owns=Owns.TOLD),),
            (StreamsHeartbeat(by=name, owns=Owns.STILL, rebalance_timeout_ms=REBALANCE_MS),),
        ))  # fmt: skip
