"""The described start offset of a share group is one write of state behind: the same on both brokers (KIP-932)."""

import pytest

from kafka_groups.types import AcknowledgeType
from tests.conformance.test_transactions import begin, new_producer
from tests.support.cluster_client import Progress, Topic
from tests.support.conditions import until
from tests.support.members.raw_member import accept, acknowledge, release
from tests.support.members.raw_producer import timed
from tests.support.targets import LOCK_MS, SHORT_LOCKS, Target, everywhere


async def progress(target: Target, group_id: str, topic: Topic) -> Progress:
    return (await target.cluster.progress(group_id, topic))[0]


@everywhere
async def test_accepted_records_move_it_with_the_next_write(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, [b"a", b"b", b"c", b"d"])
    member = await target.joined(group_id, topic)
    await member.fetch_until_acquired()
    await member.settle(accept(0, 2))
    assert await progress(target, group_id, topic) == Progress(0, 1)
    await member.settle(acknowledge(AcknowledgeType.REJECT, 3))
    assert await progress(target, group_id, topic) == Progress(3, 0)


@pytest.mark.slow
@everywhere
async def test_records_archived_by_expired_locks_move_it_with_the_next_write(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={**SHORT_LOCKS, "share.delivery.count.limit": "2"})
    await target.cluster.produce(topic, [b"a"])
    member = await target.joined(group_id, topic)
    for _ in range(2):
        await member.fetch_until_acquired()
        await target.pass_time(LOCK_MS)
    await until(lambda: progress(target, group_id, topic), lambda it: it == Progress(0, 0))
    await target.cluster.produce(topic, [b"b"])
    await member.fetch_until_acquired()
    await member.settle(release(1))
    assert await progress(target, group_id, topic) == Progress(1, 1)


@everywhere
async def test_aborted_records_are_counted_by_the_next_write_and_do_not_move_it_before(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.isolation.level": "read_committed"})
    producer = await new_producer(target)
    await begin(producer, topic, b"aborted")
    assert await producer.end(committed=False) == "NONE"
    await producer.until_ended()
    await target.cluster.produce(topic, [timed(b"good")])
    member = await target.joined(group_id, topic)
    acquired = await member.fetch_until_acquired()
    while 2 not in acquired.offsets:
        acquired = await member.fetch_until_acquired()
    await member.settle(acknowledge(AcknowledgeType.GAP, 1), accept(2))
    assert await progress(target, group_id, topic) == Progress(0, 0)
