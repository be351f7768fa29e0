"""Records that a real Kafka wrote to its internal topics: we read in them what happened, and write the same bytes.

What the steps show of Kafka 4.4 (with a snapshot after 5 updates, instead of 500):

| Step | Records |
| --- | --- |
| a member joins | member, group epoch, target assignment, current assignment; the topic is being initialised |
| state is initialised | one snapshot for each partition, whose state epoch is the group's; the topic is initialised |
| acknowledgement | an update with the changed offsets, and the start offset *before* the change |
| `delivery_complete_count` | offsets from the record's start offset on that are done, after the change |
| end of a session, or of a lock | an update with the new delivery count |
| read with the same leader epoch | nothing |
| read with a newer leader epoch | an update without offsets |
| after five updates | a snapshot in place of the sixth |
| dead letters | an update with state 3 (being archived), then one with state 4 |
| the last member leaves | the group's metadata hash and the time of its assignment are 0 |
| offsets are altered | the state is initialised again: a snapshot with the group's epoch as state epoch |
| offsets, topic or group are deleted | a tombstone with the key of a snapshot; updates have no tombstones |
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import pytest

from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.offsets import (
    ClassicGroupMetadata,
    GroupMetadataValue,
    OffsetCommit,
    OffsetCommitValue,
)
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord
from kafka_groups.protocol.coordinator_records.share_group import (
    SHARE_GROUP_RECORDS,
    ShareGroupTargetAssignmentMember,
    ShareGroupTargetAssignmentMemberValue,
)
from kafka_groups.protocol.coordinator_records.share_group_state import (
    SHARE_GROUP_STATE,
    ShareSnapshotValue,
    ShareUpdate,
)
from tests.recording.golden_meanings import (
    UNRESOLVED,
    batch,
    content,
    current,
    deleted,
    group_epoch,
    joined,
    left,
    member,
    share_partition,
    snapshot,
    states,
    target,
    target_epoch,
    update,
)
from tests.recording.golden_records import (
    CLASSIC_CLIENT,
    CLASSIC_GROUP,
    DEAD_LETTER_GROUP,
    MEMBER_A,
    MEMBER_B,
    MEMBER_C,
    NEWER_LEADER_EPOCH,
    TOPIC_A,
    TOPIC_B,
    TOPIC_C,
    GoldenRecord,
    load_records,
)
from tests.support.broker.coordinator_records import tombstone

GOLDEN = load_records()
AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED = 0, 2, 3, 4
NO_HASH = NO_TIME_MS = 0

every_record = pytest.mark.parametrize(
    "record", GOLDEN.records, ids=lambda record: f"{record.stored.topic}-{record.stored.offset}"
)


def _partition_of_the_second_member() -> int:
    """Which of the two partitions it gets depends on the ids of the capture."""
    key = ShareGroupTargetAssignmentMember[Any]("golden-group", MEMBER_B)
    records = (record.stored.decode() for record in GOLDEN.records)
    value = next(record.value for record in records if tombstone(record) == key)
    assert isinstance(value, ShareGroupTargetAssignmentMemberValue)
    return value.topic_partitions[0].partitions[0]


SECONDS = _partition_of_the_second_member()
A0, A1 = share_partition(TOPIC_A, 0), share_partition(TOPIC_A, 1)
B0, C0 = share_partition(TOPIC_B, 0), share_partition(TOPIC_C, 0, DEAD_LETTER_GROUP)
OF_A, OF_B = {TOPIC_A: (0, 1)}, {TOPIC_B: (0,)}
EXPECTED: Mapping[str, list[CoordinatorRecord]] = {
    "join": joined(MEMBER_A, TOPIC_A, (0, 1)),
    "second member joins": [
        member(MEMBER_B, TOPIC_A),
        group_epoch(3),
        target(MEMBER_A, {TOPIC_A: (1 - SECONDS,)}),
        target(MEMBER_B, {TOPIC_A: (SECONDS,)}),
        target_epoch(3),
        current(MEMBER_B, (3, 0), {TOPIC_A: (SECONDS,)}),
    ],
    "first member learns of it": [current(MEMBER_A, (3, 2), {TOPIC_A: (1 - SECONDS,)})],
    "second member leaves": [*left(MEMBER_B), group_epoch(4)],
    "subscription changes": [
        member(MEMBER_A, TOPIC_A, TOPIC_B),
        group_epoch(5),
        target(MEMBER_A, OF_A),
        target_epoch(5),
        current(MEMBER_A, (5, 3), OF_A),
        states(OF_B, OF_A),
        states({}, {**OF_A, **OF_B}),
        snapshot(B0, (0, 5, 0), UNRESOLVED),
    ],
    "new topic is assigned": [
        group_epoch(6),
        target(MEMBER_A, {**OF_A, **OF_B}),
        target_epoch(6),
        current(MEMBER_A, (6, 5), {**OF_A, **OF_B}),
    ],
    "acknowledge": [
        update(A0, 0, (0, 4), batch(0, 2, ACKNOWLEDGED, 1), batch(3, 3, AVAILABLE, 1), batch(4, 4, ARCHIVED, 1))
    ],
    "close session without locks": [],
    "close session": [update(A0, 0, (3, 1), batch(3, 3, AVAILABLE, 2))],
    "lock expires": [update(A0, 0, (3, 1), batch(3, 3, AVAILABLE, 3))],
    "read": [],
    "read with a newer leader epoch": [update(A0, NEWER_LEADER_EPOCH, (3, 1))],
    "fifth update": [update(A0, NEWER_LEADER_EPOCH + 1, (3, 1))],
    "snapshot instead of a sixth update": [
        snapshot(A0, (1, 2, NEWER_LEADER_EPOCH + 2), (3, 1), batch(3, 3, AVAILABLE, 3), batch(4, 4, ARCHIVED, 1))
    ],
    "join with dead letters": joined(MEMBER_C, TOPIC_C, (0,), DEAD_LETTER_GROUP),
    "assigned with dead letters": [
        group_epoch(3, group=DEAD_LETTER_GROUP),
        target(MEMBER_C, {TOPIC_C: (0,)}, DEAD_LETTER_GROUP),
        target_epoch(3, group=DEAD_LETTER_GROUP),
        current(MEMBER_C, (3, 2), {TOPIC_C: (0,)}, DEAD_LETTER_GROUP),
    ],
    "reject with dead letters": [
        update(C0, 0, (0, 1), batch(0, 0, ACKNOWLEDGED, 1), batch(1, 1, ARCHIVING, 1)),
        update(C0, 0, (1, 1), batch(1, 1, ARCHIVED, 1)),
    ],
    "leave with dead letters": [
        *left(MEMBER_C, DEAD_LETTER_GROUP),
        group_epoch(4, metadata_hash=NO_HASH, group=DEAD_LETTER_GROUP),
        target_epoch(4, time_ms=NO_TIME_MS, group=DEAD_LETTER_GROUP),
    ],
    "delete group with state": [
        states({}, {}, [TOPIC_C], DEAD_LETTER_GROUP),
        *deleted(DEAD_LETTER_GROUP),
        C0,
    ],
    "last member leaves": [
        *left(MEMBER_A),
        group_epoch(7, metadata_hash=NO_HASH),
        target_epoch(7, time_ms=NO_TIME_MS),
    ],
    "alter offsets": [
        states({TOPIC_A: (0,)}, {**OF_A, **OF_B}),
        states({}, {**OF_A, **OF_B}),
        snapshot(A0, (2, 7, 0), (7, 0)),
    ],
    "delete offsets": [states({}, OF_A, [TOPIC_B]), states({}, OF_A), B0],
    "delete topic": [states({}, {}), A0, A1],
    "delete group": [states({}, {}), *deleted()],
}
"""Step → records of `__consumer_offsets`, then of `__share_group_state`."""


CLASSIC_STEPS = ("classic member joins", "classic member commits", "classic member leaves", "delete classic group")


@every_record
def test_our_record_becomes_the_same_bytes(record: GoldenRecord) -> None:
    stored = record.stored

    assert stored.table.encode(stored.decode()) == (stored.key, stored.value)


@pytest.mark.parametrize("step", EXPECTED)
def test_the_records_of_a_step_say_what_happened(step: str) -> None:
    found = [content(record.stored.decode()) for record in GOLDEN.records if record.step == step]

    assert _runs(found) == _runs(EXPECTED[step])


def _runs(records: Iterable[CoordinatorRecord]) -> list[list[CoordinatorRecord]]:
    """Runs of one type, sorted: the order of members and partitions differs from capture to capture."""
    return [sorted(run, key=repr) for _, run in groupby(records, key=type)]


def _classic(step: str) -> list[CoordinatorRecord]:
    return [record.stored.decode() for record in GOLDEN.records if record.step == step]


def test_a_classic_group_and_its_members() -> None:
    joined_group, left_group = _classic(CLASSIC_STEPS[0])[-1], _classic(CLASSIC_STEPS[2])[-1]
    joined_value, left_value = joined_group.value, left_group.value

    assert tombstone(joined_group) == tombstone(left_group) == ClassicGroupMetadata(CLASSIC_GROUP)
    assert isinstance(joined_value, GroupMetadataValue)
    assert isinstance(left_value, GroupMetadataValue)
    [only] = joined_value.members
    assert (joined_value.protocol_type, joined_value.generation, joined_value.protocol) == ("consumer", 1, "range")
    assert joined_value.leader == only.member_id
    assert only.member_id.startswith(CLASSIC_CLIENT)
    assert (only.group_instance_id, only.client_id, only.client_host) == (None, CLASSIC_CLIENT, "/127.0.0.1")
    assert (only.rebalance_timeout_ms, only.session_timeout_ms) == (300_000, 45_000)
    assert TOPIC_C.encode() in only.subscription
    assert TOPIC_C.encode() in only.assignment
    assert left_value == GroupMetadataValue(
        protocol_type="consumer",
        generation=2,
        protocol=None,
        leader=None,
        current_state_timestamp_ms=left_value.current_state_timestamp_ms,
    )
    assert left_value.current_state_timestamp_ms > joined_value.current_state_timestamp_ms > 0


def test_a_committed_offset() -> None:
    [record] = _classic(CLASSIC_STEPS[1])
    stored = next(each.stored for each in GOLDEN.records if each.step == CLASSIC_STEPS[1])

    assert tombstone(record) == OffsetCommit(CLASSIC_GROUP, TOPIC_C, 0)
    assert isinstance(record.value, OffsetCommitValue)
    assert record.value == OffsetCommitValue(
        offset=1,
        leader_epoch=0,
        metadata="",
        commit_timestamp_ms=record.value.commit_timestamp_ms,
        topic_id=GOLDEN.topic_ids[TOPIC_C],
    )
    assert 0 <= stored.timestamp_ms - record.value.commit_timestamp_ms < 1_000
    assert stored.value is not None
    assert stored.value[:2] == b"\x00\x04"


def test_a_deleted_classic_group_leaves_tombstones() -> None:
    assert _classic(CLASSIC_STEPS[3]) == [
        OffsetCommit(CLASSIC_GROUP, TOPIC_C, 0),
        ClassicGroupMetadata(CLASSIC_GROUP),
    ]


def test_every_type_of_share_groups_was_captured_with_values_and_tombstones() -> None:
    decoded = [record.stored.decode() for record in GOLDEN.records]
    types = (*SHARE_GROUP_RECORDS, *SHARE_GROUP_STATE.types)
    classes = {record_type.record_class for record_type in types}

    assert {type(record) for record in decoded if record.value is not None} >= classes
    assert {type(record) for record in decoded if record.value is None} >= classes - {ShareUpdate}
    assert not any(type(record) is ShareUpdate for record in decoded if record.value is None)


def test_all_records_of_all_steps_were_captured() -> None:
    assert GOLDEN.broker == "Apache Kafka 4.4.0"
    assert GOLDEN.steps == (*EXPECTED, *CLASSIC_STEPS)
    for topic in {record.stored.topic for record in GOLDEN.records}:
        offsets = [record.stored.offset for record in GOLDEN.records if record.stored.topic == topic]
        assert offsets == list(range(len(offsets)))


def test_times_are_those_of_the_writing() -> None:
    for record in GOLDEN.records:
        value = record.stored.decode().value
        if isinstance(value, ShareSnapshotValue):
            assert value.create_timestamp_ms == value.write_timestamp_ms
            assert 0 <= record.stored.timestamp_ms - value.write_timestamp_ms < 1_000
        if isinstance(value, TargetEpoch) and value.assignment_timestamp_ms:
            assert 0 <= record.stored.timestamp_ms - value.assignment_timestamp_ms < 1_000
