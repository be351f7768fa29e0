"""What a consumer logs: the lines of an ordinary life, and a warning for everything that stops records."""

import asyncio
import json
import logging

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from kafka_groups.types import AcknowledgeType
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.test_aio import simulate, take, values


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "kafka_groups")
    return caplog


def lines(log: pytest.LogCaptureFixture, level: int, name: str) -> list[str]:
    return [r.getMessage() for r in log.records if r.levelno == level and r.name == f"kafka_groups.{name}"]


def test_an_ordinary_life_is_four_lines_and_no_warning(log: pytest.LogCaptureFixture) -> None:
    ids: list[str] = []

    async def program(world: World) -> None:
        await world.produce(values(100))
        async with world.consumer() as consumer:
            ids.append(consumer.member_id)
            await consumer.subscribe([TOPIC])
            await take(consumer, 100)
            await asyncio.sleep(120)

    simulate(program, partitions=2)
    (member,) = ids
    assert lines(log, logging.INFO, "group") == [
        f"Member {member} joined the share group g with epoch 2.",
        f"Member {member} of the share group g is assigned 2 partitions: orders-0, orders-1.",
        f"Member {member} left the share group g: it unsubscribed or is being closed.",
        f"Closed member {member} of the share group g.",
    ]
    assert len(log.records) == 4, log.text


def test_requests_are_logged_at_debug(log: pytest.LogCaptureFixture) -> None:
    log.set_level(logging.DEBUG, "kafka_groups.requests")

    async def program(world: World) -> None:
        await world.produce(values(1))
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await take(consumer, 1)

    simulate(program)
    said = lines(log, logging.DEBUG, "requests")
    assert any(line.startswith("SHARE_FETCH v2 to ") for line in said)
    assert any(line.startswith("SHARE_FETCH v2: ") and line.endswith(" ms") for line in said)


def test_a_topic_that_does_not_exist_is_warned_about_at_growing_intervals(log: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        async with world.consumer(allow_auto_create_topics=False) as consumer:
            await consumer.subscribe([TOPIC, "ordres"])
            assert not await consumer.poll(timeout=60)
            assert 3 <= len(lines(log, logging.WARNING, "group")) <= 8

    simulate(program)
    assert lines(log, logging.WARNING, "group")[0].startswith("Topics do not exist: ordres. Check the names")


def test_leaving_on_max_poll_interval_says_why_and_what_to_do(log: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        async with world.consumer(max_poll_interval_ms=5_000) as consumer:
            await consumer.subscribe([TOPIC])
            await consumer.poll(timeout=1)
            await asyncio.sleep(10)
            await consumer.poll(timeout=3)

    simulate(program)
    (said,) = lines(log, logging.WARNING, "group")
    assert "did not call poll() for 5000 ms (max.poll.interval.ms)" in said
    assert "max.poll.records" in said
    assert sum("joined the share group" in line for line in lines(log, logging.INFO, "group")) == 2


def test_a_member_that_was_fenced_says_so(log: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await consumer.poll(timeout=1)
            fenced = ShareGroupHeartbeatResponse(
                error_code=ErrorCode.UNKNOWN_MEMBER_ID, member_epoch=0, heartbeat_interval_ms=0
            )
            world.cluster.faults.on(ApiKey.SHARE_GROUP_HEARTBEAT, answer(fenced), times=1)
            await consumer.poll(timeout=5)

    simulate(program)
    (said,) = lines(log, logging.WARNING, "group")
    assert "UNKNOWN_MEMBER_ID" in said
    assert "rejoins" in said


def test_locks_that_ran_out_are_told_with_partition_and_offsets(log: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        world.cluster.alter_group_configs("g", {"share.record.lock.duration.ms": "2000"})
        await world.produce(values(5))
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            records = await consumer.poll(timeout=10)
            await asyncio.sleep(5)
            for record in records:
                consumer.acknowledge(record)
            await consumer.commit_sync()

    simulate(program)
    (said,) = lines(log, logging.WARNING, "records")
    assert said.startswith("Could not acknowledge 5 records of orders-0 (offsets 0 to 4): ")


def test_records_in_hand_when_the_session_ends_are_told(log: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        await world.produce(values(5))
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            records = await consumer.poll(timeout=10)
            consumer.acknowledge(next(iter(records)))
            await consumer.commit_sync()
            await world.cluster.stop_broker_async(1)
            await asyncio.sleep(1)
            await world.cluster.start_broker_async(1)

    simulate(program)
    said = lines(log, logging.WARNING, "records")
    assert said[0].startswith("Lost the locks of 4 records of orders-0 (offsets 0 to 4): the share session")


def test_records_that_cannot_be_decoded_are_told_once_a_batch(log: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        await world.produce([b"1", b"{", b"[", b"4"])
        async with world.consumer(acknowledgement_mode="explicit", value_deserializer=json.loads) as consumer:
            await consumer.subscribe([TOPIC])
            for record in await consumer.poll(timeout=10):
                consumer.acknowledge(record, AcknowledgeType.REJECT if record.error else AcknowledgeType.ACCEPT)
            await consumer.commit_sync()

    simulate(program)
    (said,) = lines(log, logging.WARNING, "records")
    assert said.startswith("Could not decode 2 records of orders-0; the first: the value of the record orders-0@1")
