"""Dead-letter queues of the brokers (KIP-1191): letters, state records and described offsets, on both brokers."""

from collections.abc import Mapping

import pytest

from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareStatePartition,
    InitializeShareStateTopic,
)
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareStatePartition,
    WriteShareStateTopic,
)
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.types import AcknowledgeType
from tests.support.conditions import until
from tests.support.dead_letter_world import ENABLED, TOPIC_NAME, Letter, QueueWorld, StateWrite, new_world
from tests.support.members.raw_member import Acknowledgement, acknowledge
from tests.support.targets import LOCK_MS, Target, everywhere

REJECT, RELEASE = AcknowledgeType.REJECT, AcknowledgeType.RELEASE
COPIES = {"errors.deadletterqueue.copy.record.enable": "true"}
LIMIT_2 = {"share.delivery.count.limit": "2"}
SHORT_LOCKS = {"share.record.lock.duration.ms": str(LOCK_MS)}
REJECTED, EXHAUSTED = b"Offset rejected by client.", b"Offset delivery count exceeded the threshold."


def small(max_bytes: int) -> Mapping[str, str]:
    """The configs of a queue that takes batches of this size."""
    return {**ENABLED, "max.message.bytes": str(max_bytes)}


def letter(
    world: QueueWorld, offset: int, *, count: int = 1, reason: bytes = REJECTED, key: bytes | None = None,
    value: bytes | None = None, partition: int = 0,
) -> Letter:  # fmt: skip
    return Letter(
        key,
        value,
        (
            ("__dlq.errors.topic", world.topic.name.encode()),
            ("__dlq.errors.partition", str(partition).encode()),
            ("__dlq.errors.offset", str(offset).encode()),
            ("__dlq.errors.group", world.group_id.encode()),
            ("__dlq.errors.delivery.count", str(count).encode()),
            ("__dlq.errors.message", reason),
        ),
    )


async def rejected(world: QueueWorld, *acknowledgements: Acknowledgement) -> None:
    """A member acquires what there is, and acknowledges."""
    member = await world.member()
    await member.fetch_until_acquired()
    await member.settle(*acknowledgements)


# ------------------------------------------------------------------------------------------------- letters


@everywhere
async def test_a_rejected_run_becomes_one_batch_of_letters(target: Target) -> None:
    world = await new_world(target, 3)
    await rejected(world, acknowledge(REJECT, 0, 2))
    [batch] = await world.batches(3)
    assert batch.letters == tuple(letter(world, offset) for offset in range(3))
    assert batch.size_bytes == 688
    assert (batch.attributes, batch.producer_id) == (0, -1)


@everywhere
async def test_state_3_is_stored_before_the_letters_and_state_4_after_them(target: Target) -> None:
    world = await new_world(target, 3)
    await rejected(world, acknowledge(REJECT, 0, 2))
    assert await world.until_writes(2) == [
        StateWrite(0, 0, ((0, 2, 3, 1),)),
        StateWrite(0, 3, ((0, 2, 4, 1),)),
    ]
    # The start offset is the one before the change, until there is another write.
    assert (await world.progress()).start_offset == 0
    assert (await world.progress()).lag == 0


@everywhere
async def test_accepted_and_released_records_have_no_letters(target: Target) -> None:
    world = await new_world(target, 5)
    await rejected(world, Acknowledgement(0, 4, (3, 1, 3, 3, 2)))
    letters = await world.letters(3)
    assert sorted(letters, key=lambda it: it.offset) == [letter(world, offset) for offset in (0, 2, 3)]
    writes = await until(world.writes, lambda it: sum(b[2] == 4 for w in it for b in w.batches) >= 2)
    assert writes[0] == StateWrite(0, 1, ((0, 0, 3, 1), (1, 1, 2, 1), (2, 3, 3, 1), (4, 4, 0, 1)))
    await target.cluster.until_lag(world.group_id, world.topic, 1)


@everywhere
async def test_gaps_have_no_letters(target: Target) -> None:
    world = await new_world(target, 3)
    await rejected(world, Acknowledgement(0, 2, (0, 0, 3)))
    assert await world.letters(1) == [letter(world, 2)]
    assert (await world.writes())[0] == StateWrite(0, 2, ((0, 1, 4, 1), (2, 2, 3, 1)))


@everywhere
async def test_one_acknowledgement_of_two_batches_is_one_run(target: Target) -> None:
    world = await new_world(target, 2)
    await target.cluster.produce(world.topic, [b"a", b"b"])
    member = await world.member()
    await member.fetch_until_acquired()
    await member.settle(acknowledge(REJECT, 0, 3))
    assert [batch.offsets for batch in await world.batches(4)] == [(0, 1, 2, 3)]


@everywhere
async def test_a_release_at_the_delivery_limit_makes_letters(target: Target) -> None:
    world = await new_world(target, 1, group=LIMIT_2)
    member = await world.member()
    for _ in range(2):
        await member.fetch_until_acquired()
        await member.settle(acknowledge(RELEASE, 0))
    assert await world.letters(1) == [letter(world, 0, count=2, reason=EXHAUSTED)]


@everywhere
async def test_the_end_of_a_session_at_the_delivery_limit_makes_letters(target: Target) -> None:
    world = await new_world(target, 1, group=LIMIT_2)
    for _ in range(2):
        member = await world.member()
        await member.fetch_until_acquired()
        await member.close_session()
        await member.leave()
    assert await world.letters(1) == [letter(world, 0, count=2, reason=EXHAUSTED)]


@pytest.mark.slow
@everywhere
async def test_locks_that_expire_at_the_delivery_limit_make_letters(target: Target) -> None:
    world = await new_world(target, 3, group={**LIMIT_2, **SHORT_LOCKS})
    member = await world.member()
    for count in (1, 2):
        acquired = await member.fetch_until_acquired()
        while acquired.count < 3:
            more = await member.fetch_until_acquired()
            acquired = type(acquired)((*acquired.runs, *more.runs), more.records, more.lock_timeout_ms)
        assert set(acquired.delivery_counts.values()) == {count}
        await target.pass_time(LOCK_MS)
    letters = sorted(await world.letters(3), key=lambda it: it.offset)
    assert letters == [letter(world, offset, count=2, reason=EXHAUSTED) for offset in range(3)]
    progress = await target.cluster.until_lag(world.group_id, world.topic, 0)
    assert progress.start_offset < 3


# -------------------------------------------------------------------------------------------------- copies


@everywhere
async def test_letters_copy_keys_and_values_but_not_headers(target: Target) -> None:
    world = await new_world(target, group=COPIES)
    with_headers = NewRecord(b"v0", b"k0", headers=[("h", b"x")])
    await target.cluster.produce(world.topic, [with_headers, NewRecord(None, b"k1"), NewRecord(b"v2")])
    await rejected(world, acknowledge(REJECT, 0, 2))
    [batch] = await world.batches(3)
    assert batch.letters == (
        letter(world, 0, key=b"k0", value=b"v0"),
        letter(world, 1, key=b"k1"),
        letter(world, 2, value=b"v2"),
    )
    assert batch.size_bytes == 696


@everywhere
async def test_records_that_are_deleted_have_letters_without_keys_and_values(target: Target) -> None:
    world = await new_world(target, [b"a"], group=COPIES)
    await target.cluster.produce(world.topic, [b"b"])
    await target.cluster.produce(world.topic, [b"c"])
    member = await world.member()
    await member.fetch_until_acquired()
    await target.cluster.delete_before(world.topic, 2)
    await member.settle(acknowledge(REJECT, 0, 2))
    assert sorted(await world.letters(3), key=lambda it: it.offset) == [letter(world, each) for each in range(3)]


@everywhere
async def test_a_record_that_is_larger_than_a_letter_may_be_is_not_copied(target: Target) -> None:
    world = await new_world(target, [b"a" * 100, b"b" * 2000, b"c" * 100], group=COPIES, queue=small(1_200))
    await rejected(world, acknowledge(REJECT, 0, 2))
    [batch] = await world.batches(3)
    assert [each.value for each in batch.letters] == [b"a" * 100, None, b"c" * 100]
    assert batch.size_bytes == 890


@everywhere
async def test_a_compressed_batch_that_is_larger_than_a_letter_may_be_is_not_copied(target: Target) -> None:
    world = await new_world(target, group=COPIES, queue=small(1_200))
    await target.cluster.produce(world.topic, [b"a" * 100] * 20, compression=Compression.GZIP)
    await rejected(world, acknowledge(REJECT, 0, 19))
    batches = await world.batches(20)
    assert {each.value for batch in batches for each in batch.letters} == {None}
    assert [(batch.size_bytes, len(batch.letters)) for batch in batches] == [(1106, 5), (1106, 5), (1111, 5), (1111, 5)]


@everywhere
async def test_letters_with_copies_are_divided_as_the_queue_demands(target: Target) -> None:
    world = await new_world(target, [b"a" * 100] * 20, group=COPIES, queue=small(1_200))
    await rejected(world, acknowledge(REJECT, 0, 19))
    batches = await world.batches(20)
    assert [len(batch.letters) for batch in batches] == [3, 3, 3, 3, 3, 3, 2]
    assert [batch.size_bytes for batch in batches] == [991, 991, 991, 993, 994, 994, 683]
    assert {each.value for batch in batches for each in batch.letters} == {b"a" * 100}


# ------------------------------------------------------------------------------------------------- queues


@everywhere
async def test_runs_are_divided_as_the_queue_demands(target: Target) -> None:
    world = await new_world(target, 10, queue=small(700))
    await rejected(world, acknowledge(REJECT, 0, 9))
    batches = await world.batches(10)
    assert [batch.offsets for batch in batches] == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9,)]
    assert await world.until_writes(2) == [StateWrite(0, 0, ((0, 9, 3, 1),)), StateWrite(0, 10, ((0, 9, 4, 1),))]


@everywhere
async def test_letters_of_a_partition_go_to_the_partition_modulo_those_of_the_queue(target: Target) -> None:
    world = await new_world(target, queue_partitions=2, partitions=3)
    for partition in range(3):
        await target.cluster.produce(world.topic, [b"v"], partition)
    member = await world.member()
    left = {0, 1, 2}
    while left:
        acquired = await member.fetch_until_acquired(partitions=(0, 1, 2))
        for run in acquired.runs:
            await member.settle(acknowledge(REJECT, run.first, run.last, run.partition))
            left.discard(run.partition)
    batches = await world.batches(3)
    found = {
        (batch.partition, dict(each.headers)["__dlq.errors.partition"]) for batch in batches for each in batch.letters
    }
    assert found == {(0, b"0"), (1, b"1"), (0, b"2")}


@everywhere
async def test_a_queue_that_refuses_stops_nothing(target: Target) -> None:
    refused = [
        await new_world(target, 2, queue=None),
        await new_world(target, 2, queue={}),
        await new_world(target, 2, queue_name=f"no-{target.kind}-{await target.new_group()}"),
        await new_world(target, 2, queue=None, queue_name="dlq.a b"),
        await new_world(target, 2, queue={**ENABLED, "cleanup.policy": "compact"}),
        await new_world(target, 2, queue=small(200)),
    ]
    for world in refused:
        await rejected(world, acknowledge(REJECT, 0, 1))
        assert await world.until_writes(2) == [StateWrite(0, 0, ((0, 1, 3, 1),)), StateWrite(0, 2, ((0, 1, 4, 1),))]
        await target.cluster.produce(world.topic, [b"next"])
        member = await world.member()
        assert (await member.fetch_until_acquired()).offsets == [2]


@everywhere
async def test_a_queue_that_is_unset_has_no_more_letters(target: Target) -> None:
    world = await new_world(target, 1)
    await target.cluster.set_group_config(world.group_id, {TOPIC_NAME: ""})
    await rejected(world, acknowledge(REJECT, 0))
    assert await world.until_writes(1) == [StateWrite(0, 1, ((0, 0, 4, 1),))]
    assert await world.batches_now() == []


@everywhere
async def test_names_of_queues_are_trimmed_and_internal_ones_refused(target: Target) -> None:
    group_id = await target.new_group()
    await target.cluster.alter_config(32, group_id, {TOPIC_NAME: "  dlq.x  "})
    assert (await target.cluster.group_config(group_id))[TOPIC_NAME] == "dlq.x"
    result = await target.cluster.alter_config(32, group_id, {TOPIC_NAME: "__x"})
    assert result.error_code.name == "INVALID_CONFIG"
    assert "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'" in (result.error_message or "")
    for accepted in ("a b", "x" * 250, "nosuch", ""):
        result = await target.cluster.alter_config(32, group_id, {TOPIC_NAME: accepted})
        assert result.error_code.name == "NONE", accepted


# ------------------------------------------------------------------------------------- a change of leader


@everywhere
async def test_a_new_leader_writes_letters_for_what_it_finds_in_state_3(target: Target) -> None:
    world = await new_world(target, 4)
    await store_state(world, (0, 1, 3, 1), (2, 2, 3, 5), (3, 3, 0, 1))
    member = await world.member()
    acquired = await member.fetch_until_acquired()
    assert acquired.offsets == [3]
    letters = sorted(await world.letters(3), key=lambda it: it.offset)
    assert letters == [letter(world, 0), letter(world, 1), letter(world, 2, count=5, reason=EXHAUSTED)]
    await member.settle(acknowledge(AcknowledgeType.ACCEPT, 3))
    await target.cluster.until_lag(world.group_id, world.topic, 0)


@everywhere
async def test_records_in_state_3_are_archived_without_letters_if_the_queue_is_unset(target: Target) -> None:
    world = await new_world(target, 2)
    await store_state(world, (0, 0, 3, 1))
    await target.cluster.set_group_config(world.group_id, {TOPIC_NAME: ""})
    member = await world.member()
    assert (await member.fetch_until_acquired()).offsets == [1]
    await member.settle(acknowledge(AcknowledgeType.ACCEPT, 1))
    await target.cluster.until_lag(world.group_id, world.topic, 0)
    assert await world.batches_now() == []


async def store_state(world: QueueWorld, *states: tuple[int, int, int, int]) -> None:
    """Store states of offsets, as a leader before would have: (first, last, state, delivery count)."""
    batches = tuple(
        StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
        for first, last, state, count in states
    )
    topic_id, epoch = world.topic.topic_id, 1_000  # newer than the one that the coordinator of the group has given
    fresh = InitializeShareStatePartition(partition=0, state_epoch=epoch, start_offset=0)
    written = WriteShareStatePartition(
        partition=0, state_epoch=epoch, leader_epoch=0, start_offset=0, delivery_complete_count=0, state_batches=batches
    )
    for request in (
        InitializeShareGroupStateRequest(
            group_id=world.group_id, topics=(InitializeShareStateTopic(topic_id=topic_id, partitions=(fresh,)),)
        ),
        WriteShareGroupStateRequest(
            group_id=world.group_id, topics=(WriteShareStateTopic(topic_id=topic_id, partitions=(written,)),)
        ),
    ):
        response = await world.target.client().ask(request)
        assert response.results[0].partitions[0].error_code is ErrorCode.NONE, response
