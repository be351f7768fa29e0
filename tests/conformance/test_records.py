"""Scenarios 13, 15, 16: offsets without a record, records that cannot be deserialised, corrupt batches.

No broker takes batches with gaps or with a wrong checksum from a producer, so these are made of good ones on their way
to the consumer; what the consumer answers goes to the broker, and must be right there.
"""

import pytest

from kafka_groups.errors import CorruptRecordError, RecordDeserializationError
from kafka_groups.net.network import Network
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.record_batch import RecordBatch, iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch, build_control_batch
from kafka_groups.types import AcknowledgeType
from tests.support.cluster_client import Topic
from tests.support.members.consuming import Countdown, consume, consume_as, delivery_counts, offsets, values
from tests.support.members.raw_member import ROOMY, Run, accept, acknowledge, release
from tests.support.requests.rewriting_network import RewritingNetwork, records_rewritten
from tests.support.targets import EXPLICIT, Target, everywhere

# ------------------------------------------------------------------------------------------------- gaps


def compacted(batch: RecordBatch) -> bytes:
    """The batch without its records at odd offsets, as compaction leaves it."""
    base = batch.header.base_offset
    kept = [
        NewRecord(record.value, timestamp_ms=record.timestamp or 0, offset_delta=record.offset - base)
        for record in batch.records()
        if record.offset % 2 == 0
    ]
    return build_batch(kept, base, BatchOptions(last_offset_delta=batch.header.last_offset_delta))


def through(network: Network, *changes: tuple[int, bytes | None]) -> RewritingNetwork:
    """A network on which the batches that begin at these offsets are compacted (None) or become markers."""
    by_offset = dict(changes)

    def rewrite(blob: bytes) -> bytes:
        return b"".join(
            by_offset.get(batch.header.base_offset, bytes(batch.data)) or compacted(batch)
            for batch in iter_batches(blob)
        )

    return RewritingNetwork(network, {ApiKey.SHARE_FETCH: records_rewritten(rewrite)})


@everywhere
async def test_13_gaps_and_control_records_are_acknowledged_and_never_block(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))  # 0 to 9, of which the odd ones vanish
    await target.cluster.produce(topic, [b"marker"])  # 10, which becomes a transaction marker
    await target.cluster.produce(topic, values(2, "last"))  # 11 and 12
    marker = build_control_batch(10, is_commit=True, producer_id=7)

    async with target.consumer(group_id, network=through(target.network, (0, None), (10, marker))) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, 7)
        assert list((await consumer.commit_sync()).values()) == [None]
        await target.cluster.until_lag(group_id, topic, 0)

    assert offsets(records) == [0, 2, 4, 6, 8, 11, 12]


@everywhere
async def test_13_a_fetch_of_nothing_but_gaps_does_not_stop_the_consumer(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, [b"marker"])
    marker = build_control_batch(0, is_commit=False, producer_id=7)

    async with target.consumer(group_id, network=through(target.network, (0, marker)), **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        assert not await consumer.poll(timeout=0.1)
        await target.cluster.produce(topic, [b"record"])
        await consume_as(consumer, 1, AcknowledgeType.ACCEPT)
        await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_13_gaps_end_what_the_broker_has_of_them(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(6))
    member = target.member(group_id, topic)

    await member.fetch_until_acquired()
    await member.settle(
        accept(0), acknowledge(AcknowledgeType.GAP, 1), acknowledge(AcknowledgeType.GAP, 2, 3), release(4, 5)
    )
    again = await member.fetch(ROOMY)

    assert again.runs == (Run(4, 5, 2),)
    await member.settle(accept(4, 5))
    await target.cluster.until_lag(group_id, topic, 0)


# -------------------------------------------------------------------------------------- deserialisation


def number(raw: bytes) -> int:
    return int(raw)


async def topic_with_one_bad_number(target: Target) -> Topic:
    topic = await target.cluster.create_topic()
    await target.cluster.produce(topic, [b"0", b"1", b"two", b"3", b"4"])
    return topic


@everywhere
async def test_15_a_record_that_cannot_be_deserialised_is_released_and_the_rest_kept(target: Target) -> None:
    topic = await topic_with_one_bad_number(target)
    group_id = await target.group_of(topic)

    async with target.consumer(group_id, value_deserializer=number, prefetch_batches=0) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, 5)
        good = [record.value for record in records if record.error is None]
        bad = [record for record in records if record.error is not None]
        await consumer.commit_sync()
    async with target.consumer(group_id) as other:
        await other.subscribe([topic.name])
        again = await consume(other, 1)

    assert good == [0, 1, 3, 4]
    assert [(record.offset, record.value, record.raw_value) for record in bad] == [(2, None, b"two")]
    assert isinstance(bad[0].error, RecordDeserializationError)
    assert offsets(again) == [2]
    assert delivery_counts(again) == {2}


@everywhere
async def test_15_it_can_be_rejected_instead(target: Target) -> None:
    topic = await topic_with_one_bad_number(target)
    group_id = await target.group_of(topic)

    def kind_of(record: object) -> AcknowledgeType:
        return AcknowledgeType.REJECT if getattr(record, "error", None) else AcknowledgeType.ACCEPT

    async with target.consumer(group_id, value_deserializer=number, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        await consume_as(consumer, 5, kind_of)
        await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_15_poll_raises_over_it_as_in_java(target: Target) -> None:
    topic = await topic_with_one_bad_number(target)
    group_id = await target.group_of(topic)

    async with target.consumer(
        group_id, value_deserializer=number, on_deserialization_error="raise", prefetch_batches=0
    ) as consumer:
        await consumer.subscribe([topic.name])
        before = await consume(consumer, 2)
        with pytest.raises(RecordDeserializationError) as caught:
            await consumer.poll(timeout=15)
        after = await consume(consumer, 2)
        await consumer.commit_sync()
    async with target.consumer(group_id) as other:
        await other.subscribe([topic.name])
        again = await consume(other, 1)

    assert [record.value for record in (*before, *after)] == [0, 1, 3, 4]
    assert (caught.value.topic, caught.value.partition, caught.value.offset) == (topic.name, 0, 2)
    assert offsets(again) == [2]


# ------------------------------------------------------------------------------------------- corruption


def damaging(network: Network, base_offset: int) -> RewritingNetwork:
    """A network that damages the last byte of the batch that begins at an offset."""

    def rewrite(blob: bytes) -> bytes:
        batches = [bytearray(batch.data) for batch in iter_batches(blob)]
        for batch in batches:
            if int.from_bytes(batch[:8], "big") == base_offset:
                batch[-1] ^= 0xFF
        return b"".join(batches)

    return RewritingNetwork(network, {ApiKey.SHARE_FETCH: records_rewritten(rewrite)})


@everywhere
async def test_16_a_corrupt_batch_is_rejected_whole(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    for _ in range(3):
        await target.cluster.produce(topic, values(5))

    seen: list[int] = []
    errors: list[CorruptRecordError] = []
    async with target.consumer(group_id, network=damaging(target.network, 5)) as consumer:
        await consumer.subscribe([topic.name])
        time = Countdown()
        while (len(seen) < 10 or not errors) and time.left_s:
            try:
                seen += [record.offset for record in await consumer.poll(timeout=time.left_s)]
            except CorruptRecordError as error:
                errors.append(error)
        await consumer.commit_sync()
        await target.cluster.until_lag(group_id, topic, 0)

    assert sorted(seen) == [*range(5), *range(10, 15)]
    assert len(errors) == 1
