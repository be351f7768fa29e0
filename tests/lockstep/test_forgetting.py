"""When a leader forgets what it knows of a group: with the last connection that has opened sessions of it."""

import pytest

from tests.lockstep.pair import Pair
from tests.lockstep.settling import members_alike
from tests.lockstep.side import Side, Sides
from tests.lockstep.steps import (
    CLOSE,
    LEAVE,
    Acknowledge,
    Acknowledged,
    DeleteGroup,
    Fetch,
    Heartbeat,
    Place,
    Produce,
    take,
)
from tests.support.members.raw_member import Limits

PLACE: Place = ("t", 0)
WAITING = Limits(max_wait_ms=3_000)
ACCEPT = 1

pytestmark = pytest.mark.lockstep


@pytest.mark.parametrize(("disconnects", "first"), [(True, 0), (False, 5)])
async def test_a_group_is_deleted_after_its_member_has_left(disconnects: bool, first: int, pair: Pair) -> None:
    async with pair.sides(loaded=False) as sides:
        await _join(sides, "m0")
        for side in sides:
            await _accept_half_and_leave(side)
            if disconnects:
                await side.client("m0").disconnect()
            await take(side, DeleteGroup())
        await _join(sides, "m1")
        assert [await _first_acquired(side) for side in sides] == [first, first]


async def _join(sides: Sides, member: str) -> None:
    for side in sides:
        await take(side, Heartbeat(by=member, epoch=0, topics=("t",)))
    assert await members_alike(sides) == []


async def _accept_half_and_leave(side: Side) -> None:
    await take(side, Produce(place=PLACE, count=10))
    await take(side, Fetch(by="m0", epoch=0, places=(PLACE,), limits=WAITING))
    await take(side, Acknowledge(by="m0", acknowledgements=(Acknowledged(PLACE, 0, 4, (ACCEPT,)),)))
    await take(side, Acknowledge(by="m0", epoch=CLOSE))
    await take(side, Heartbeat(by="m0", epoch=LEAVE))


async def _first_acquired(side: Side) -> int:
    response = await take(side, Fetch(by="m1", epoch=0, places=(PLACE,), limits=WAITING))
    offset: int = response.responses[0].partitions[0].acquired_records[0].first_offset
    return offset
