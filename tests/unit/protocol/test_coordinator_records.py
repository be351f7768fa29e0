"""Records of internal topics: their bytes, tombstones, and what is unknown or broken."""

import pickle
from typing import Any
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.errors import MalformedRecordError, ProtocolError, UnknownRecordTypeError
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch
from kafka_groups.protocol.coordinator_records.offsets import (
    ClassicGroupMetadata,
    GroupMetadataValue,
    OffsetCommit,
    OffsetCommitValue,
)
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord, RecordTable
from kafka_groups.protocol.coordinator_records.share_group import (
    AssignedTopic,
    ShareGroupCurrentMemberAssignment,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadata,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadata,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.coordinator_records.share_group_state import (
    SHARE_GROUP_STATE,
    ShareSnapshot,
    ShareSnapshotValue,
    ShareUpdate,
    ShareUpdateValue,
)
from kafka_groups.protocol.messages.share_state import StateBatch
from tests.support.broker.coordinator_records import with_value

TOPIC_ID = UUID("01234567-89ab-cdef-0123-456789abcdef")
TOPIC_ID_HEX = "01234567 89abcdef 01234567 89abcdef"
UPDATE_KEY_BYTES = bytes.fromhex(f"0001 000167 {TOPIC_ID_HEX} 00000003")
UPDATE = ShareUpdateValue(
    snapshot_epoch=1,
    leader_epoch=2,
    start_offset=5,
    delivery_complete_count=4,
    state_batches=(StateBatch(first_offset=6, last_offset=9, delivery_state=2, delivery_count=1),),
)
UPDATED = ShareUpdate("g", TOPIC_ID, 3, UPDATE)
UPDATE_START = bytes.fromhex("0000 00000001 00000002 0000000000000005")
UPDATE_BATCHES = bytes.fromhex("02 0000000000000006 0000000000000009 02 0001 00")
UPDATE_COUNT = bytes.fromhex("00 04 00000004")
UPDATE_BYTES = UPDATE_START + UPDATE_BATCHES + b"\x01" + UPDATE_COUNT


def encoded(table: RecordTable[Any], written: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """The bytes, from which the same record is read."""
    key, value = table.encode(written)
    assert table.decode(key, value) == written
    return key, value


def test_key_and_value_start_with_type_and_version() -> None:
    assert encoded(SHARE_GROUP_STATE, UPDATED) == (UPDATE_KEY_BYTES, UPDATE_BYTES)


def test_a_snapshot_has_both_times_and_leaves_out_an_unknown_count() -> None:
    value = ShareSnapshotValue(
        snapshot_epoch=1, state_epoch=2, leader_epoch=3, start_offset=-1, create_timestamp_ms=4, write_timestamp_ms=5
    )

    assert encoded(SHARE_GROUP_STATE, ShareSnapshot("", TOPIC_ID, 0, value)) == (
        bytes.fromhex(f"0000 0000 {TOPIC_ID_HEX} 00000000"),
        bytes.fromhex("0000 00000001 00000002 00000003 ffffffffffffffff 0000000000000004 0000000000000005 01 00"),
    )


def test_records_of_a_group_and_a_member() -> None:
    group = ShareGroupMetadata("g", ShareGroupMetadataValue(epoch=7, metadata_hash=-2))
    member = ShareGroupCurrentMemberAssignment(
        "g",
        "m",
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=3,
            previous_member_epoch=2,
            state=0,
            assigned_partitions=(AssignedTopic(topic_id=TOPIC_ID, partitions=(0, 2)),),
        ),
    )

    assert encoded(CONSUMER_OFFSETS, group) == (
        bytes.fromhex("000b 000167"),
        bytes.fromhex("0000 00000007 fffffffffffffffe 00"),
    )
    assert encoded(CONSUMER_OFFSETS, member) == (
        bytes.fromhex("000e 000167 00016d"),
        bytes.fromhex(f"0000 00000003 00000002 00 02 {TOPIC_ID_HEX} 03 00000000 00000002 00 00"),
    )


@pytest.mark.parametrize(("rack_id", "written"), [(None, "00"), ("", "01"), ("r", "0272")])
def test_a_member_may_have_no_rack(rack_id: str | None, written: str) -> None:
    member = ShareGroupMemberMetadata(
        "g",
        "m",
        ShareGroupMemberMetadataValue(rack_id=rack_id, client_id="c", client_host="/h", subscribed_topic_names=("t",)),
    )

    assert encoded(CONSUMER_OFFSETS, member) == (
        bytes.fromhex("000a 000167 00016d"),
        bytes.fromhex(f"0000 {written} 0263 032f68 02 0274 00"),
    )


def test_the_time_of_an_assignment_is_written_if_it_is_known() -> None:
    unknown = ShareGroupTargetAssignmentMetadata("g", TargetEpoch(assignment_epoch=1))
    known = ShareGroupTargetAssignmentMetadata("g", TargetEpoch(assignment_epoch=1, assignment_timestamp_ms=258))

    assert encoded(CONSUMER_OFFSETS, unknown)[1] == bytes.fromhex("0000 00000001 00")
    assert encoded(CONSUMER_OFFSETS, known)[1] == bytes.fromhex("0000 00000001 01 00 08 0000000000000102")


@pytest.mark.parametrize("table", [CONSUMER_OFFSETS, SHARE_GROUP_STATE], ids=lambda table: table.topic)
def test_the_types_of_a_topic_are_kafkas(table: RecordTable[Any]) -> None:
    numbers = [(each.number, each.record_class.__name__, each.value_class.__name__) for each in table.types]
    share_state = [(0, "ShareSnapshot"), (1, "ShareUpdate")]
    groups = [
        (0, "LegacyOffsetCommit"),
        (1, "OffsetCommit"),
        (2, "ClassicGroupMetadata"),
        (3, "ConsumerGroupMetadata"),
        (4, "ConsumerGroupPartitionMetadata"),
        (5, "ConsumerGroupMemberMetadata"),
        (6, "ConsumerGroupTargetAssignmentMetadata"),
        (7, "ConsumerGroupTargetAssignmentMember"),
        (8, "ConsumerGroupCurrentMemberAssignment"),
        (16, "ConsumerGroupRegularExpression"),
        (10, "ShareGroupMemberMetadata"),
        (11, "ShareGroupMetadata"),
        (12, "ShareGroupTargetAssignmentMetadata"),
        (13, "ShareGroupTargetAssignmentMember"),
        (14, "ShareGroupCurrentMemberAssignment"),
        (15, "ShareGroupStatePartitionMetadata"),
        (17, "StreamsGroupMetadata"),
        (19, "StreamsGroupMemberMetadata"),
        (20, "StreamsGroupTargetAssignmentMetadata"),
        (21, "StreamsGroupTargetAssignmentMember"),
        (22, "StreamsGroupCurrentMemberAssignment"),
        (23, "StreamsGroupTopology"),
    ]
    expected = share_state if table is SHARE_GROUP_STATE else groups

    shared = {"LegacyOffsetCommit": "OffsetCommitValue", "ClassicGroupMetadata": "GroupMetadataValue"}
    shared |= {f"{kind}GroupTargetAssignmentMetadata": "TargetEpoch" for kind in ("Consumer", "Share", "Streams")}
    assert numbers == [(number, name, shared.get(name, f"{name}Value")) for number, name in expected]


OFFSET = OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp_ms=7)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (OFFSET, "0004 0000000000000005 00000002 026d 0000000000000007 00"),
        (
            evolve(OFFSET, topic_id=TOPIC_ID),
            f"0004 0000000000000005 00000002 026d 0000000000000007 01 00 10 {TOPIC_ID_HEX}",
        ),
        (
            evolve(OFFSET, expire_timestamp_ms=9, leader_epoch=-1),
            "0001 0000000000000005 00016d 0000000000000007 0000000000000009",
        ),
    ],
    ids=["newest", "topic-id", "expires"],
)
def test_an_offset_is_written_in_the_version_that_kafka_chooses(value: OffsetCommitValue, written: str) -> None:
    assert encoded(CONSUMER_OFFSETS, OffsetCommit("g", "t", 1, value)) == (
        bytes.fromhex("0001 000167 000174 00000001"),
        bytes.fromhex(written),
    )


def test_a_classic_group_is_written_in_version_3() -> None:
    value = GroupMetadataValue(protocol_type="consumer", generation=1, protocol=None, leader=None)

    assert encoded(CONSUMER_OFFSETS, ClassicGroupMetadata("g", value)) == (
        bytes.fromhex("0002 000167"),
        b"\x00\x03" + b"\x00\x08consumer" + bytes.fromhex("00000001 ffff ffff ffffffffffffffff 00000000"),
    )


# ------------------------------------------------------------------------------------------ tombstones


def test_a_tombstone_has_a_key_and_no_value() -> None:
    tombstone = ShareGroupMemberMetadata("g", "m")

    assert encoded(CONSUMER_OFFSETS, tombstone) == (bytes.fromhex("000a 000167 00016d"), None)


# ------------------------------------------------------------------------------- unknown and broken bytes


def test_an_unknown_type_is_told_apart_from_broken_bytes() -> None:
    with pytest.raises(UnknownRecordTypeError, match=r"Unknown record type 99 in __share_group_state\.") as caught:
        SHARE_GROUP_STATE.decode(b"\x00\x63anything", b"anything")

    assert (caught.value.topic, caught.value.record_type) == ("__share_group_state", 99)
    assert not isinstance(caught.value, MalformedRecordError)
    assert pickle.loads(pickle.dumps(caught.value)).record_type == 99


def test_an_unknown_type_is_no_error_of_its_value() -> None:
    with pytest.raises(UnknownRecordTypeError, match="type 24 in __consumer_offsets"):
        CONSUMER_OFFSETS.decode(b"\x00\x18", None)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (b"", b"", "A key of 0 byte.* in __share_group_state is too short"),
        (b"\x00", b"", "A key of 1 byte"),
        (UPDATE_KEY_BYTES, b"", "A value of 0 byte.* in ShareUpdateValue is too short"),
        (UPDATE_KEY_BYTES, b"\x00\x01" + UPDATE_BYTES[2:], "Unknown version 1 of ShareUpdateValue. Known versions: 0"),
        (UPDATE_KEY_BYTES, b"\xff\xff" + UPDATE_BYTES[2:], "Unknown version -1 of ShareUpdateValue"),
        (UPDATE_KEY_BYTES[:-1], UPDATE_BYTES, "Invalid ShareUpdateKey: The message announces 1 more"),
        (UPDATE_KEY_BYTES + b"\x00", UPDATE_BYTES, "Invalid ShareUpdateKey: Unexpected 1 byte"),
        (UPDATE_KEY_BYTES, UPDATE_BYTES[:-1], "Invalid ShareUpdateValue"),
        (UPDATE_KEY_BYTES, UPDATE_BYTES + b"\x00", "Invalid ShareUpdateValue: Unexpected 1 byte"),
        (bytes.fromhex(f"0001 7fff67 {TOPIC_ID_HEX} 00000003"), UPDATE_BYTES, "Invalid ShareUpdateKey: .* announces"),
        (bytes.fromhex(f"0001 000167 {'00' * 16} 00000003"), UPDATE_BYTES, "Invalid ShareUpdateKey: .* id"),
        (bytes.fromhex(f"0001 0001ff {TOPIC_ID_HEX} 00000003"), UPDATE_BYTES, "Invalid ShareUpdateKey: Cannot decode"),
    ],
)
def test_broken_bytes_are_refused_by_name(key: bytes, value: bytes, told: str) -> None:
    with pytest.raises(MalformedRecordError, match=told):
        SHARE_GROUP_STATE.decode(key, value)


def test_a_length_beyond_the_end_is_refused_before_anything_is_allocated() -> None:
    with pytest.raises(MalformedRecordError, match="announces 4294967294 more byte"):
        SHARE_GROUP_STATE.decode(UPDATE_KEY_BYTES, UPDATE_START + bytes.fromhex("ffffffff0f"))


def test_tagged_fields_of_a_newer_release_are_ignored() -> None:
    value = UPDATE_START + UPDATE_BATCHES + b"\x02" + UPDATE_COUNT + bytes.fromhex("01 02 abcd")

    assert SHARE_GROUP_STATE.decode(UPDATE_KEY_BYTES, value).value == UPDATE


# -------------------------------------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (ShareGroupMetadata("g"), "ShareGroupMetadata is not a record of __share_group_state"),
        (with_value(UPDATED, ShareGroupMetadataValue(epoch=1, metadata_hash=1)), "is not the value of a ShareUpdate"),
        (ShareUpdate("g", TOPIC_ID, partition=2**31), "Cannot encode ShareUpdate"),
    ],
)
def test_a_record_that_cannot_be_written_is_refused(record: Any, told: str) -> None:
    with pytest.raises(ProtocolError, match=told):
        SHARE_GROUP_STATE.encode(record)


def test_tables_and_types_say_what_they_are() -> None:
    assert repr(SHARE_GROUP_STATE) == "<RecordTable of __share_group_state with types [0, 1]>"
    assert repr(SHARE_GROUP_STATE.types[1]) == "<RecordType 1: ShareUpdateValue>"
