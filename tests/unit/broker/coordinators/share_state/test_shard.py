"""The rules of the share coordinator that the conformance tests cannot reach; the others are there."""

import random
from typing import cast
from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.shard import LogUpkeep
from kafka_groups.broker.coordinators.share_state.shard import ShareStateShard
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.errors import InvalidRequestError, UnknownTopicOrPartitionError
from kafka_groups.protocol.coordinator_records.share_group_state import (
    SHARE_GROUP_STATE,
    ShareSnapshotValue,
    ShareStateRecord,
    ShareUpdate,
    ShareUpdateValue,
)
from kafka_groups.protocol.messages.share_state import StateBatch
from tests.recording.golden_records import GROUP, NEWER_LEADER_EPOCH, TOPIC_A, load_records
from tests.support.broker.share_state import AllTopics, change_of, cluster_of_one

TOPIC = UUID(int=7)
SPARE = 1_000


def key(partition: int = 0) -> StateKey:
    return ("g", TOPIC, partition)


class Log:
    """A shard and the records that it has made."""

    def __init__(self, updates_per_snapshot: int = 500) -> None:
        self.shard = ShareStateShard(AllTopics(random.Random(1)), updates_per_snapshot)
        self.records: list[ShareStateRecord] = []

    def take(self, records: tuple[ShareStateRecord, ...]) -> None:
        for record in records:
            self.shard.replay(record, len(self.records))
            self.records.append(record)

    def initialize(self, partition: int = 0) -> None:
        self.take(self.shard.initialize(key(partition), 0, 0, 10).records)

    def write(self, first: int = 0, *, partition: int = 0) -> None:
        batch = StateBatch(first_offset=first, last_offset=first, delivery_state=2, delivery_count=1)
        self.take(self.shard.write(key(partition), change_of(0, 0, 0, 1, (batch,)), 20).records)
        self.take(self.shard.tidy(cast(LogUpkeep, self), 30))

    log_start_offset = 0

    @property
    def end_offset(self) -> int:
        return len(self.records)

    def delete_records(self, before_offset: int) -> int:
        self.deleted_before = before_offset
        return before_offset

    def needed(self) -> int:
        return len(self.records) - self.shard.first_needed_offset(len(self.records))


def test_an_empty_shard_needs_no_records() -> None:
    log = Log()
    assert log.shard.first_needed_offset(7) == 7
    log.initialize()
    assert log.needed() == 1
    log.take(log.shard.delete(key()).records)
    assert log.needed() == 0
    assert log.shard.delete(key()).records == ()


def test_the_oldest_last_snapshot_is_the_first_record_that_is_needed() -> None:
    log = Log(updates_per_snapshot=2)
    log.initialize(0)
    log.initialize(1)
    for offset in range(3):
        log.write(offset, partition=0)
    assert log.shard.first_needed_offset(0) == 1  # partition 0 has a newer snapshot
    for offset in range(3):
        log.write(offset, partition=1)
    assert log.shard.first_needed_offset(0) == 4


def test_a_state_that_never_changes_gets_snapshots_so_that_the_log_does_not_grow_without_bound() -> None:
    log = Log()
    for partition in range(3):
        log.initialize(partition)
    for offset in range(5 * SPARE):
        log.write(offset, partition=0)
        assert log.needed() <= SPARE + 3 * 3
    idle = [each.value for each in log.records if each.partition == 1]
    snapshots = [value for value in idle if isinstance(value, ShareSnapshotValue)]
    assert len(snapshots) == len(idle)
    assert 3 <= len(idle) <= 7
    assert (snapshots[-1].create_timestamp_ms, snapshots[-1].write_timestamp_ms) == (10, 30)


def test_updates_of_states_that_are_not_known_are_ignored() -> None:
    log = Log()
    update = ShareUpdateValue(snapshot_epoch=0, leader_epoch=0, start_offset=3)
    log.take((ShareUpdate("g", TOPIC, 0, update),))
    assert log.shard.state(key()) is None


@pytest.mark.parametrize("updates_per_snapshot", [0, 1, 3])
def test_a_snapshot_has_the_state_after_the_write_that_made_it(updates_per_snapshot: int) -> None:
    log = Log(updates_per_snapshot)
    log.initialize()
    for offset in range(updates_per_snapshot + 1):
        log.write(offset)
    last = log.records[-1].value
    assert isinstance(last, ShareSnapshotValue)
    whole = StateBatch(first_offset=0, last_offset=updates_per_snapshot, delivery_state=2, delivery_count=1)
    assert last.state_batches == (whole,)


def test_the_records_of_a_real_kafka_load_into_a_shard() -> None:
    golden = load_records()
    state_key = (GROUP, golden.topic_ids[TOPIC_A], 0)
    shard = ShareStateShard(AllTopics(random.Random(1)), 5)
    seen: dict[str, tuple[int, int, tuple[StateBatch, ...]]] = {}
    for golden_record in golden.records:
        stored = golden_record.stored
        if stored.topic == SHARE_GROUP_STATE.topic:
            shard.replay(SHARE_GROUP_STATE.decode(stored.key, stored.value), stored.offset)
            state = shard.state(state_key)
            seen.pop(golden_record.step, None)
            if state is not None:
                seen[golden_record.step] = (state.leader_epoch, state.start_offset, state.batches)
    archived = StateBatch(first_offset=4, last_offset=4, delivery_state=4, delivery_count=1)
    assert archived in seen["acknowledge"][2]
    assert seen["snapshot instead of a sixth update"][0] == NEWER_LEADER_EPOCH + 2
    assert seen["alter offsets"] == (0, 7, ())
    assert "delete topic" not in seen


def test_states_of_deleted_topics_go_and_others_stay() -> None:
    cluster = cluster_of_one()
    kept, deleted = cluster.create_topic("kept"), cluster.create_topic("deleted")
    shard = ShareStateShard(cluster, 5)
    for topic in (kept, deleted):
        for record in shard.initialize(("g", topic.topic_id, 0), 0, 0, 10).records:
            shard.replay(record, 0)
    assert [part.records for part in shard.loaded(0, 20)] == [()]
    cluster.delete_topic("deleted")
    for record in shard.metadata_changed(0, 20).records:
        shard.replay(record, 1)
    assert shard.state(("g", deleted.topic_id, 0)) is None
    assert shard.state(("g", kept.topic_id, 0)) is not None
    assert shard.metadata_changed(0, 30).records == ()


def test_the_state_of_a_topic_that_is_gone_cannot_be_used() -> None:
    shard = ShareStateShard(cluster_of_one(), 500)
    [record] = shard.initialize(key(), 0, 0, 10).records
    with pytest.raises(InvalidRequestError):  # as in Kafka, that comes first
        shard.read(key(), 0, 20)
    shard.replay(record, 0)
    with pytest.raises(UnknownTopicOrPartitionError):
        shard.read(key(), 0, 20)
    with pytest.raises(UnknownTopicOrPartitionError):
        shard.write(key(), change_of(0, 0, 0, 0, ()), 20)
