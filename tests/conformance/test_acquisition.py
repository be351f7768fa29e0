"""Scenarios 9 to 12, 18: how much one fetch acquires."""

import asyncio

import pytest

from tests.support.members.consuming import consume, delivery_counts, values
from tests.support.members.raw_member import AT_ONCE, Limits, RawMember, Run, accept, release
from tests.support.targets import Target, everywhere

KILOBYTE = b"x" * 1000
ALL = Limits(max_records=1000, batch_size=1000)
ALL_NOW = Limits(max_records=1000, batch_size=1000, max_wait_ms=0)


def at_most(count: int, *, record_limit: bool = False) -> Limits:
    return Limits(max_records=count, batch_size=count, record_limit=record_limit)


@everywhere
async def test_09_a_batch_of_ten_comes_whole_for_five(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))
    member = target.member(group_id, topic)

    acquired = await member.fetch_until_acquired(at_most(5))

    assert acquired.runs == (Run(0, 9, 1),)


@everywhere
async def test_09_ten_batches_of_one_are_capped_at_five(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce_each(topic, values(10))
    member = target.member(group_id, topic)

    first = await member.fetch_until_acquired(at_most(5))
    second = await member.fetch(Limits(max_records=3, batch_size=2))

    assert first.runs == (Run(0, 4, 1),)
    assert second.runs == (Run(5, 6, 1), Run(7, 7, 1))


@everywhere
async def test_09_the_record_limit_is_never_exceeded(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))
    member = target.member(group_id, topic)

    first = await member.fetch_until_acquired(at_most(4, record_limit=True))
    others = [await member.fetch(at_most(4, record_limit=True)) for _ in range(2)]

    assert [acquired.runs for acquired in (first, *others)] == [(Run(0, 3, 1),), (Run(4, 7, 1),), (Run(8, 9, 1),)]


@everywhere
async def test_09_the_record_limit_counts_over_all_partitions(target: Target) -> None:
    topic = await target.cluster.create_topic(3)
    group_id = await target.group_of(topic, range(3))
    for partition in range(3):
        await target.cluster.produce(topic, values(10), partition)
    member = target.member(group_id, topic)

    counts = [
        (await member.fetch_until_acquired(at_most(4, record_limit=True), partitions=range(3))).count for _ in range(3)
    ]

    assert max(counts) <= 4


@everywhere
@pytest.mark.parametrize(("acquire_mode", "most"), [("batch_optimized", 10), ("record_limit", 5)])
async def test_09_a_consumer_gets_batches_or_keeps_its_limit(target: Target, acquire_mode: str, most: int) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))
    await target.cluster.produce(topic, values(10))

    sizes: list[int] = []
    async with target.consumer(group_id, max_poll_records=5, acquire_mode=acquire_mode, prefetch_batches=0) as consumer:
        await consumer.subscribe([topic.name])
        while sum(sizes) < 20:
            sizes.append(len(await consumer.poll(timeout=15)))

    assert sizes == [most] * (20 // most)


@everywhere
async def test_10_a_record_larger_than_the_limit_is_delivered(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    large = b"x" * 100_000
    await target.cluster.produce(topic, [large])
    await target.cluster.produce(topic, [b"small"])

    async with target.consumer(group_id, fetch_max_bytes=1_000) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, 2)

    assert [record.value for record in records] == [large, b"small"]
    assert delivery_counts(records) == {1}


@everywhere
async def test_11_max_bytes_bounds_a_fetch(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce_each(topic, [KILOBYTE] * 10)
    member = target.member(group_id, topic)

    acquired = await member.fetch_until_acquired(Limits(max_bytes=3_500))
    one_at_least = await member.fetch(Limits(max_bytes=1))
    rest = await member.fetch(Limits(max_bytes=100_000))

    assert acquired.runs == (Run(0, 2, 1),)
    assert one_at_least.runs == (Run(3, 3, 1),)
    assert rest.runs == (Run(4, 9, 1),)


@everywhere
async def test_11_max_bytes_is_divided_among_the_partitions(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.group_of(topic, (0, 1))
    member = target.member(group_id, topic)
    await warmed_up(target, member, (0, 1))
    for partition in range(2):
        await target.cluster.produce_each(topic, [KILOBYTE] * 10, partition)

    acquired = await member.fetch(Limits(max_bytes=7_000))

    assert {run.partition: run.last - run.first + 1 for run in acquired.runs} == {0: 3, 1: 3}


@everywhere
async def test_11_no_partition_starves_when_the_first_fills_max_bytes(target: Target) -> None:
    topic = await target.cluster.create_topic(3)
    group_id = await target.group_of(topic, range(3))
    member = target.member(group_id, topic)
    await warmed_up(target, member, range(3))
    for partition in range(3):
        await target.cluster.produce_each(topic, [KILOBYTE] * 5, partition)

    fetches = [await member.fetch(Limits(max_bytes=1)) for _ in range(3)]

    # A real Kafka may add a record of a second partition, whose size it did not know yet.
    assert all(1 <= acquired.count <= 2 for acquired in fetches)
    assert {run.partition for acquired in fetches for run in acquired.runs} == {0, 1, 2}


@everywhere
async def test_11_a_fetch_waits_for_min_bytes(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    member = target.member(group_id, topic)
    await warmed_up(target, member, (0,))
    loop = asyncio.get_running_loop()

    waiting = asyncio.ensure_future(member.fetch(Limits(min_bytes=3_000, max_wait_ms=10_000)))
    await target.cluster.produce(topic, [KILOBYTE])
    await target.cluster.produce(topic, [KILOBYTE])
    assert not waiting.done()
    await target.cluster.produce(topic, [KILOBYTE])
    acquired = await waiting
    begin = loop.time()
    await target.cluster.produce(topic, [KILOBYTE])
    in_vain = await member.fetch(Limits(min_bytes=3_000, max_wait_ms=300))
    waited_s = loop.time() - begin

    assert acquired.count == 3
    assert in_vain.count == 1
    assert waited_s >= 0.3


@everywhere
@pytest.mark.parametrize("limit", [2, 3, 5, 6])
async def test_12_suspect_batches_are_halved_and_the_last_attempt_comes_alone(target: Target, limit: int) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.delivery.count.limit": str(limit)})
    await target.cluster.produce(topic, values(10))
    member = target.member(group_id, topic)

    attempts = [(await member.fetch_until_acquired()).runs]
    while attempts[-1]:
        await member.settle(*(release(run.first, run.last) for run in attempts[-1]))
        attempts.append((await member.fetch(Limits(max_wait_ms=50))).runs)

    assert [[(run.first, run.last, run.delivery_count) for run in runs] for runs in attempts[:-1]] == HALVINGS[limit]


HALVINGS = {
    2: [[(0, 9, 1)], [(0, 9, 2)]],
    3: [[(0, 9, 1)], [(0, 9, 2)], *([(i, i, 3)] for i in range(10))],
    5: [
        [(0, 9, 1)], [(0, 9, 2)], [(0, 9, 3)],
        [(0, 4, 4)], *([(i, i, 5)] for i in range(5)),
        [(5, 9, 4)], *([(i, i, 5)] for i in range(5, 10)),
    ],
    6: [
        [(0, 9, 1)], [(0, 9, 2)], [(0, 9, 3)],
        [(0, 4, 4)], [(0, 1, 5)], [(0, 0, 6)], [(1, 1, 6)], [(2, 3, 5)], [(2, 2, 6)], [(3, 3, 6)],
        *([run for i in range(4, 9) for run in ([(i, i, 5), (i + 1, i + 1, 4)], [(i, i, 6)])]),
        [(9, 9, 5)], [(9, 9, 6)],
    ],
}  # fmt: skip
"""What real Kafka 4.4.0 delivers of one batch of ten that is always released, by delivery limit, fetch by fetch."""


@everywhere
async def test_18_the_in_flight_limit_caps_what_is_acquired(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.partition.max.record.locks": "100"})
    await target.cluster.produce_each(topic, values(130))
    one, two = target.member(group_id, topic), target.member(group_id, topic)

    acquired = await one.fetch_until_acquired(ALL)
    assert acquired.runs == (Run(0, 99, 1),)
    assert (await two.fetch(ALL_NOW)).count == 0
    await one.settle(accept(50, 59))  # in the middle of the window: that makes no room
    assert (await two.fetch(ALL_NOW)).count == 0
    await one.settle(release(60, 64))  # inside the window: that can be acquired again
    assert (await two.fetch(ALL_NOW)).runs == (Run(60, 64, 2),)
    await one.settle(accept(0, 9))  # the window moves on
    assert (await two.fetch(ALL_NOW)).runs == (Run(100, 109, 1),)


@everywhere
async def test_18_a_whole_batch_may_pass_the_in_flight_limit(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.partition.max.record.locks": "100"})
    for _ in range(5):
        await target.cluster.produce(topic, values(30))
    one, two = target.member(group_id, topic), target.member(group_id, topic)

    assert (await one.fetch_until_acquired(ALL)).runs == (Run(0, 119, 1),)
    assert (await two.fetch(ALL_NOW)).count == 0


@everywhere
async def test_18_a_member_that_waits_comes_before_the_one_that_makes_room_and_wants_more(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.partition.max.record.locks": "100"})
    await target.cluster.produce_each(topic, values(220))
    one, two = target.member(group_id, topic), target.member(group_id, topic)
    assert (await one.fetch_until_acquired(ALL)).runs == (Run(0, 99, 1),)

    waiting = asyncio.create_task(two.fetch(Limits(max_records=1000, batch_size=1000, max_wait_ms=10_000)))
    for _ in range(3):  # by then the broker has the other fetch too
        assert (await one.fetch(ALL_NOW)).count == 0
    mine = await one.fetch(ALL_NOW, accept(0, 99))

    assert (await waiting).count == 100
    assert mine.count == 0


async def warmed_up(target: Target, member: RawMember, partitions: "range | tuple[int, ...]") -> None:
    """Have the leader load all share-partitions, so that the next fetch need not wait for that."""
    for partition in partitions:
        await target.cluster.produce(member.topic, [b"first"], partition)
    seen: set[int] = set()
    while seen != set(partitions):
        acquired = await member.fetch_until_acquired(partitions=partitions)
        await member.settle(*(accept(run.first, run.last, run.partition) for run in acquired.runs))
        seen |= {run.partition for run in acquired.runs}
    assert (await member.fetch(AT_ONCE)).count == 0
