"""Scenarios 47 to 49: where groups begin, what their configs do, and that groups do not see each other."""

import asyncio
from collections.abc import Mapping

import pytest

from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.types import AcknowledgeType
from tests.support.cluster_client import GROUP_RESOURCE
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import Record, consume, consume_as, delivery_counts, values
from tests.support.members.raw_member import AT_ONCE, Limits, acknowledge, acknowledged
from tests.support.targets import EXPLICIT, Target, everywhere, everywhere_and_in_a_container

HOUR_MS = 3_600_000


# ------------------------------------------------------------------------------------- where groups begin


@everywhere
async def test_47_earliest_begins_at_the_first_record(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await target.cluster.produce(topic, values(5))
    group_id = await target.group_of(topic, configs={"share.auto.offset.reset": "earliest"})

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        assert [record.offset for record in await consume(consumer, 5)] == [0, 1, 2, 3, 4]


@everywhere
async def test_47_latest_begins_at_the_end_and_misses_nothing_after_that(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await target.cluster.produce(topic, values(5, "before"))
    group_id = await target.group_of(topic, configs={"share.auto.offset.reset": "latest"})

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])

        async def produce_and_poll() -> list[Record]:
            await target.cluster.produce(topic, [b"after"])
            return list(await consumer.poll(timeout=0.1))

        records = await until(produce_and_poll, bool)
        end = await target.cluster.produce(topic, [b"last"])
        records += await consume(consumer, end - records[-1].offset)

    assert records[0].offset >= 5
    assert [record.offset for record in records] == list(range(records[0].offset, end + 1))
    assert {record.value for record in records} == {b"after", b"last"}


@everywhere
async def test_47_by_duration_begins_that_long_ago(target: Target) -> None:
    topic = await target.cluster.create_topic()
    now_ms = SystemClock().wall_ms()
    for age_ms in (3 * HOUR_MS, 2 * HOUR_MS, HOUR_MS // 2, 0):
        await target.cluster.produce(topic, [NewRecord(b"x", timestamp_ms=now_ms - age_ms)])
    group_id = await target.group_of(topic, configs={"share.auto.offset.reset": "by_duration:PT1H"})

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        assert [record.offset for record in await consume(consumer, 2)] == [2, 3]


# ------------------------------------------------------------------------------------------ group configs


@everywhere
async def test_48_the_heartbeat_interval_is_told_to_the_members(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group({"share.heartbeat.interval.ms": "700"})
    member = target.member(group_id, topic)

    before = await member.join()
    await target.cluster.set_group_config(group_id, {"share.heartbeat.interval.ms": "800"})
    after = await until(member.heartbeat, lambda it: it.heartbeat_interval_ms != 700)

    assert before.heartbeat_interval_ms == 700
    assert after.heartbeat_interval_ms == 800


@everywhere
async def test_48_the_session_timeout_removes_silent_members(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group({"share.session.timeout.ms": "1000"})
    member = target.member(group_id, topic)
    loop = asyncio.get_running_loop()

    sent_at = loop.time()
    await member.join()
    await until(lambda: target.cluster.describe_group(group_id), lambda it: not it.members)

    assert 1.0 <= loop.time() - sent_at < 10, "the usual time-out is 45 s"
    assert (await member.heartbeat()).error_code is ErrorCode.UNKNOWN_MEMBER_ID


@everywhere
async def test_48_the_lock_duration_also_of_a_group_that_runs(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.record.lock.duration.ms": "20000"})
    await target.cluster.produce_each(topic, values(2))
    member = target.member(group_id, topic)

    before = await member.fetch_until_acquired(Limits(max_records=1, batch_size=1))
    await target.cluster.set_group_config(group_id, {"share.record.lock.duration.ms": "1000"})
    # A real Kafka shows the config a moment before it acts on it; what a leader answers is what it acts on.
    await until(member.share_acknowledge, lambda it: it.acquisition_lock_timeout_ms == 1_000)
    after = await member.fetch_until_acquired(Limits(max_records=1, batch_size=1))
    back = await member.fetch_until_acquired()

    assert before.lock_timeout_ms == 20_000
    assert after.lock_timeout_ms == 1_000
    assert back.offsets == after.offsets


@everywhere
async def test_48_the_delivery_limit_also_of_a_group_that_runs(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.delivery.count.limit": "3"})
    await target.cluster.produce(topic, [b"once more"])

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        first = await consume_as(consumer, 3, AcknowledgeType.RELEASE)
        await target.cluster.until_lag(group_id, topic, 0)
        await target.cluster.set_group_config(group_id, {"share.delivery.count.limit": "2"})
        await target.cluster.produce(topic, [b"twice"])
        second = await consume_as(consumer, 2, AcknowledgeType.RELEASE)
        await target.cluster.until_lag(group_id, topic, 0)

    assert [record.delivery_count for record in first] == [1, 2, 3]
    assert [record.delivery_count for record in second] == [1, 2]


@everywhere
async def test_48_renewal_can_be_forbidden(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.renew.acknowledge.enable": "false"})
    await target.cluster.produce(topic, values(2))
    member = target.member(group_id, topic)
    await member.fetch_until_acquired()

    renewed = await member.share_acknowledge(acknowledge(AcknowledgeType.RENEW, 0, 1), is_renew_ack=True)
    await member.settle(acknowledge(AcknowledgeType.ACCEPT, 0, 1))

    assert renewed.error_code is ErrorCode.NONE
    assert acknowledged(renewed)[0].error_code is ErrorCode.INVALID_RECORD_STATE


@everywhere
async def test_48_the_assignment_interval_holds_a_new_assignment_back(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.group_of(topic, (0, 1), {"share.assignment.interval.ms": "0"})
    one = await target.joined(group_id, topic, (0, 1))
    at_once = await target.cluster.describe_group(group_id)

    await target.cluster.set_group_config(group_id, {"share.assignment.interval.ms": "15000"})
    two = target.member(group_id, topic)
    await two.join()
    await one.heartbeat()
    held_back = await target.cluster.describe_group(group_id)

    assert at_once.assignment_epoch == at_once.group_epoch
    assert held_back.group_epoch > at_once.group_epoch
    assert held_back.assignment_epoch == at_once.assignment_epoch


@everywhere
async def test_48_read_committed_delivers_records_outside_transactions(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.isolation.level": "read_committed"})
    await target.cluster.produce(topic, values(5))

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        assert [record.value for record in await consume(consumer, 5)] == values(5)


@everywhere
async def test_48_a_config_is_shown_and_goes_back_to_its_default(target: Target) -> None:
    group_id = unique("group")
    changed = {
        "share.session.timeout.ms": "50000",
        "share.heartbeat.interval.ms": "6000",
        "share.record.lock.duration.ms": "2000",
        "share.auto.offset.reset": "by_duration:PT1H",
        "share.isolation.level": "read_committed",
        "share.delivery.count.limit": "7",
        "share.partition.max.record.locks": "300",
        "share.renew.acknowledge.enable": "false",
        "share.assignment.interval.ms": "50",
    }

    defaults = await target.cluster.group_config(group_id)
    await target.cluster.set_group_config(group_id, changed)
    result = await target.cluster.alter_config(GROUP_RESOURCE, group_id, dict.fromkeys(changed))
    assert result.error_code is ErrorCode.NONE
    await until(lambda: target.cluster.group_config(group_id), lambda it: it == defaults)

    assert {name: defaults[name] for name in changed} == {
        "share.session.timeout.ms": "45000",
        "share.heartbeat.interval.ms": "5000",
        "share.record.lock.duration.ms": "30000",
        "share.auto.offset.reset": "latest",
        "share.isolation.level": "read_uncommitted",
        "share.delivery.count.limit": "5",
        "share.partition.max.record.locks": "2000",
        "share.renew.acknowledge.enable": "true",
        "share.assignment.interval.ms": "1000",
    }


@everywhere
@pytest.mark.parametrize(
    "configs",
    [
        {"share.no.such.config": "1"},
        {"group.share.isolation.level": "read_committed"},
        {"share.record.lock.duration.ms": "999"},
        {"share.record.lock.duration.ms": "60001"},
        {"share.record.lock.duration.ms": "soon"},
        {"share.delivery.count.limit": "1"},
        {"share.delivery.count.limit": "11"},
        {"share.delivery.count.limit": ""},
        {"share.partition.max.record.locks": "99"},
        {"share.partition.max.record.locks": "4001"},
        {"share.auto.offset.reset": "never"},
        {"share.auto.offset.reset": "Earliest"},
        {"share.auto.offset.reset": "by_duration:-PT1S"},
        {"share.auto.offset.reset": "by_duration:1h"},
        {"share.isolation.level": "READ_COMMITTED"},
        {"share.session.timeout.ms": "999"},
        {"share.session.timeout.ms": "60001"},
        {"share.session.timeout.ms": "1000"},  # shorter than the heartbeat interval
        {"share.heartbeat.interval.ms": "499"},
        {"share.heartbeat.interval.ms": "15001"},
        {"share.renew.acknowledge.enable": "maybe"},
        {"share.assignment.interval.ms": "-1"},
        {"share.assignment.interval.ms": "15001"},
    ],
    ids=lambda configs: "{}={}".format(*next(iter(configs.items()))),
)
async def test_48_bad_names_and_values_are_refused(target: Target, configs: Mapping[str, str]) -> None:
    group_id = unique("group")
    before = await target.cluster.group_config(group_id)

    result = await target.cluster.alter_config(
        GROUP_RESOURCE, group_id, {"share.assignment.interval.ms": "77", **configs}
    )

    assert result.error_code is ErrorCode.INVALID_CONFIG
    assert result.error_message
    assert await target.cluster.group_config(group_id) == before


# ----------------------------------------------------------------------------------- groups among themselves


@everywhere_and_in_a_container
async def test_49_two_groups_on_one_topic_are_independent(target: Target) -> None:
    topic = await target.cluster.create_topic()
    one, two = await target.group_of(topic), await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(one, **EXPLICIT) as rejecting, target.consumer(two, **EXPLICIT) as releasing:
        await rejecting.subscribe([topic.name])
        await releasing.subscribe([topic.name])
        rejected, released = await asyncio.gather(
            consume_as(rejecting, 10, AcknowledgeType.REJECT), consume_as(releasing, 10, AcknowledgeType.RELEASE)
        )
        again = await consume_as(releasing, 10, AcknowledgeType.ACCEPT)

    assert [record.value for record in rejected] == values(10)
    assert delivery_counts(rejected) == delivery_counts(released) == {1}
    assert delivery_counts(again) == {2}
    for group_id in (one, two):
        await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_49_a_lock_of_one_group_is_none_of_another(target: Target) -> None:
    topic = await target.cluster.create_topic()
    one, two = [target.member(await target.group_of(topic), topic) for _ in range(2)]
    await target.cluster.produce(topic, values(10))

    held = await one.fetch_until_acquired()
    also_held = await two.fetch_until_acquired()

    assert held.runs == also_held.runs
    assert (await one.fetch(AT_ONCE)).count == 0
