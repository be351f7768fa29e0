"""Records of classic groups in `__consumer_offsets`: a real Kafka's become ours, and the same bytes again."""

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.classic.group import NO_TIMESTAMP, ClassicGroup
from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.offsets import (
    ClassicGroupMetadata,
    GroupMetadataMember,
    GroupMetadataValue,
)
from tests.recording.golden_records import CLASSIC_GROUP, load_records
from tests.support.broker.coordinator_records import tombstone
from tests.support.kafka.internal_topics import StoredRecord


@pytest.fixture(scope="module")
def golden() -> list[StoredRecord]:
    stored = [record.stored for record in load_records().records if record.stored.topic == CONSUMER_OFFSETS.topic]
    return [record for record in stored if tombstone(record.decode()) == ClassicGroupMetadata(CLASSIC_GROUP)]


def ours(stored: StoredRecord) -> ClassicGroupMetadata:
    found = GROUP_RECORDS.decode(stored.key, stored.value)
    assert isinstance(found, ClassicGroupMetadata)
    return found


def test_kafkas_records_become_the_same_bytes_again(golden: list[StoredRecord]) -> None:
    assert len(golden) >= 3
    for stored in golden:
        record = ours(stored)
        again = GROUP_RECORDS.encode(record)
        assert again == (stored.key, stored.value)


def test_what_kafka_wrote_of_a_consumer_that_came_and_left(golden: list[StoredRecord]) -> None:
    values = [ours(stored).value for stored in golden]
    assert values[-1] is None
    joined = next(value for value in values if value is not None and value.members)
    assert joined.leader == joined.members[0].member_id
    assert joined.protocol_type == "consumer"
    left = values[values.index(joined) + 1]
    assert left is not None
    assert left.members == ()
    assert left.generation == joined.generation + 1
    assert left.protocol is None


MEMBER = GroupMetadataMember(
    member_id="m", client_id="c", client_host="/h", session_timeout_ms=10_000, subscription=b"s", assignment=b"a"
)
VALUE = GroupMetadataValue(protocol_type="consumer", generation=1, protocol="range", leader="m", members=(MEMBER,))


def test_an_old_record_has_no_rebalance_timeout_and_no_timestamp() -> None:
    found = GROUP_RECORDS.decode(*CONSUMER_OFFSETS.encode(ClassicGroupMetadata("g", VALUE)))
    assert found == ClassicGroupMetadata("g", VALUE)
    group = ClassicGroup("g")
    group.replay(VALUE)
    assert group.members["m"].rebalance_timeout_ms == 10_000
    assert group.state_timestamp_ms == NO_TIMESTAMP
    again = GROUP_RECORDS.decode(*GROUP_RECORDS.encode(ClassicGroupMetadata("g", group.current()))).value
    assert again == evolve(VALUE, members=(evolve(MEMBER, rebalance_timeout_ms=10_000),))
