"""Ordinary programs that leave a loop over a consumer early: no record is lost, on any broker."""

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from kafka_groups.share import KafkaShareConsumer
from tests.support.members.consuming import consume, offsets, values
from tests.support.targets import Target, everywhere, over_tcp

Program = Callable[[KafkaShareConsumer[Any, Any]], list[int]]

TEN = list(range(10))


def break_and_close(consumer: KafkaShareConsumer[Any, Any]) -> list[int]:
    seen: list[int] = []
    for record in consumer:
        seen.append(record.offset)
        if len(seen) == 3:
            break
    consumer.close()
    return seen


def break_and_commit(consumer: KafkaShareConsumer[Any, Any]) -> list[int]:
    seen: list[int] = []
    for record in consumer:
        seen.append(record.offset)
        if len(seen) == 3:
            break
    assert list(consumer.commit_sync().values()) == [None]
    consumer.close()
    return seen


def slice_and_commit(consumer: KafkaShareConsumer[Any, Any]) -> list[int]:
    records = iter(consumer)  # still alive when the commit comes
    seen = [record.offset for record in islice(records, 3)]
    assert list(consumer.commit_sync().values()) == [None]
    consumer.close()
    return seen


def fail_and_close(consumer: KafkaShareConsumer[Any, Any]) -> list[int]:
    seen: list[int] = []

    def store_all() -> None:
        for record in consumer:
            seen.append(record.offset)
            assert 1 / (2 - record.offset)

    with pytest.raises(ZeroDivisionError), consumer:
        store_all()
    return seen


@over_tcp
@pytest.mark.parametrize("program", [break_and_close, break_and_commit, slice_and_commit, fail_and_close])
async def test_what_a_loop_did_not_move_past_goes_to_another_consumer(target: Target, program: Program) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    consumer = KafkaShareConsumer[Any, Any](bootstrap_servers=target.bootstrap_servers, group_id=group_id)
    consumer.subscribe([topic.name])
    assert await asyncio.to_thread(program, consumer) == [0, 1, 2]

    async with target.consumer(group_id) as other:
        await other.subscribe([topic.name])
        assert sorted(offsets(await consume(other, 8))) == TEN[2:]
        await other.commit_sync()
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_loops_in_a_row_see_every_record_and_spend_no_delivery(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))
    seen: list[int] = []

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        while seen[-1:] != [9]:
            async for record in consumer:
                assert record.delivery_count == 1
                seen.append(record.offset)
                if record.offset in (2, 5, 9):
                    break
            await consumer.commit_sync()

    assert seen == [0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 9]
