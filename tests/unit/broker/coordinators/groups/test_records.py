"""Records of all types of groups, and committed offsets: what a real Kafka stored is read."""

from typing import get_args, get_origin

import pytest

from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS, GroupRecord
from kafka_groups.errors import UnknownRecordTypeError
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.offsets import (
    ClassicGroupMetadata,
    LegacyOffsetCommit,
    OffsetCommit,
    OffsetCommitValue,
)
from tests.recording.golden_records import CLASSIC_GROUP, GoldenRecord, load_records

CODEC = GROUP_RECORDS


def found() -> list[tuple[GoldenRecord, GroupRecord]]:
    golden = [record for record in load_records().records if record.stored.topic == CODEC.topic]
    return [(record, CODEC.decode(record.stored.key, record.stored.value)) for record in golden]


def test_every_record_of_kafka_is_read() -> None:
    kinds = {type(record) for _, record in found()}
    assert {OffsetCommit, ClassicGroupMetadata} < kinds
    assert len(kinds) == 8


def test_offsets_and_classic_groups_of_kafka_become_the_same_bytes_again() -> None:
    for golden, record in found():
        if isinstance(record, OffsetCommit | ClassicGroupMetadata):
            assert CODEC.encode(record) == (golden.stored.key, golden.stored.value)


def test_kafkas_committed_offset_is_understood() -> None:
    [committed] = [each for _, each in found() if isinstance(each, OffsetCommit) and each.value is not None]
    assert committed.group == CLASSIC_GROUP
    assert committed.value is not None
    assert committed.value.offset >= 0
    assert committed.value.topic_id is not None


def test_a_commit_in_the_oldest_format_is_read() -> None:
    stored = LegacyOffsetCommit("g", "t", 1, OffsetCommitValue(offset=7, metadata="m", commit_timestamp_ms=5))
    found = CODEC.decode(*CONSUMER_OFFSETS.encode(stored))
    assert isinstance(found, OffsetCommit)
    assert found == LegacyOffsetCommit(
        "g", "t", 1, OffsetCommitValue(offset=7, leader_epoch=-1, metadata="m", commit_timestamp_ms=5)
    )


def test_an_offset_with_a_time_to_live_keeps_it() -> None:
    record = OffsetCommit(
        "g",
        "t",
        1,
        OffsetCommitValue(offset=7, leader_epoch=-1, metadata="m", commit_timestamp_ms=5, expire_timestamp_ms=9),
    )
    assert CODEC.decode(*CODEC.encode(record)) == record


def test_every_type_of_record_is_read_and_written() -> None:
    classes = {each.record_class for each in CONSUMER_OFFSETS.types}
    assert {each.record_class for each in CODEC.types} == classes
    assert {get_origin(each) or each for each in get_args(GroupRecord)} == classes - {LegacyOffsetCommit}


def test_records_of_types_that_are_not_built_are_told_apart() -> None:
    of_a_later_release = 24
    with pytest.raises(UnknownRecordTypeError):
        CODEC.decode(of_a_later_release.to_bytes(2, "big") + b"\x00\x01g", b"\x00\x00")
