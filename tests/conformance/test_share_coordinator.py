"""What a share coordinator does with the state of a share-partition, and which records it writes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

import attrs
import pytest

from kafka_groups.protocol.coordinator_records.share_group_state import ShareSnapshotValue, ShareUpdateValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareStatePartition,
    DeleteShareStateTopic,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, UNKNOWN_COUNT, StateBatch
from tests.support.conditions import until
from tests.support.requests.share_coordinator import SharePartitionState, StateRecord
from tests.support.targets import Target, everywhere, on_kafka_with

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
UPDATES_PER_SNAPSHOT = 500
COLD = {"share.coordinator.cold.partition.snapshot.interval.ms": "1000"}


def batch(first: int, last: int, state: int = ACKNOWLEDGED, count: int = 1) -> StateBatch:
    return StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)


def snapshot(record: StateRecord) -> ShareSnapshotValue:
    assert isinstance(record, ShareSnapshotValue), record
    return record


def update(record: StateRecord) -> ShareUpdateValue:
    assert isinstance(record, ShareUpdateValue), record
    return record


# --------------------------------------------------------------------------------------- initialisation


@everywhere
@pytest.mark.parametrize(
    ("start_offset", "count"), [(UNINITIALIZED_OFFSET, UNKNOWN_COUNT), (0, 0), (7, 0)], ids=["unresolved", "0", "7"]
)
async def test_initialising_writes_a_snapshot(target: Target, start_offset: int, count: int) -> None:
    state = await SharePartitionState.initialized(target, 3, start_offset)

    [record] = await state.records()
    written = snapshot(record)
    assert (written.snapshot_epoch, written.state_epoch, written.leader_epoch) == (0, 3, 0)
    assert (written.start_offset, written.delivery_complete_count) == (start_offset, count)
    assert written.state_batches == ()
    assert written.create_timestamp_ms == written.write_timestamp_ms > 0


@everywhere
async def test_initialising_again_starts_afresh_even_at_the_same_state_epoch(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)
    await state.put(batch(5, 9), start_offset=5, count=5)

    assert await state.initialize(1, 5) is ErrorCode.NONE
    assert (await state.read()).state_batches == ()
    assert await state.initialize(2, 6) is ErrorCode.NONE
    assert await state.initialize(1, 7) is ErrorCode.FENCED_STATE_EPOCH

    _, _, same, newer = await state.records()
    assert (snapshot(same).snapshot_epoch, snapshot(same).state_epoch, snapshot(same).start_offset) == (1, 1, 5)
    assert (snapshot(newer).snapshot_epoch, snapshot(newer).state_epoch, snapshot(newer).start_offset) == (2, 2, 6)


@everywhere
async def test_state_that_was_not_initialised_can_be_summarised_only(target: Target) -> None:
    state = await SharePartitionState.of_new_group(target)

    assert (await state.read()).error_code is ErrorCode.INVALID_REQUEST
    assert await state.write(batch(0, 0), start_offset=0) is ErrorCode.INVALID_REQUEST
    assert (await state.summary()).error_code is ErrorCode.NONE
    assert (await state.summary()).start_offset == UNINITIALIZED_OFFSET
    assert await state.delete() is ErrorCode.NONE
    assert await state.records() == []


# -------------------------------------------------------------------------------------------------- writes


@everywhere
async def test_a_write_becomes_an_update_with_what_changed(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)

    assert await state.write(batch(5, 6), batch(7, 7, AVAILABLE), start_offset=5, count=2) is ErrorCode.NONE

    assert await state.records(last=1) == [
        ShareUpdateValue(
            snapshot_epoch=0,
            leader_epoch=0,
            start_offset=5,
            delivery_complete_count=2,
            state_batches=(batch(5, 6), batch(7, 7, AVAILABLE)),
        )
    ]


@everywhere
@pytest.mark.parametrize(
    ("start_offset", "count", "recorded"),
    [
        (40, 1, (40, 1)),
        (40, UNKNOWN_COUNT, (40, UNKNOWN_COUNT)),
        (30, 8, (30, 8)),
        (30, 2, (30, 3)),
        (20, 8, (30, 3)),
        (UNINITIALIZED_OFFSET, 8, (30, 3)),
    ],
    ids=["later", "later-unknown", "same-more", "same-fewer", "earlier", "unchanged"],
)
async def test_start_offset_and_count_never_go_back(
    target: Target, start_offset: int, count: int, recorded: tuple[int, int]
) -> None:
    state = await SharePartitionState.initialized(target, 1, 30)
    await state.put(start_offset=30, count=3)

    assert await state.write(start_offset=start_offset, count=count) is ErrorCode.NONE

    [record] = await state.records(last=1)
    assert (update(record).start_offset, update(record).delivery_complete_count) == recorded
    summary = await state.summary()
    assert (summary.start_offset, summary.delivery_complete_count) == recorded


@everywhere
async def test_offsets_merge_by_delivery_count_and_then_by_state(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 0)
    await state.put(batch(0, 9, AVAILABLE, 3), start_offset=0, count=0)
    for later in (batch(2, 3, ACKNOWLEDGED, 1), batch(4, 5, AVAILABLE, 4), batch(6, 6, ARCHIVED, 3)):
        await state.put(later)

    assert (await state.read()).state_batches == (
        batch(0, 3, AVAILABLE, 3), batch(4, 5, AVAILABLE, 4), batch(6, 6, ARCHIVED, 3), batch(7, 9, AVAILABLE, 3)
    )  # fmt: skip
    await state.put(start_offset=5, count=0)
    assert (await state.read()).state_batches[0] == batch(5, 5, AVAILABLE, 4)


# ---------------------------------------------------------------------------------- what does not exist


async def codes_of(state: SharePartitionState) -> dict[str, ErrorCode]:
    """The answers to all questions."""
    return {
        "initialize": await state.initialize(1, 5),
        "read": (await state.read()).error_code,
        "write": await state.write(batch(5, 5)),
        "summary": (await state.summary()).error_code,
        "delete": await state.delete(),
    }


@everywhere
@pytest.mark.parametrize("of", [{"topic_id": UUID(int=99)}, {"partition": 7}], ids=["topic", "partition"])
async def test_a_partition_that_does_not_exist(target: Target, of: dict[str, Any]) -> None:
    state = attrs.evolve(await SharePartitionState.initialized(target, 1, 5), **of)

    assert await codes_of(state) == {
        "initialize": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "read": ErrorCode.INVALID_REQUEST,
        "write": ErrorCode.INVALID_REQUEST,
        "summary": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "delete": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


@everywhere
async def test_a_negative_partition(target: Target) -> None:
    state = attrs.evolve(await SharePartitionState.initialized(target, 1, 5), partition=-1)

    assert set((await codes_of(state)).values()) == {ErrorCode.INVALID_REQUEST}


@everywhere
async def test_without_a_group_id_nothing_is_done(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)
    topics = (DeleteShareStateTopic(topic_id=state.topic_id, partitions=(DeleteShareStatePartition(partition=0),)),)

    response = await state.client.ask(DeleteShareGroupStateRequest(group_id="", topics=topics))

    assert response.results == ()


# -------------------------------------------------------------------------------------------------- epochs


@everywhere
async def test_a_read_with_a_newer_leader_epoch_fences_older_leaders_by_a_record(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)
    await state.put(batch(6, 6), start_offset=5, count=1)

    await state.read(0)
    await state.summary(9)
    assert len(await state.records()) == 2
    assert (await state.read(3)).state_batches == (batch(6, 6),)

    [record] = await state.records(last=1)
    assert record == ShareUpdateValue(snapshot_epoch=0, leader_epoch=3, start_offset=5, delivery_complete_count=1)
    assert (await state.read(2)).error_code is ErrorCode.FENCED_LEADER_EPOCH
    assert (await state.summary(2)).error_code is ErrorCode.NONE
    assert await state.write(batch(7, 7), leader_epoch=2) is ErrorCode.FENCED_LEADER_EPOCH
    assert (await state.summary()).leader_epoch == 3
    assert len(await state.records()) == 3


@everywhere
async def test_a_write_with_a_newer_leader_epoch_fences_nobody(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)

    assert await state.write(batch(6, 6), leader_epoch=4) is ErrorCode.NONE
    assert await state.write(batch(7, 7), leader_epoch=0) is ErrorCode.NONE

    assert [update(record).leader_epoch for record in await state.records(last=2)] == [0, 0]


@everywhere
async def test_a_write_with_an_older_state_epoch_is_fenced_and_a_newer_one_is_not_recorded(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 3, 5)

    assert await state.write(batch(6, 6), state_epoch=2) is ErrorCode.FENCED_STATE_EPOCH
    assert await state.write(batch(6, 6), state_epoch=4) is ErrorCode.NONE

    assert (await state.summary()).state_epoch == 3


@everywhere
async def test_the_fence_of_a_leader_outlives_an_initialisation_that_records_epoch_0(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)
    await state.read(3)

    await state.initialize(2, 5)

    assert snapshot((await state.records())[-1]).leader_epoch == 0
    assert await state.write(batch(6, 6), state_epoch=2, leader_epoch=2) is ErrorCode.FENCED_LEADER_EPOCH


# ----------------------------------------------------------------------------------- deletion and snapshots


@everywhere
async def test_deletion_writes_a_tombstone_and_snapshots_count_from_0_again(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)
    await state.initialize(2, 5)

    assert await state.delete() is ErrorCode.NONE
    assert (await state.read()).error_code is ErrorCode.INVALID_REQUEST
    assert await state.initialize(1, 6) is ErrorCode.NONE

    _, before, tombstone, after = await state.records()
    assert tombstone is None
    assert (snapshot(before).snapshot_epoch, snapshot(after).snapshot_epoch) == (1, 0)


@everywhere
async def test_after_500_updates_a_write_becomes_a_snapshot(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 0)
    for number in range(UPDATES_PER_SNAPSHOT):
        await state.put(batch(number, number), start_offset=0, count=number + 1)

    await state.put(batch(1000, 1000), start_offset=0, count=501)
    await state.put(batch(1001, 1001), start_offset=0, count=502)

    records = await state.records()
    assert _kinds(records) == "S" + "u" * UPDATES_PER_SNAPSHOT + "Su"
    first, whole = snapshot(records[0]), snapshot(records[-2])
    assert (whole.snapshot_epoch, update(records[-1]).snapshot_epoch) == (1, 1)
    assert whole.state_batches == (batch(0, UPDATES_PER_SNAPSHOT - 1), batch(1000, 1000))
    assert whole.create_timestamp_ms == whole.write_timestamp_ms > first.create_timestamp_ms


@everywhere
async def test_initialising_does_not_begin_a_new_count_of_updates(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 0)
    for _ in range(UPDATES_PER_SNAPSHOT - 1):
        await state.put(start_offset=0)

    await state.initialize(1, 0)
    await state.put(start_offset=0)
    await state.put(start_offset=0)

    assert _kinds(await state.records(last=4)) == "uSuS"


@pytest.mark.slow
@on_kafka_with(COLD)
async def test_cold_share_partitions_get_snapshots_with_the_time_of_their_creation(target: Target) -> None:
    state = await SharePartitionState.initialized(target, 1, 5)
    await state.put(batch(6, 6), start_offset=5, count=1)
    await until(state.records, lambda it: len(it) == 3)
    await SharePartitionState.initialized(target, 1, 0)  # nothing more is written while all share-partitions are cold
    records = await until(state.records, lambda it: len(it) == 4)

    assert _kinds(records) == "SuSS"
    first, cold, colder = (snapshot(records[index]) for index in (0, 2, 3))
    assert cold.state_batches == colder.state_batches == (batch(6, 6),)
    assert [each.snapshot_epoch for each in (first, cold, colder)] == [0, 1, 2]
    assert first.create_timestamp_ms == cold.create_timestamp_ms == colder.create_timestamp_ms
    for earlier, later in pairwise((first, cold, colder)):
        assert later.write_timestamp_ms >= earlier.write_timestamp_ms + 1_000


def _kinds(records: Sequence[StateRecord]) -> str:
    """S for each snapshot, u for each update."""
    return "".join("S" if isinstance(record, ShareSnapshotValue) else "u" for record in records)
