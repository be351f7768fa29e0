"""What ends the wait of a share fetch before its time is up, and what it gets then or in the end."""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from tests.lockstep.pair import Pair
from tests.lockstep.side import Side
from tests.lockstep.steps import (
    CLOSE,
    GROUP,
    Acknowledge,
    Acknowledged,
    DescribeGroup,
    Fetch,
    Place,
    Produce,
    Step,
    take,
)
from tests.support.members.raw_member import AT_ONCE, Limits

PLACE: Place = ("t", 0)
RECORDS = 10
QUESTIONS = 25
WAIT_MS = 6_000
EARLY_S = 4.5
LOCK_MS = 1_000
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4

pytestmark = pytest.mark.lockstep


def acknowledge(*ranges: tuple[int, int, int], **more: Any) -> Step:
    given = tuple(Acknowledged(PLACE, first, last, (kind,)) for first, last, kind in ranges)
    return Acknowledge(by="m0", acknowledgements=given, **more)


RELEASED = acknowledge((4, 6, RELEASE))
EVENTS: Mapping[str, Sequence[Step]] = MappingProxyType({
    "nothing": (),
    "released": (RELEASED,),
    "released by a fetch": (Fetch(by="m0", acknowledgements=(Acknowledged(PLACE, 4, 6, (RELEASE,)),)),),
    "released from the start offset on": (acknowledge((0, 6, RELEASE)),),
    "accepted, in the middle": (acknowledge((4, 4, ACCEPT)),),
    "accepted from the start offset on, and released": (acknowledge((0, 2, ACCEPT), (4, 6, RELEASE)),),
    "released, then accepted": (RELEASED, acknowledge((8, 8, ACCEPT))),
    "released, then refused": (RELEASED, acknowledge((4, 4, ACCEPT))),
    "renewed": (acknowledge((0, 9, RENEW), is_renew=True),),
    "session closed": (acknowledge(epoch=CLOSE),),
    "produced": (Produce(place=PLACE, count=1),),
})  # fmt: skip

# In Kafka a fetch that releases records sometimes looks for records before their new state is written. Then it ends
# empty, and its end makes the broker look at the other fetch again, which returns early with the same records.
RACES = ("released by a fetch",)


async def test_both_end_waits_for_the_same_reasons(pair: Pair) -> None:
    found = dict(zip(EVENTS, await asyncio.gather(*(_compare(pair, steps) for steps in EVENTS.values())), strict=True))
    embedded = {event: sides[0] for event, sides in found.items()}
    real = {event: sides[1] for event, sides in found.items()}
    for event in RACES:
        assert embedded.pop(event)[1] == real.pop(event)[1]
    assert embedded == real
    assert {event for event, (is_early, _acquired) in real.items() if is_early} == {
        "accepted from the start offset on, and released",
        "released, then accepted",
        "released, then refused",
        "produced",
    }


async def test_both_end_waits_when_locks_expire(pair: Pair) -> None:
    config = {"share.record.lock.duration.ms": str(LOCK_MS)}
    embedded, real = await _compare(pair, (), config)
    assert embedded == real == (True, [(0, RECORDS - 1)])


async def test_both_let_waits_last_when_a_connection_breaks(pair: Pair) -> None:
    async with pair.sides() as sides:
        embedded, real = await asyncio.gather(*(_waited(side, (), {}, breaks=True) for side in sides))
    assert embedded == real == (False, [(0, RECORDS - 1)])


Waited = tuple[bool, list[tuple[int, int]]]


async def _compare(pair: Pair, steps: Sequence[Step], config: Mapping[str, str] = MappingProxyType({})) -> list[Waited]:
    async with pair.sides() as sides:
        return await asyncio.gather(*(_waited(side, steps, config) for side in sides))


async def _waited(side: Side, steps: Sequence[Step], config: Mapping[str, str], *, breaks: bool = False) -> Waited:
    """Return whether a fetch that waited for records held by another member ended early, and what was acquired then.

    A fetch that releases records may get them itself, so what it got counts, too.
    """
    if config:
        await side.cluster.set_group_config(side.group_id(GROUP), config)
    await take(side, Produce(place=PLACE, count=RECORDS))
    await take(side, Fetch(by="m0", epoch=0, places=(PLACE,), limits=Limits(max_wait_ms=WAIT_MS)))
    await take(side, Fetch(by="m1", epoch=0, places=(PLACE,), limits=AT_ONCE))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    waiting = asyncio.create_task(take(side, Fetch(by="m1", limits=Limits(max_wait_ms=WAIT_MS))))
    await _until_it_waits(side)
    answers = [(step, await take(side, step)) for step in steps]
    if breaks:
        await side.client("m0").disconnect()
    fetched = [answer for step, answer in answers if isinstance(step, Fetch)]
    fetched.append(await waiting)
    is_early = loop.time() - begun < EARLY_S
    return is_early, [acquired for response in fetched for acquired in _acquired(response)]


async def _until_it_waits(side: Side) -> None:
    """Ask other questions until the fetch, which was sent before them all, has surely arrived."""
    for _ in range(QUESTIONS):
        await take(side, DescribeGroup())


def _acquired(response: Any) -> list[tuple[int, int]]:
    return [
        (acquired.first_offset, acquired.last_offset)
        for topic in response.responses
        for partition in topic.partitions
        for acquired in partition.acquired_records
    ]
