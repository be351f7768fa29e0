"""Numbers of idempotent and transactional producers: what a leader takes, repeats and refuses (KIP-98, KIP-360)."""

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import PartitionProduceResponse
from kafka_groups.protocol.record_builder import NewRecord
from tests.conformance.test_leader_epochs import fetch, seen
from tests.conformance.test_transactions import new_producer
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.batch_sender import BatchSender, idempotent_sender
from tests.support.members.raw_producer import NEW, OLD, RawProducer, TransactionReader
from tests.support.targets import Target, everywhere

both_versions = pytest.mark.parametrize("version", [NEW, OLD], ids=["new epochs", "old epochs"])
Answer = tuple[str, int]
OUT_OF_ORDER: Answer = ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
OLD_EPOCH: Answer = ("INVALID_PRODUCER_EPOCH", -1)
TOO_LARGE: Answer = ("MESSAGE_TOO_LARGE", -1)
BIG = [b"x" * 400] * 4
LAST = 2**31 - 1


def at(offset: int) -> Answer:
    """The answer to a batch that is at an offset."""
    return "NONE", offset


def of(producer: RawProducer, topic: Topic, client: Any) -> BatchSender:
    """A sender of a transactional producer, in its epoch of now."""
    return BatchSender(
        client,
        topic,
        producer.producer.producer_id,
        producer.producer.epoch,
        producer.transactional_id,
        producer.produce_version,
    )


async def transactional(target: Target, topic: Topic, version: int) -> tuple[RawProducer, BatchSender]:
    """A producer whose transaction may begin in a topic."""
    producer = await new_producer(target, version)
    if version == OLD:
        assert await producer.add(topic, 0) == {0: "NONE"}
    return producer, of(producer, topic, target.client())


async def end_offset(target: Target, topic: Topic) -> int:
    return await TransactionReader(target.client()).end_offset(topic, is_stable=False)


# ------------------------------------------------------------------------------------------- large batches


async def halves(sender: BatchSender, first: int, offset: int) -> None:
    """Send a batch that is too large, two later ones, and then what a producer makes of it."""
    assert await sender.send(first, *BIG) == TOO_LARGE
    assert await sender.send(first + 4, b"later") == OUT_OF_ORDER
    assert await sender.send(first + 5, b"later") == OUT_OF_ORDER
    assert await sender.send(first, *BIG[:2]) == at(offset)
    assert await sender.send(first + 2, *BIG[2:]) == at(offset + 2)
    assert await sender.send(first + 4, b"later") == at(offset + 4)
    assert await sender.send(first + 5, b"later") == at(offset + 5)


@everywhere
async def test_the_halves_of_a_batch_that_is_too_large_divide_its_numbers(target: Target) -> None:
    topic = await target.cluster.create_topic(configs={"max.message.bytes": "1000"})
    sender = await idempotent_sender(target.client(), topic)
    assert await sender.send(0, b"first") == at(0)
    await halves(sender, 1, 1)
    assert await end_offset(target, topic) == 7


@everywhere
@both_versions
@pytest.mark.parametrize("is_known", [True, False])
async def test_halves_in_a_transaction(target: Target, version: int, is_known: bool) -> None:
    topic = await target.cluster.create_topic(configs={"max.message.bytes": "1000"})
    producer, sender = await transactional(target, topic, version)
    if is_known:
        assert await sender.send(0, b"first") == at(0)
    await halves(sender, int(is_known), int(is_known))
    assert await producer.end(committed=True) == "NONE"


@everywhere
async def test_a_later_batch_of_a_producer_that_is_unknown_is_taken(target: Target) -> None:
    topic = await target.cluster.create_topic(configs={"max.message.bytes": "1000"})
    sender = await idempotent_sender(target.client(), topic)
    assert await sender.send(0, *BIG) == TOO_LARGE
    assert await sender.send(4, b"later") == at(0), "its predecessor left no trace"
    assert await sender.send(0, *BIG[:2]) == OUT_OF_ORDER
    assert await sender.send(5, b"later") == at(1)


@everywhere
async def test_a_batch_that_is_larger_than_a_segment_has_an_error_of_its_own(target: Target) -> None:
    configs = {"segment.bytes": "1048576", "max.message.bytes": "2000000"}
    topic = await target.cluster.create_topic(configs=configs)
    sender = await idempotent_sender(target.client(), topic)
    too_long: Answer = ("RECORD_LIST_TOO_LARGE", -1)
    assert [await sender.send(n, bytes(1_500_000)) for n in (0, 9)] == [too_long] * 2
    assert await sender.send(0, bytes(2_500_000)) == TOO_LARGE
    assert await sender.send(0, bytes(2_500_000), compression=Compression.GZIP) == at(0)
    assert [await sender.send(n, bytes(750_000)) for n in (1, 2)] == [at(1), at(2)]


# ----------------------------------------------------------------------------------------- refused records


def keyed(key: bytes | None = b"k", late_ms: int = 0) -> NewRecord:
    return NewRecord(b"v", key, SystemClock().wall_ms() + late_ms)


def rejected(answer: PartitionProduceResponse) -> tuple[str, list[int]]:
    """The error of a refused batch, and the records that it names."""
    assert answer.base_offset == -1
    assert answer.error_message
    assert all(each.batch_index_error_message for each in answer.record_errors)
    return answer.error_code.name, [each.batch_index for each in answer.record_errors]


HOURS_MS = 7_200_000
REFUSED: list[tuple[dict[str, str], Sequence[NewRecord], tuple[str, list[int]]]] = [
    ({"cleanup.policy": "compact"}, [keyed(), keyed(None), keyed(), keyed(None)], ("INVALID_RECORD", [1, 3])),
    ({"cleanup.policy": "compact"}, [keyed(None)] * 5, ("INVALID_RECORD", [0, 1, 2, 3, 4])),
    (
        {"cleanup.policy": "compact"},
        [keyed(), keyed(None, HOURS_MS), keyed(b"k", HOURS_MS), keyed(None)],
        ("INVALID_TIMESTAMP", [1, 2, 3]),
    ),
    ({"cleanup.policy": "compact"}, [keyed(), keyed(None, HOURS_MS)], ("INVALID_RECORD", [1])),
    ({}, [keyed(), keyed(late_ms=HOURS_MS), keyed(), keyed(None, HOURS_MS)], ("INVALID_TIMESTAMP", [1, 3])),
]


@everywhere
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
@pytest.mark.parametrize(("configs", "records", "expected"), REFUSED)
async def test_refused_records_are_named_and_their_numbers_stay_free(
    target: Target,
    configs: dict[str, str],
    records: Sequence[NewRecord],
    expected: tuple[str, list[int]],
    codec: Compression,
) -> None:
    topic = await target.cluster.create_topic(configs=configs)
    sender = await idempotent_sender(target.client(), topic)
    assert await sender.send(0, keyed()) == at(0)
    assert rejected(await sender.answer(1, *records, compression=codec)) == expected
    assert await sender.send(1 + len(records), keyed()) == OUT_OF_ORDER
    assert await sender.send(1, keyed(), keyed()) == at(1)
    assert await sender.send(3, keyed()) == at(3)


@everywhere
async def test_old_versions_do_not_name_records(target: Target) -> None:
    topic = await target.cluster.create_topic(configs={"cleanup.policy": "compact"})
    sender = await idempotent_sender(target.client(), topic)
    old = await evolve(sender, version=7).answer(0, keyed(None))
    assert (old.error_code, old.record_errors, old.error_message) == (ErrorCode.INVALID_RECORD, (), None)
    assert rejected(await evolve(sender, version=8).answer(0, keyed(None))) == ("INVALID_RECORD", [0])


# ----------------------------------------------------------------------------------------- repeated batches


@everywhere
async def test_the_last_five_batches_are_repeated(target: Target) -> None:
    topic = await target.cluster.create_topic()
    sender = await idempotent_sender(target.client(), topic)
    assert [await sender.send(2 * n, b"a", b"b") for n in range(8)] == [at(2 * n) for n in range(8)]
    assert [await sender.send(2 * n, b"a", b"b") for n in (7, 3, 5, 4, 6)] == [at(2 * n) for n in (7, 3, 5, 4, 6)]
    assert [await sender.send(2 * n, b"a", b"b") for n in (2, 1, 0)] == [OUT_OF_ORDER] * 3
    assert await sender.send(14, b"a") == OUT_OF_ORDER, "a part of a batch is not a repetition"
    assert await sender.send(15, b"b") == OUT_OF_ORDER
    assert await sender.send(15, b"b", b"c") == OUT_OF_ORDER
    assert await sender.send(14, b"other", b"records") == at(14), "only the numbers are compared"
    assert await end_offset(target, topic) == 16


@everywhere
async def test_deleted_records_leave_the_numbers_of_their_producer(target: Target) -> None:
    topic = await target.cluster.create_topic()
    sender = await idempotent_sender(target.client(), topic)
    assert [await sender.send(n, b"a") for n in range(3)] == [at(0), at(1), at(2)]
    await target.cluster.delete_before(topic, 3)
    assert [await sender.send(n, b"a") for n in (5, 2, 0, 3)] == [OUT_OF_ORDER, at(2), at(0), at(3)]


@everywhere
@both_versions
async def test_batches_of_a_transaction_that_has_ended(target: Target, version: int) -> None:
    topic = await target.cluster.create_topic()
    producer, sender = await transactional(target, topic, version)
    assert [await sender.send(n, b"a") for n in range(2)] == [at(0), at(1)]
    assert [await sender.send(n, b"a") for n in range(2)] == [at(0), at(1)]
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    expected = {NEW: OLD_EPOCH, OLD: ("TRANSACTION_ABORTABLE", -1)}[version]
    assert [await sender.send(n, b"a") for n in (1, 0, 2)] == [expected] * 3


# ------------------------------------------------------------------------------------------------- epochs


@everywhere
async def test_an_idempotent_producer_raises_its_epoch_itself(target: Target) -> None:
    topic = await target.cluster.create_topic()
    sender = await idempotent_sender(target.client(), topic)
    assert [await sender.send(n, b"a") for n in range(2)] == [at(0), at(1)]
    assert [await sender.send(n, b"a", epoch=1) for n in (2, 1)] == [OUT_OF_ORDER] * 2
    assert await sender.send(2, b"a") == at(2), "the epoch was not raised"
    assert await sender.send(0, b"a", epoch=1) == at(3)
    assert [await sender.send(n, b"a") for n in (3, 2, 0)] == [OLD_EPOCH] * 3
    assert await sender.send(1, b"a", epoch=1) == at(4)
    assert await sender.send(0, b"a", epoch=5) == at(5), "epochs may be left out"
    assert await sender.send(0, b"a", epoch=4) == OLD_EPOCH
    assert await sender.send(0, b"a", epoch=32_767) == at(6)
    assert await sender.send(1, b"a", epoch=0) == OLD_EPOCH


@everywhere
async def test_a_partition_knows_only_the_epochs_that_it_has_seen(target: Target) -> None:
    first, second = await target.cluster.create_topic(), await target.cluster.create_topic()
    sender = await idempotent_sender(target.client(), first)
    assert await sender.send(0, b"a", epoch=1) == at(0)
    other = evolve(sender, topic=second)
    assert await other.send(7, b"a", epoch=0) == at(0)
    assert await other.send(8, b"a", epoch=1) == OUT_OF_ORDER
    assert await other.send(0, b"a", epoch=1) == at(1)


# ------------------------------------------------------------------------------------------ sequence numbers


@everywhere
async def test_numbers_begin_again_after_the_last(target: Target) -> None:
    topic = await target.cluster.create_topic()
    sender = await idempotent_sender(target.client(), topic)
    assert await sender.send(LAST - 1, b"a") == at(0)
    assert await sender.send(LAST, b"a", b"b", b"c") == at(1), "its numbers are the last, 0 and 1"
    assert await sender.send(LAST, b"a", b"b", b"c") == at(1)
    assert [await sender.send(n, b"d") for n in (0, 1, 3)] == [OUT_OF_ORDER] * 3
    assert await sender.send(2, b"d") == at(4)


@everywhere
async def test_a_batch_may_end_with_the_last_number(target: Target) -> None:
    topic = await target.cluster.create_topic()
    sender = await idempotent_sender(target.client(), topic)
    assert await sender.send(LAST - 1, b"a", b"b") == at(0)
    assert await sender.send(1, b"c") == OUT_OF_ORDER
    assert await sender.send(0, b"c") == at(2)
    assert await sender.send(-1, b"c") == ("INVALID_RECORD", -1)


# ---------------------------------------------------------------------------------------- unknown producers


@everywhere
async def test_an_idempotent_producer_that_is_unknown_begins_with_any_number(target: Target) -> None:
    topic = await target.cluster.create_topic()
    sender = BatchSender(target.client(), topic, 987_654_321, 4)
    assert [await sender.send(n, b"a") for n in (17, 18)] == [at(0), at(1)]
    assert await sender.send(0, b"a") == OUT_OF_ORDER


@everywhere
async def test_a_transaction_of_new_epochs_begins_with_0(target: Target) -> None:
    topic = await target.cluster.create_topic()
    producer, sender = await transactional(target, topic, NEW)
    for first in (0, 3):
        assert [await sender.send(n, b"a") for n in (5, 6, 1)] == [OUT_OF_ORDER] * 3
        assert [await sender.send(n, b"a") for n in (0, 1)] == [at(first), at(first + 1)]
        assert await producer.end(committed=True) == "NONE"
        await producer.until_ended()
        sender = of(producer, topic, target.client())


@everywhere
async def test_a_transaction_of_old_epochs_begins_with_any_number_and_goes_on_from_it(target: Target) -> None:
    topic = await target.cluster.create_topic()
    producer, sender = await transactional(target, topic, OLD)
    assert [await sender.send(n, b"a") for n in (5, 6, 0)] == [at(0), at(1), OUT_OF_ORDER]
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    assert await until(lambda: producer.add(topic, 0), lambda it: it == {0: "NONE"})
    assert await sender.send(8, b"a") == OUT_OF_ORDER
    assert await sender.send(7, b"a") == at(3), "the numbers of an epoch outlive its transactions"


@everywhere
async def test_a_number_that_is_too_low_keeps_a_transaction_of_old_epochs_from_beginning(target: Target) -> None:
    topic = await target.cluster.create_topic()
    producer, sender = await transactional(target, topic, OLD)
    assert await sender.send(5, b"a") == at(0)
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    assert await until(lambda: producer.add(topic, 0), lambda it: it == {0: "NONE"})
    assert [await sender.send(n, b"a") for n in (0, 6, 0, 6)] == [OUT_OF_ORDER] * 4
    assert await producer.end(committed=False) == "NONE"
    await producer.until_ended()
    assert await until(lambda: producer.add(topic, 0), lambda it: it == {0: "NONE"})
    assert await sender.send(6, b"a") == at(3)


@everywhere
async def test_a_number_that_was_refused_for_its_transaction_counts_as_the_lowest(target: Target) -> None:
    topic = await target.cluster.create_topic()
    producer = await new_producer(target, OLD)
    sender = of(producer, topic, target.client())
    assert [await sender.send(n, b"a") for n in (0, 5)] == [("TRANSACTION_ABORTABLE", -1)] * 2
    assert await producer.add(topic, 0) == {0: "NONE"}
    assert [await sender.send(n, b"a") for n in (5, 3)] == [OUT_OF_ORDER] * 2
    assert await sender.send(0, b"a") == at(0)


# ---------------------------------------------------------------------------------- topics that are made again


@everywhere
async def test_a_topic_that_is_made_again_knows_no_producers(target: Target) -> None:
    topic = await target.cluster.create_topic()
    sender = await idempotent_sender(target.client(), topic)
    assert [await sender.send(n, b"a") for n in range(3)] == [at(0), at(1), at(2)]
    await target.cluster.delete_topic(topic)
    again = await target.cluster.create_topic(name=topic.name)
    client = sender.client
    request = sender.request(3, [b"a"])
    [answer] = (await client.ask(request, 13)).responses[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)
    raw = target.client()
    assert seen(await fetch(raw, topic, 1)) == "UNKNOWN_TOPIC_ID"
    assert seen(await fetch(raw, topic, 1, version=12)) == "OFFSET_OUT_OF_RANGE"
    assert seen(await fetch(raw, topic, 3, 0, version=12)) == (0, 0), "by name, the old records look truncated"
    by_name = evolve(sender, topic=again, version=12)
    assert [await by_name.send(n, b"a") for n in (3, 4)] == [at(0), at(1)]
    assert await by_name.send(0, b"a") == OUT_OF_ORDER


@everywhere
async def test_transactions_go_on_in_a_topic_that_is_made_again(target: Target) -> None:
    topic = await target.cluster.create_topic()
    newer, new_sender = await transactional(target, topic, NEW)
    older, old_sender = await transactional(target, topic, OLD)
    assert [await sender.send(0, b"a") for sender in (new_sender, old_sender)] == [at(0), at(1)]
    await target.cluster.delete_topic(topic)
    again = await target.cluster.create_topic(name=topic.name)
    for version in (12, 13):
        renamed = evolve(new_sender, topic=again, version=version)
        assert await renamed.send(1, b"new") == OUT_OF_ORDER
    assert await evolve(new_sender, topic=again).send(0, b"new") == at(0)
    assert await evolve(old_sender, topic=again).send(1, b"old") == at(1)
    for producer in (newer, older):
        assert await producer.end(committed=True) == "NONE"
        assert await producer.until_ended() == "CompleteCommit"
    await TransactionReader(target.client()).until_committed(again, [b"new", b"old"])
