"""The admin client: transactions, their producers, fencing, and the end of a hanging transaction (KIP-664, KIP-588)."""

import re

import pytest

from kafka_groups.admin import HangingTransaction, TransactionListing
from kafka_groups.errors import (
    ConfigurationError,
    InvalidRegularExpressionError,
    InvalidTxnStateError,
    TransactionalIdNotFoundError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.types import TopicPartition
from tests.conformance.test_transactions import begin, new_producer
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_producer import NEW, OLD, TransactionReader
from tests.support.targets import Target, everywhere, everywhere_with

both_versions = pytest.mark.parametrize("version", [NEW, OLD], ids=["new epochs", "old epochs"])


@everywhere
async def test_transactional_ids_are_listed_by_every_filter(target: Target) -> None:
    topic, prefix = await target.cluster.create_topic(1), unique("listed")
    idle, busy = await new_producer(target, name=f"{prefix}-idle"), await new_producer(target, name=f"{prefix}-busy")
    await begin(busy, topic, b"1")
    own = f"{re.escape(prefix)}.*"
    async with target.admin() as admin:
        found = await admin.list_transactions(pattern=own)
        assert found.transactions == (
            TransactionListing(busy.transactional_id, busy.producer.producer_id, "Ongoing"),
            TransactionListing(idle.transactional_id, idle.producer.producer_id, "Empty"),
        )
        assert not found.errors
        by_state = await admin.list_transactions(states=["Ongoing"], pattern=own)
        by_producer = await admin.list_transactions(producer_ids=[idle.producer.producer_id])
        by_age = await admin.list_transactions(open_for_ms=3_600_000, pattern=own)  # the idle one has never begun
        names = [[each.transactional_id for each in some.transactions] for some in (by_state, by_producer, by_age)]
        assert names == [[busy.transactional_id], [idle.transactional_id], [idle.transactional_id]]
        with pytest.raises(ConfigurationError, match="Sleeping"):
            await admin.list_transactions(states=["Sleeping"])
        refused = await admin.list_transactions(pattern="(")
        assert [type(error) for error in refused.errors.values()] == [InvalidRegularExpressionError]


@everywhere
async def test_transactions_are_described(target: Target) -> None:
    topic, absent = await target.cluster.create_topic(2), unique("absent")
    producer = await new_producer(target, timeout_ms=45_000)
    async with target.admin() as admin:
        before = (await admin.describe_transactions([producer.transactional_id]))[producer.transactional_id]
        assert (before.state, before.start_ms, before.partitions) == ("Empty", None, ())
        await begin(producer, topic, b"1", partition=1)
        found = await admin.describe_transactions([producer.transactional_id, absent])
        described = found[producer.transactional_id]
        assert (described.producer_id, described.producer_epoch) == (
            producer.producer.producer_id,
            producer.producer.epoch,
        )
        assert (described.state, described.timeout_ms) == ("Ongoing", 45_000)
        assert described.partitions == (TopicPartition(topic.name, 1),)
        assert described.start_ms is not None
        assert isinstance(found.errors[absent], TransactionalIdNotFoundError)


@everywhere
async def test_producers_of_partitions_are_described(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    first, second = TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)
    nowhere = TopicPartition(unique("nowhere"), 0)
    producer = await new_producer(target)
    await begin(producer, topic, b"1", b"2")
    async with target.admin() as admin:
        found = await admin.describe_producers([first, second, nowhere])
        [known] = found[first]
        assert (known.producer_id, known.producer_epoch) == (producer.producer.producer_id, producer.producer.epoch)
        assert (known.last_sequence, known.transaction_start_offset, known.coordinator_epoch) == (1, 0, None)
        assert known.last_timestamp_ms is not None
        assert found[second] == ()
        assert isinstance(found.errors[nowhere], UnknownTopicOrPartitionError)

        assert await producer.end(committed=True) == "NONE"
        ended = await until(
            lambda: admin.describe_producers([first]), lambda it: it[first][0].transaction_start_offset is None
        )
        assert (ended[first][0].coordinator_epoch, ended[first][0].last_sequence) == (0, None)


@everywhere
@both_versions
async def test_fenced_producers_are_refused_and_their_transactions_aborted(target: Target, version: int) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer, fresh = await new_producer(target, version), unique("fresh")
    await begin(producer, topic, b"1")
    async with target.admin() as admin:
        fenced = await admin.fence_producers([producer.transactional_id, fresh])
        now = fenced[producer.transactional_id]
        assert now.producer_id == producer.producer.producer_id
        assert now.producer_epoch > producer.producer.epoch
        assert fenced[fresh].producer_epoch == 0
        [listed] = (await admin.list_transactions(producer_ids=[fenced[fresh].producer_id])).transactions
        assert listed.transactional_id == fresh
    assert await producer.send(topic, b"2") == "INVALID_PRODUCER_EPOCH"
    assert await producer.end(committed=True) == "PRODUCER_FENCED"
    assert await reader.committed(topic) == []
    assert await reader.end_offset(topic, is_stable=True) == 2  # the record, and the marker


@everywhere
@both_versions
async def test_a_transaction_is_aborted_in_one_partition(target: Target, version: int) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    partition, nowhere = TopicPartition(topic.name, 0), TopicPartition(unique("nowhere"), 0)
    producer = await new_producer(target, version)
    await begin(producer, topic, b"1", b"2")
    async with target.admin() as admin:
        with pytest.raises(InvalidTxnStateError, match=r"begins at offset 1 of .* begin at \[0\]"):
            await admin.abort_transaction(partition, 1)
        with pytest.raises(UnknownTopicOrPartitionError):
            await admin.abort_transaction(nowhere, 0)
        assert await reader.end_offset(topic, is_stable=True) == 0
        await admin.abort_transaction(partition, 0)
        assert await until(lambda: reader.end_offset(topic, is_stable=True), lambda it: it == 3)
        assert await reader.committed(topic) == []
        with pytest.raises(InvalidTxnStateError):
            await admin.abort_transaction(partition, 0)


@everywhere_with({"transaction.partition.verification.enable": "false"})
async def test_transactions_that_their_coordinator_does_not_know_are_found_and_aborted(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(3), TransactionReader(target.client())
    hanging, healthy = await new_producer(target, OLD), await new_producer(target, OLD)
    unknown = await new_producer(target, OLD)
    places = [TopicPartition(topic.name, number) for number in range(3)]
    # Without verification, a leader takes records of a transaction that was never begun.
    assert await hanging.send(topic, b"1", b"2", partition=0) == "NONE"
    await begin(healthy, topic, b"3", partition=0)
    stranger = 987_654_321  # no coordinator has given out this id
    assert await unknown.send(topic, b"4", partition=1, producer_id=stranger, producer_epoch=3) == "NONE"
    async with target.admin() as admin:
        found = await admin.find_hanging_transactions([topic.name], longer_than_ms=0)
        assert not found.errors
        first, second = found.transactions
        assert first == HangingTransaction(
            partition=places[0],
            producer_id=hanging.producer.producer_id,
            producer_epoch=0,
            transactional_id=hanging.transactional_id,
            start_offset=0,
            last_timestamp_ms=first.last_timestamp_ms,
            coordinator_epoch=None,
        )
        assert first.last_timestamp_ms is not None
        assert (second.partition, second.producer_id, second.producer_epoch) == (places[1], stranger, 3)
        assert (second.transactional_id, second.start_offset) == (None, 0)
        assert (await admin.find_hanging_transactions([topic.name])).transactions == ()  # not for so long
        assert (await admin.find_hanging_transactions(places[1:], longer_than_ms=0)).transactions == (second,)
        everywhere_found = (await admin.find_hanging_transactions(longer_than_ms=0)).transactions
        assert {first, second} <= set(everywhere_found)
        for each in found.transactions:
            await admin.abort_transaction(each.partition, each.start_offset)
        left = await until(
            lambda: admin.find_hanging_transactions([topic.name], longer_than_ms=0), lambda it: not it.transactions
        )
        assert not left.errors
        assert await healthy.end(committed=True) == "NONE"
    await reader.until_committed(topic, [b"3"])


@everywhere
async def test_hanging_transactions_of_topics_that_do_not_exist(target: Target) -> None:
    topic = await target.cluster.create_topic()
    nowhere = TopicPartition(topic.name, 7)
    async with target.admin() as admin:
        with pytest.raises(UnknownTopicOrPartitionError):
            await admin.find_hanging_transactions([unique("nowhere")])
        found = await admin.find_hanging_transactions([topic.name, nowhere])
        assert found.transactions == ()
        assert {key: type(error) for key, error in found.errors.items()} == {nowhere: UnknownTopicOrPartitionError}
        with pytest.raises(
            ConfigurationError, match="longer_than_ms=-1: give a whole number of milliseconds, 0 or more"
        ):
            await admin.find_hanging_transactions([topic.name], longer_than_ms=-1)
