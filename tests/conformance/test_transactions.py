"""Transactions of producers: states, epochs, errors, and what readers see of them (KIP-98, KIP-360, KIP-890)."""

from typing import Any

import pytest

from kafka_groups.broker.log.entries import Producer
from kafka_groups.protocol.error_codes import ErrorCode
from tests.conformance.test_committed_offsets import new_offsets, offsets_of
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_producer import NEW, OLD, RawProducer, TransactionReader, timed
from tests.support.targets import Target, everywhere

both_versions = pytest.mark.parametrize("version", [NEW, OLD], ids=["new epochs", "old epochs"])


async def new_producer(target: Target, version: int = NEW, *, name: str | None = None, **fields: Any) -> RawProducer:
    """A producer that has its id and epoch."""
    producer = RawProducer(target.client(), unique("tx") if name is None else name, version)
    await producer.find()
    assert await producer.init(**fields) == "NONE"
    return producer


async def begin(producer: RawProducer, topic: Any, *values: bytes, partition: int = 0) -> None:
    """Send the first records of a transaction in a partition."""
    if producer.version == OLD:
        added = await until(
            lambda: producer.add(topic, partition), lambda it: "CONCURRENT_TRANSACTIONS" not in it.values()
        )
        assert added == {partition: "NONE"}
    assert await producer.send(topic, *values, partition=partition) == "NONE"


# ------------------------------------------------------------------------------------ what readers see


@everywhere
@both_versions
async def test_readers_see_whole_transactions_in_order(target: Target, version: int) -> None:
    topic, reader = await target.cluster.create_topic(2), TransactionReader(target.client())
    producer = await new_producer(target, version)
    await begin(producer, topic, b"1", b"2")
    await begin(producer, topic, b"3", partition=1)
    assert await reader.committed(topic) == []
    assert await reader.end_offset(topic, is_stable=True) == 0
    assert await reader.end_offset(topic, is_stable=False) == 2
    assert await producer.end(committed=True) == "NONE"
    assert await producer.until_ended() == "CompleteCommit"
    await reader.until_committed(topic, [b"1", b"2"])
    await reader.until_committed(topic, [b"3"], 1)
    assert await reader.end_offset(topic, is_stable=True) == 3


@everywhere
@both_versions
async def test_aborted_records_are_named_and_skipped(target: Target, version: int) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    aborting, committing = await new_producer(target, version), await new_producer(target, version)
    await begin(committing, topic, b"c1")
    await begin(aborting, topic, b"a1")
    await target.cluster.produce(topic, [timed(b"plain")])
    assert await reader.committed(topic) == []
    assert await aborting.end(committed=False) == "NONE"
    await aborting.until_ended()
    assert await reader.committed(topic) == []
    assert await committing.send(topic, b"c2") == "NONE"
    assert await committing.end(committed=True) == "NONE"
    await committing.until_ended()
    await reader.until_committed(topic, [b"c1", b"plain", b"c2"])
    data = await reader.fetch(topic)
    named = [(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]
    assert named == [(aborting.producer.producer_id, 1)]
    assert (await reader.fetch(topic, offset=4)).aborted_transactions == ()
    assert (await reader.fetch(topic, is_stable=False)).aborted_transactions is None


@everywhere
async def test_the_last_stable_offset_is_that_of_the_oldest_transaction(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    first, second = await new_producer(target), await new_producer(target)
    await begin(first, topic, b"1")
    await begin(second, topic, b"2")
    assert await second.end(committed=True) == "NONE"
    await second.until_ended()
    assert await reader.end_offset(topic, is_stable=True) == 0
    assert await first.end(committed=True) == "NONE"
    await first.until_ended()
    assert await reader.end_offset(topic, is_stable=True) == 4


# -------------------------------------------------------------------------------------------- states


@everywhere
@both_versions
async def test_the_states_of_an_id(target: Target, version: int) -> None:
    topic = await target.cluster.create_topic(1)
    producer = RawProducer(target.client(), unique("tx"), version)
    await producer.find()
    assert (await producer.described()).error_code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert await producer.init(timeout_ms=50_000) == "NONE"
    found = await producer.described()
    assert (found.transaction_state, found.transaction_timeout_ms, found.transaction_start_time_ms) == (
        "Empty",
        50_000,
        -1,
    )
    await begin(producer, topic, b"1")
    found = await producer.described()
    assert (found.transaction_state, found.producer_id, found.producer_epoch) == (
        "Ongoing",
        producer.producer.producer_id,
        producer.producer.epoch,
    )
    assert [(each.topic, each.partitions) for each in found.topics] == [(topic.name, (0,))]
    assert await producer.end(committed=True) == "NONE"
    assert await producer.until_ended() == "CompleteCommit"
    assert (await producer.described()).topics == ()
    await begin(producer, topic, b"2")
    assert await producer.end(committed=False) == "NONE"
    assert await producer.until_ended() == "CompleteAbort"


@everywhere
async def test_new_epochs_increase_with_each_transaction(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer = await new_producer(target)
    epochs = [producer.producer.epoch]
    for number in range(3):
        await begin(producer, topic, b"v")
        assert await producer.end(committed=number != 1) == "NONE"
        epochs.append(producer.producer.epoch)
    assert epochs == [0, 1, 2, 3]
    await producer.until_ended()
    seen = (await reader.producers(topic))[producer.producer.producer_id]
    assert (seen.producer_epoch, seen.last_sequence, seen.current_txn_start_offset) == (3, -1, -1)


@everywhere
async def test_old_epochs_stay(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer = await new_producer(target, OLD)
    for _ in range(2):
        await begin(producer, topic, b"v")
        assert await producer.end(committed=True) == "NONE"
        await producer.until_ended()
    seen = (await reader.producers(topic))[producer.producer.producer_id]
    assert (producer.producer.epoch, seen.producer_epoch, seen.last_sequence) == (0, 0, 1)


ENDS: list[tuple[str, bool, str, str]] = [
    # state before, commit?, answer to the current epoch, answer to the epoch before
    ("Empty", True, "INVALID_TXN_STATE", "PRODUCER_FENCED"),
    ("Empty", False, "NONE", "PRODUCER_FENCED"),
    ("CompleteCommit", True, "INVALID_TXN_STATE", "NONE"),
    ("CompleteCommit", False, "NONE", "INVALID_TXN_STATE"),
    ("CompleteAbort", True, "INVALID_TXN_STATE", "INVALID_TXN_STATE"),
    ("CompleteAbort", False, "NONE", "NONE"),
]


async def in_state(target: Target, state: str, version: int) -> RawProducer:
    """A producer whose id is in a state."""
    topic = await target.cluster.create_topic(1)
    producer = await new_producer(target, version)
    if state != "Empty":
        await begin(producer, topic, b"v")
        assert await producer.end(committed=state == "CompleteCommit") == "NONE"
        assert await producer.until_ended() == state
    return producer


@everywhere
@pytest.mark.parametrize(("state", "committed", "current", "before"), ENDS)
async def test_ends_without_a_transaction_in_new_epochs(
    target: Target, state: str, committed: bool, current: str, before: str
) -> None:
    producer = await in_state(target, state, NEW)
    now = producer.producer
    assert await producer.end(committed=committed, producer=Producer(now.producer_id, now.epoch - 1)) == before
    assert producer.producer == now
    assert await producer.end(committed=committed, producer=now) == current
    if current == "NONE":
        assert producer.producer == Producer(now.producer_id, now.epoch + 1)
        assert await producer.until_ended() == "CompleteAbort"


@everywhere
@pytest.mark.parametrize(
    ("state", "committed", "error"),
    [
        ("Empty", True, "INVALID_TXN_STATE"),
        ("Empty", False, "INVALID_TXN_STATE"),
        ("CompleteCommit", True, "NONE"),
        ("CompleteCommit", False, "INVALID_TXN_STATE"),
        ("CompleteAbort", True, "INVALID_TXN_STATE"),
        ("CompleteAbort", False, "NONE"),
    ],
)
async def test_ends_without_a_transaction_in_old_epochs(
    target: Target, state: str, committed: bool, error: str
) -> None:
    producer = await in_state(target, state, OLD)
    assert await producer.end(committed=committed) == error


# ------------------------------------------------------------------------------------------- fencing


@everywhere
@both_versions
async def test_a_second_producer_fences_the_first_and_aborts_its_transaction(target: Target, version: int) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    first = await new_producer(target, version)
    await begin(first, topic, b"lost")
    second = RawProducer(target.client(), first.transactional_id, version)
    asked = await second.ask_for_id()
    assert asked.error_code is ErrorCode.CONCURRENT_TRANSACTIONS
    assert await second.init() == "NONE"
    assert second.producer == Producer(first.producer.producer_id, first.producer.epoch + 2)
    assert await first.send(topic, b"zombie") == "INVALID_PRODUCER_EPOCH"
    assert await first.end(committed=True) == "PRODUCER_FENCED"
    await begin(second, topic, b"new")
    assert await second.end(committed=True) == "NONE"
    await second.until_ended()
    await reader.until_committed(topic, [b"new"])


@everywhere
async def test_old_requests_have_old_errors_for_a_fenced_producer(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    first = await new_producer(target, OLD)
    await new_producer(target, OLD, name=first.transactional_id)
    assert await first.end(committed=True, version=1) == "INVALID_PRODUCER_EPOCH"
    assert await first.end(committed=True, version=2) == "PRODUCER_FENCED"
    assert await first.add(topic, 0, version=1) == {0: "INVALID_PRODUCER_EPOCH"}
    assert await first.add(topic, 0, version=2) == {0: "PRODUCER_FENCED"}
    assert await first.add_offsets("g", version=1) == "INVALID_PRODUCER_EPOCH"
    assert await first.add_offsets("g", version=2) == "PRODUCER_FENCED"
    older = Producer(first.producer.producer_id, first.producer.epoch)
    assert await first.init(expected=older, version=3) == "INVALID_PRODUCER_EPOCH"
    assert await first.init(expected=older, version=4) == "PRODUCER_FENCED"


@everywhere
async def test_a_producer_goes_on_after_an_error(target: Target) -> None:
    producer = await new_producer(target, OLD)
    before = producer.producer
    assert await producer.init(expected=before) == "NONE"
    assert producer.producer == Producer(before.producer_id, before.epoch + 1)
    assert await producer.init(expected=before) == "NONE", "the request is repeated"
    assert producer.producer == Producer(before.producer_id, before.epoch + 1)
    other = Producer(before.producer_id + 1_000_000, 0)
    assert await producer.init(expected=other) == "PRODUCER_FENCED"


@everywhere
async def test_a_transaction_that_takes_too_long_is_aborted(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer = await new_producer(target, timeout_ms=100)
    await begin(producer, topic, b"late")
    found = await until(producer.described, lambda it: it.transaction_state == "CompleteAbort", timeout_s=30)
    assert found.producer_epoch == producer.producer.epoch + 1
    assert await reader.committed(topic) == []
    assert await producer.end(committed=True) == "INVALID_TXN_STATE"
    assert await producer.send(topic, b"more") == "INVALID_PRODUCER_EPOCH"


# ------------------------------------------------------------------------------------------- refusals


@everywhere
@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
async def test_timeouts_have_bounds(target: Target, timeout_ms: int) -> None:
    producer = RawProducer(target.client(), unique("tx"))
    await producer.find()
    assert await producer.init(timeout_ms=timeout_ms) == "INVALID_TRANSACTION_TIMEOUT"


@everywhere
async def test_bad_questions_for_an_id(target: Target) -> None:
    producer = RawProducer(target.client(), unique("tx"))
    await producer.find()
    assert await producer.init(expected=Producer(5, -1)) == "INVALID_REQUEST"
    assert await producer.init(expected=Producer(-1, 5)) == "INVALID_REQUEST"
    nameless = RawProducer(target.client(), "")
    assert await nameless.init() == "INVALID_REQUEST"
    assert await nameless.end(committed=True) == "INVALID_REQUEST"
    assert await nameless.add_offsets("g") == "INVALID_REQUEST"


@everywhere
async def test_an_id_that_nobody_knows(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    producer = RawProducer(target.client(), unique("tx"))
    await producer.find()
    producer.producer = Producer(123_456, 0)
    assert await producer.end(committed=True) == "INVALID_PRODUCER_ID_MAPPING"
    assert await producer.add(topic, 0) == {0: "INVALID_PRODUCER_ID_MAPPING"}
    assert await producer.add_offsets("g") == "INVALID_PRODUCER_ID_MAPPING"
    assert await producer.send(topic, b"v") == "INVALID_PRODUCER_ID_MAPPING"
    assert await producer.add_as_broker(topic, 0, verify_only=True) == {0: "INVALID_PRODUCER_ID_MAPPING"}


@everywhere
async def test_a_producer_with_another_id_or_epoch(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    producer = await new_producer(target)
    known = producer.producer
    for wrong, error in (
        (Producer(known.producer_id + 500_000, known.epoch), "INVALID_PRODUCER_ID_MAPPING"),
        (Producer(known.producer_id, known.epoch + 1), "PRODUCER_FENCED"),
    ):
        producer.producer = wrong
        assert await producer.end(committed=False) == error
        assert await producer.add(topic, 0) == {0: error}
        assert await producer.add_as_broker(topic, 0, verify_only=True) == {0: error}
        sent = "INVALID_PRODUCER_EPOCH" if error == "PRODUCER_FENCED" else error
        assert await producer.send(topic, b"v") == sent


@everywhere
@pytest.mark.parametrize(
    ("version", "error"), [(10, "INVALID_TXN_STATE"), (11, "TRANSACTION_ABORTABLE"), (12, "NONE"), (13, "NONE")]
)
async def test_records_in_a_partition_that_was_not_added(target: Target, version: int, error: str) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer = await new_producer(target, OLD)
    assert await producer.send(topic, b"v", version=version) == error
    assert await reader.end_offset(topic, is_stable=False) == (1 if error == "NONE" else 0)


@everywhere
async def test_brokers_verify_partitions(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    producer = await new_producer(target, OLD)
    assert await producer.add(topic, 0) == {0: "NONE"}
    verified = await producer.add_as_broker(topic, 0, 1, verify_only=True)
    assert verified == {0: "NONE", 1: "TRANSACTION_ABORTABLE"}
    assert await producer.add_as_broker(topic, 1, verify_only=False) == {1: "NONE"}
    assert await producer.add_as_broker(topic, 0, 1, verify_only=True) == {0: "NONE", 1: "NONE"}


@everywhere
async def test_all_partitions_are_added_or_none(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    producer = await new_producer(target, OLD)
    added = await producer.add(topic, 0, 7)
    assert added == {0: "OPERATION_NOT_ATTEMPTED", 7: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert (await producer.described()).transaction_state == "Empty"


@everywhere
async def test_records_of_a_transaction_need_its_id(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    producer = await new_producer(target)
    producer.transactional_id = None  # type: ignore[assignment]
    assert await producer.send(topic, b"v") == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


@everywhere
async def test_other_records_of_a_producer_with_an_open_transaction(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    producer = await new_producer(target)
    await begin(producer, topic, b"v")
    assert await producer.send(topic, b"plain", is_transactional=False) == "INVALID_TXN_STATE"


@everywhere
async def test_sequence_numbers_of_a_transaction(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer = await new_producer(target)
    assert await producer.send(topic, b"v", base_sequence=3) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    await begin(producer, topic, b"1")
    assert await producer.send(topic, b"2", base_sequence=5) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert await producer.send(topic, b"1", base_sequence=0) == "NONE", "a repetition"
    assert await reader.end_offset(topic, is_stable=False) == 1


# ------------------------------------------------------------------------------------------- offsets


@everywhere
@both_versions
async def test_offsets_count_with_the_marker(target: Target, version: int) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    producer = await new_producer(target, version)
    for number, committed in enumerate((True, False, True), 1):
        if version == OLD:
            added = await until(
                lambda: producer.add_offsets(group.group_id), lambda it: it != "CONCURRENT_TRANSACTIONS"
            )
            assert added == "NONE"
        assert await producer.commit_offsets(group.group_id, topic, {0: number}) == {0: "NONE"}
        before = {1: -1, 2: 1, 3: 1}[number]
        assert await group.offsets(topic, (0,)) == {0: before}
        assert await producer.end(committed=committed) == "NONE"
        await producer.until_ended()
        assert await group.offsets(topic, (0,)) == {0: number if committed else before}
    assert await group.listed() == [("classic", "", "Empty")]


@everywhere
async def test_offsets_of_an_open_transaction_are_unstable(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    producer = await new_producer(target)
    assert await group.commit(topic, {0: 3}) == {0: "NONE"}
    assert await producer.commit_offsets(group.group_id, topic, {0: 7}) == {0: "NONE"}
    [unstable] = (await group.fetch(topic, (0,), require_stable=True)).topics[0].partitions
    assert (unstable.error_code, unstable.committed_offset) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    assert await group.offsets(topic, (0,)) == {0: 3}
    assert await group.commit(topic, {0: 5}) == {0: "NONE"}
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    assert offsets_of(await group.fetch(topic, (0,), require_stable=True)) == {0: 5}, "the later record counts"


@everywhere
@pytest.mark.parametrize(("version", "error"), [(3, "INVALID_TXN_STATE"), (4, "TRANSACTION_ABORTABLE"), (5, "NONE")])
async def test_offsets_that_were_not_added(target: Target, version: int, error: str) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    producer = await new_producer(target, OLD)
    assert await producer.commit_offsets(group.group_id, topic, {0: 7}, version) == {0: error}


@everywhere
async def test_refused_offsets(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    producer = await new_producer(target)
    assert await producer.commit_offsets(group.group_id, topic, {7: 1}) == {7: "UNKNOWN_TOPIC_OR_PARTITION"}
    unknown = await producer.commit_offsets(group.group_id, topic, {0: 1}, generation_id=3, member_id="nobody")
    assert unknown == {0: "ILLEGAL_GENERATION"}
    assert await producer.commit_offsets("", topic, {0: 1}) == {0: "INVALID_GROUP_ID"}
    await group.commit(topic, {0: 3})
    stranger = await producer.commit_offsets(group.group_id, topic, {0: 1}, generation_id=3, member_id="nobody")
    assert stranger == {0: "UNKNOWN_MEMBER_ID"}


@everywhere
async def test_version_6_has_topic_ids(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    producer = await new_producer(target)
    assert await producer.commit_offsets(group.group_id, topic, {0: 7}, 6) == {0: "NONE"}
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    assert await group.offsets(topic, (0,)) == {0: 7}


@everywhere
@both_versions
async def test_offsets_of_a_topic_that_is_deleted_are_not_those_of_the_next_one(target: Target, version: int) -> None:
    topic, kept = await target.cluster.create_topic(1), await target.cluster.create_topic(1)
    group = await new_offsets(target)
    producer = await new_producer(target, version)
    if version == OLD:
        assert await producer.add_offsets(group.group_id) == "NONE"
    for each in (topic, kept):
        assert await producer.commit_offsets(group.group_id, each, {0: 7}) == {0: "NONE"}
    await target.cluster.delete_topic(topic)
    again = await target.cluster.create_topic(1, name=topic.name)
    await until(
        lambda: group.fetch(again, (0,), require_stable=True),
        lambda it: it.topics[0].partitions[0].error_code is ErrorCode.NONE,  # the transaction has no offset of it
    )
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    assert await group.offsets(again, (0,)) == {0: -1}
    assert await group.offsets(kept, (0,)) == {0: 7}


# ------------------------------------------------------------------------------------------- listing


@everywhere
async def test_filters_of_the_list(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    ongoing, idle = await new_producer(target), await new_producer(target)
    await begin(ongoing, topic, b"v")

    async def names(**filters: Any) -> set[str]:
        found = await idle.listed(**filters)
        assert found.error_code is ErrorCode.NONE
        both = {ongoing.transactional_id, idle.transactional_id}
        return {each.transactional_id for each in found.transaction_states} & both

    assert await names() == {ongoing.transactional_id, idle.transactional_id}
    assert await names(state_filters=("Ongoing",)) == {ongoing.transactional_id}
    assert await names(producer_id_filters=(idle.producer.producer_id,)) == {idle.transactional_id}
    assert await names(transactional_id_pattern=f"{ongoing.transactional_id[:-1]}.") >= {ongoing.transactional_id}
    assert await names(duration_filter=3_600_000, state_filters=("Ongoing",)) == set()
    odd = await idle.listed(state_filters=("Odd", "Empty"))
    assert odd.unknown_state_filters == ("Odd",)
    bad = await idle.listed(transactional_id_pattern="(")
    assert bad.error_code is ErrorCode.INVALID_REGULAR_EXPRESSION


# ------------------------------------------------------------------------------------------- markers


@everywhere
async def test_an_admin_aborts_a_hanging_transaction(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer = await new_producer(target)
    await begin(producer, topic, b"hanging")
    seen = (await reader.producers(topic))[producer.producer.producer_id]
    assert (seen.producer_epoch, seen.last_sequence, seen.current_txn_start_offset) == (0, 0, 0)
    assert await reader.write_marker(topic, producer.producer, committed=False) == "NONE"
    assert await reader.end_offset(topic, is_stable=True) == 2
    assert await reader.committed(topic) == []


@everywhere
async def test_markers_of_older_producers_and_coordinators_are_refused(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    producer = await new_producer(target)
    await begin(producer, topic, b"1")
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    await begin(producer, topic, b"2")
    now = producer.producer
    older = Producer(now.producer_id, now.epoch - 1)
    assert await reader.write_marker(topic, older, committed=True) == "INVALID_PRODUCER_EPOCH"
    assert await reader.write_marker(topic, now, committed=True, version=2) == "INVALID_PRODUCER_EPOCH"
    fenced = await reader.write_marker(topic, now, committed=True, coordinator_epoch=-1)
    assert fenced == "TRANSACTION_COORDINATOR_FENCED"
    following = Producer(now.producer_id, now.epoch + 1)
    assert await reader.write_marker(topic, following, committed=True, coordinator_epoch=9, version=2) == "NONE"
    repeated = await reader.write_marker(topic, following, committed=True, coordinator_epoch=9, version=2)
    assert repeated == "NONE"
    await reader.until_committed(topic, [b"1", b"2"])


@everywhere
async def test_a_marker_for_a_partition_that_does_not_exist(target: Target) -> None:
    topic, reader = await target.cluster.create_topic(1), TransactionReader(target.client())
    await target.cluster.delete_topic(topic)
    error = await reader.write_marker(topic, Producer(1, 0), committed=True)
    assert error == "UNKNOWN_TOPIC_OR_PARTITION"


@everywhere
async def test_a_topic_that_is_deleted_meanwhile_does_not_keep_a_transaction(target: Target) -> None:
    kept, deleted = await target.cluster.create_topic(1), await target.cluster.create_topic(1)
    reader = TransactionReader(target.client())
    producer = await new_producer(target)
    await begin(producer, kept, b"kept")
    await begin(producer, deleted, b"gone")
    await target.cluster.delete_topic(deleted)
    assert await producer.end(committed=True) == "NONE"
    assert await producer.until_ended() == "CompleteCommit"
    await reader.until_committed(kept, [b"kept"])
