"""Records of share groups in `__consumer_offsets`: those of a real Kafka load into ours, and ours are Kafka's."""

import pytest

from kafka_groups.broker.coordinators.groups.records import GROUP_RECORDS
from kafka_groups.broker.coordinators.groups.share.groups import ShareGroups
from kafka_groups.broker.coordinators.groups.share.records import ShareGroupRecord, StatePartitions
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.protocol.coordinator_records.consumer_group import OfConsumerGroup
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, OffsetCommit
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupStatePartitionMetadata,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.coordinator_records.streams_group import OfStreamsGroup
from kafka_groups.types import TopicIdPartition
from tests.recording.golden_records import (
    CLASSIC_GROUP,
    GROUP,
    MEMBER_A,
    MEMBER_B,
    TOPIC_A,
    TOPIC_B,
    GoldenRecord,
    GoldenRecords,
    load_records,
)
from tests.support.broker.share_groups import Topics

CODEC = GROUP_RECORDS


@pytest.fixture(scope="module")
def golden() -> GoldenRecords:
    return load_records()


def of_share_groups(golden: GoldenRecords) -> list[GoldenRecord]:
    stored = [record for record in golden.records if record.stored.topic == CONSUMER_OFFSETS.topic]
    return [record for record in stored if getattr(record.stored.decode(), "group", "") != CLASSIC_GROUP]


def decoded(record: GoldenRecord) -> ShareGroupRecord:
    found = CODEC.decode(record.stored.key, record.stored.value)
    assert not isinstance(found, OffsetCommit | ClassicGroupMetadata | OfConsumerGroup | OfStreamsGroup)
    return found


def shard_after(golden: GoldenRecords, step: str) -> ShareGroups:
    shard = ShareGroups(Topics(), lambda _: ShareGroupConfig(), 200)
    steps = golden.steps[: golden.steps.index(step) + 1]
    for record in of_share_groups(golden):
        if record.step in steps:
            shard.replay(decoded(record))
    return shard


def test_kafkas_records_become_the_same_bytes_again(golden: GoldenRecords) -> None:
    records = of_share_groups(golden)
    assert len(records) > 50
    for record in records:
        ours = decoded(record)
        key, value = CODEC.encode(ours)
        assert CODEC.decode(key, value) == ours
        assert key == record.stored.key
        # What we do not keep is when an assignment was computed.
        if not isinstance(ours, ShareGroupTargetAssignmentMetadata):
            assert value == record.stored.value


def test_kafkas_records_load_into_our_shard(golden: GoldenRecords) -> None:
    topic_a, topic_b = golden.topic_ids[TOPIC_A], golden.topic_ids[TOPIC_B]

    group = shard_after(golden, "second member joins").group(GROUP)
    assert group.members.keys() == {MEMBER_A, MEMBER_B}
    assert (group.epoch, group.assignment_epoch) == (3, 3)
    assert group.state_partitions.initialized.keys() == {topic_a}
    assert all(partition.topic_id == topic_a for partition in group.target[MEMBER_B])

    group = shard_after(golden, "new topic is assigned").group(GROUP)
    assert group.members[MEMBER_A].subscribed_topic_names == (TOPIC_A, TOPIC_B)
    assert TopicIdPartition(topic_b, 0) in group.current[MEMBER_A].partitions

    group = shard_after(golden, "delete offsets").group(GROUP)
    assert group.members == {}
    assert group.state_partitions.initialized.keys() == {topic_a}
    assert GROUP not in shard_after(golden, "delete group").groups


def test_topics_that_are_being_deleted_are_stored_without_partitions(golden: GoldenRecords) -> None:
    topic_id = golden.topic_ids[TOPIC_A]
    state = StatePartitions(deleting={topic_id: frozenset({0, 1})}, topic_names={topic_id: TOPIC_A})
    record = ShareGroupStatePartitionMetadata(GROUP, state)
    found = CODEC.decode(*CODEC.encode(record))
    assert found.value == StatePartitions(deleting={topic_id: frozenset()}, topic_names={topic_id: TOPIC_A})
    assert CODEC.encode(found)[0] == CODEC.encode(record)[0]
