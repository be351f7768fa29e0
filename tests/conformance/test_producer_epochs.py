"""Epochs of transactional producers: levels of the feature that rise under open transactions, and epochs used up."""

import pytest

from kafka_groups.broker.log.entries import Producer
from tests.conformance.test_features import without
from tests.conformance.test_transactions import begin, new_producer
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.raw_producer import NEW, OLD, RawProducer, TransactionReader
from tests.support.targets import Target, everywhere, everywhere_with

LAST_GIVEN = 32_766
"""The last epoch that a client gets: 32,767 is for the marker that fences it."""

# ------------------------------------------------------------------------- a level that rises (KIP-890)


async def until_added(producer: RawProducer, topic: Topic) -> None:
    await until(lambda: producer.add(topic, 0), lambda it: it == {0: "NONE"})


async def begun(target: Target, topic: Topic) -> RawProducer:
    """A producer with a transaction that older requests have begun."""
    producer = await new_producer(target, OLD)
    await begin(producer, topic, b"before")
    return producer


async def ended(producer: RawProducer, version: int, *, committed: bool = True) -> tuple[str, int, str]:
    """The answer to EndTxn, the epoch after it, and the state of the id when the markers are written."""
    error = await producer.end(committed=committed, version=version)
    return error, producer.producer.epoch, await producer.until_ended()


COMMITTED = "CompleteCommit"


@everywhere
@pytest.mark.parametrize("level", [0, 1])
async def test_open_transactions_go_on_when_the_level_rises(target: Target, level: int) -> None:
    topic, client = await target.cluster.create_topic(), target.client()
    async with without("transaction.version", client, lowered=level):
        old, new, mixed, newer, aborted = [await begun(target, topic) for _ in range(5)]

    assert await old.send(topic, b"after") == "NONE"
    assert await ended(old, 4) == ("NONE", 0, COMMITTED), "a producer that has not noticed goes on as before"
    await until_added(old, topic)
    assert await old.send(topic, b"next") == "NONE"
    assert await ended(old, 4) == ("NONE", 0, COMMITTED)

    assert await new.send(topic, b"after", version=13) == "NONE"
    assert await ended(new, 5) == ("NONE", 1, COMMITTED), "newer requests end an older transaction"
    assert await new.send(topic, b"next", version=13) == "NONE"
    assert await ended(new, 5) == ("NONE", 2, COMMITTED)

    assert await mixed.send(topic, b"after", version=12) == "NONE"
    assert await ended(mixed, 4) == ("NONE", 0, COMMITTED), "the version of EndTxn alone decides about the epoch"

    assert await ended(newer, 4) == ("NONE", 0, COMMITTED)
    assert await newer.send(topic, b"next", version=13) == "NONE", "from the next transaction on"
    assert await ended(newer, 5) == ("NONE", 1, COMMITTED)

    assert await ended(aborted, 5, committed=False) == ("NONE", 1, "CompleteAbort")
    await until(lambda: TransactionReader(client).end_offset(topic, is_stable=True), lambda it: it == 19)


# ------------------------------------------------------------------------------------------- timeouts


@everywhere_with({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "50"})
@pytest.mark.parametrize("version", [NEW, OLD], ids=["new epochs", "old epochs"])
async def test_a_producer_goes_on_after_its_transaction_has_timed_out(target: Target, version: int) -> None:
    topic = await target.cluster.create_topic()
    producer = await new_producer(target, version, timeout_ms=1_000)
    await begin(producer, topic, b"late")
    before = producer.producer
    await until(producer.described, lambda it: it.transaction_state == "CompleteAbort", timeout_s=30)
    assert await producer.send(topic, b"later") == "INVALID_PRODUCER_EPOCH"
    answers = [await producer.end(committed=committed, producer=before) for committed in (True, False)]
    if version == NEW:
        assert answers == ["INVALID_TXN_STATE", "NONE"]
    else:
        assert answers == ["PRODUCER_FENCED"] * 2
        assert await producer.add(topic, 0) == {0: "PRODUCER_FENCED"}
    following = Producer(before.producer_id, before.epoch + 1)
    for _ in range(2):
        assert await producer.init(expected=before) == "NONE"
        assert producer.producer == following
    assert await RawProducer(target.client(), producer.transactional_id, version).init() == "NONE"
    assert await producer.init(expected=before) == "PRODUCER_FENCED"


# ---------------------------------------------------------------------------------------- epochs used up


async def in_epoch(target: Target, epoch: int, version: int) -> RawProducer:
    """A producer that has begun so often that it has an epoch. It takes half a minute."""
    producer = await new_producer(target, version)
    while producer.producer.epoch < epoch:
        assert await producer.init() == "NONE"
    return producer


async def committed_once(producer: RawProducer, topic: Topic) -> Producer:
    """Its id and epoch after a transaction."""
    if producer.version == OLD:
        await until_added(producer, topic)
    assert await producer.send(topic, b"v") == "NONE"
    assert await producer.end(committed=True) == "NONE"
    return producer.producer


@everywhere
@pytest.mark.long
@pytest.mark.timeout(600)
async def test_new_epochs_are_used_up(target: Target) -> None:
    topic = await target.cluster.create_topic()
    producer = await in_epoch(target, LAST_GIVEN - 1, NEW)
    first = producer.producer.producer_id
    assert await committed_once(producer, topic) == Producer(first, LAST_GIVEN)
    before = producer.producer
    after = await committed_once(producer, topic)
    assert (after.producer_id != first, after.epoch) == (True, 0)
    await producer.until_ended()
    assert await producer.end(committed=True, producer=before) == "NONE", "its answer was lost"
    assert producer.producer == after
    assert await committed_once(producer, topic) == Producer(after.producer_id, 1)


@everywhere
@pytest.mark.long
@pytest.mark.timeout(600)
async def test_old_epochs_are_used_up(target: Target) -> None:
    topic = await target.cluster.create_topic()
    producer = await in_epoch(target, LAST_GIVEN - 1, OLD)
    before = producer.producer
    assert await producer.init(expected=before) == "NONE"
    assert producer.producer == Producer(before.producer_id, LAST_GIVEN)
    for older in (before, Producer(before.producer_id, 7)):
        assert await producer.init(expected=older) == "UNKNOWN_SERVER_ERROR", "a repetition, or an older producer"
    assert await committed_once(producer, topic) == Producer(before.producer_id, LAST_GIVEN)
    last = producer.producer
    await until_added(producer, topic)
    assert await producer.send(topic, b"open") == "NONE"
    fencing = RawProducer(target.client(), producer.transactional_id, OLD)
    assert await fencing.init() == "NONE"
    after = fencing.producer
    assert (after.producer_id != before.producer_id, after.epoch) == (True, 1), "the abort used up the epochs"
    assert await producer.send(topic, b"zombie") == "INVALID_PRODUCER_EPOCH"
    assert await producer.end(committed=True, producer=last) == "INVALID_PRODUCER_ID_MAPPING"
    assert await fencing.init(expected=after) == "NONE"
    assert fencing.producer == Producer(after.producer_id, 2)
