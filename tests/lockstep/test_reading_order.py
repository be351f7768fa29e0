"""In which order a session's partitions are read: with one record a fetch, from full partitions.

The order in which Kafka begins follows from hashes of ids, so its answers must be those of our rule for some beginning.
"""

from itertools import count, permutations
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.share_partitions.sessions import ShareSession, ShareSessionKey
from kafka_groups.types import TopicIdPartition
from tests.lockstep.pair import Pair
from tests.lockstep.side import Side
from tests.lockstep.steps import Acknowledge, Acknowledged, AddPartitions, Fetch, Heartbeat, Place, Produce, take
from tests.support.conditions import until
from tests.support.members.raw_member import Limits

FETCHES = 12
ONE = Limits(max_records=1, batch_size=1, record_limit=True)

pytestmark = pytest.mark.lockstep


@pytest.mark.parametrize("partitions", [3, 4])
@pytest.mark.parametrize("acknowledges", [False, True])
async def test_the_order_is_that_of_our_rule(partitions: int, acknowledges: bool, pair: Pair) -> None:
    epochs = count(1, 2 if acknowledges else 1)
    expected = {order: _by_our_rule(order, [next(epochs) for _ in range(FETCHES)]) for order in _orders(partitions)}
    async with pair.sides() as sides:
        embedded, real = [await _read(side, partitions, acknowledges=acknowledges) for side in sides]
    assert embedded in expected.values()
    assert real in expected.values()


def _orders(partitions: int) -> list[tuple[int, ...]]:
    return list(permutations(range(partitions)))


def _by_our_rule(order: tuple[int, ...], epochs: list[int]) -> list[int]:
    listed = {TopicIdPartition(UUID(int=1), index): False for index in order}
    session = ShareSession(ShareSessionKey("g", "m"), 1, partitions=listed)
    read = []
    for epoch in epochs:
        first = session.reading_order(epoch)[0]
        session.served([first])
        read.append(first.partition)
    return read


async def _read(side: Side, partitions: int, *, acknowledges: bool) -> list[int]:
    """The partitions that a session of all of them reads from, fetch by fetch."""
    places = tuple(("u", index) for index in range(partitions))
    await _grow(side, partitions)
    await take(side, Fetch(by="m0", epoch=0, places=places, limits=Limits(max_wait_ms=300)))
    for place in places:
        await take(side, Produce(place=place, count=FETCHES))
    read = []
    for _ in range(FETCHES):
        place, offset = _acquired(await take(side, Fetch(by="m0", limits=ONE)))
        read.append(place[1])
        if acknowledges:
            await take(side, Acknowledge(by="m0", acknowledgements=(Acknowledged(place, offset, offset, (1,)),)))
    return read


def _acquired(response: Any) -> tuple[Place, int]:
    [found] = [
        (("u", partition.partition_index), acquired.first_offset)
        for topic in response.responses
        for partition in topic.partitions
        for acquired in partition.acquired_records
    ]
    return found


async def _grow(side: Side, partitions: int) -> None:
    await take(side, AddPartitions(topic="u", count=partitions))

    async def assigned() -> int:
        response = await take(side, Heartbeat(by="m1", topics=("u",)))
        return sum(len(topic.partitions) for topic in response.assignment.topic_partitions)

    await until(assigned, lambda number: number == partitions)
