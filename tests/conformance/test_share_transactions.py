"""Share groups and transactions: what groups with `share.isolation.level=read_committed` get, and others (KIP-932)."""

from tests.conformance.test_transactions import begin, new_producer
from tests.support.members.consuming import consume, values_of
from tests.support.members.raw_producer import timed
from tests.support.targets import Target, everywhere

COMMITTED = {"share.isolation.level": "read_committed"}


@everywhere
async def test_aborted_records_are_never_delivered_and_open_ones_not_yet(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group_id = await target.group_of(topic, configs=COMMITTED)
    committing, aborting = await new_producer(target), await new_producer(target)
    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        await target.cluster.produce(topic, [timed(b"before")])
        assert values_of(await consume(consumer, 1)) == [b"before"]
        await begin(committing, topic, b"c1", b"c2")
        await begin(aborting, topic, b"a1")
        await target.cluster.produce(topic, [timed(b"behind")])
        assert await aborting.end(committed=False) == "NONE"
        await aborting.until_ended()
        assert not await consumer.poll(timeout=1)
        assert await committing.end(committed=True) == "NONE"
        assert values_of(await consume(consumer, 3)) == [b"c1", b"c2", b"behind"]
        await consumer.commit_sync()
        assert not await consumer.poll(timeout=1)
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_other_groups_get_records_of_all_transactions(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group_id = await target.group_of(topic)
    producer = await new_producer(target)
    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        await begin(producer, topic, b"open")
        assert values_of(await consume(consumer, 1)) == [b"open"]
        assert await producer.end(committed=False) == "NONE"
        await producer.until_ended()
        await begin(producer, topic, b"later")
        assert values_of(await consume(consumer, 1)) == [b"later"]


@everywhere
async def test_a_group_may_begin_to_read_what_is_committed(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group_id = await target.group_of(topic)
    producer = await new_producer(target)
    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        await begin(producer, topic, b"open")
        assert values_of(await consume(consumer, 1)) == [b"open"]
        await consumer.commit_sync()
        await target.cluster.set_group_config(group_id, COMMITTED)
        assert await producer.send(topic, b"hidden") == "NONE"
        assert not await consumer.poll(timeout=1)
        assert await producer.end(committed=True) == "NONE"
        assert values_of(await consume(consumer, 1)) == [b"hidden"]
