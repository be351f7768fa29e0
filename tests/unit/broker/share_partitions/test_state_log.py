from uuid import UUID

import pytest

from kafka_groups.broker.share_partitions.persisted_state import PersisterStateBatch, StateSummary, StateUpdate
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.broker.share_partitions.state_log import ShareStateStore
from kafka_groups.errors import FencedLeaderEpochError, FencedStateEpochError, UnknownTopicOrPartitionError
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET

GROUP, TOPIC, PARTITION = "g", UUID(int=7), 0
ACKED, AVAILABLE, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.AVAILABLE, RecordState.ARCHIVED


def update(
    *batches: PersisterStateBatch, start: int = 0, complete: int = 0, leader_epoch: int = 0, state_epoch: int = 0
) -> StateUpdate:
    return StateUpdate(state_epoch, leader_epoch, start, complete, batches)


def initialized(start_offset: int = 0) -> ShareStateStore:
    store = ShareStateStore()
    store.initialize(GROUP, TOPIC, PARTITION, start_offset)
    return store


def test_what_was_not_initialised_can_be_neither_read_nor_written() -> None:
    store = ShareStateStore()
    assert store.summary(GROUP, TOPIC, PARTITION) is None
    with pytest.raises(UnknownTopicOrPartitionError):
        store.read(GROUP, TOPIC, PARTITION, 0)
    with pytest.raises(UnknownTopicOrPartitionError):
        store.write(GROUP, TOPIC, PARTITION, update())


def test_a_fresh_state_has_no_count_and_no_leader() -> None:
    store = initialized(UNINITIALIZED_OFFSET)
    assert store.summary(GROUP, TOPIC, PARTITION) == StateSummary(0, -1, -1, -1)


def test_initialising_again_changes_nothing() -> None:
    store = initialized(5)
    store.write(GROUP, TOPIC, PARTITION, update(start=9))
    store.initialize(GROUP, TOPIC, PARTITION, 0)
    assert store.read(GROUP, TOPIC, PARTITION, 0).start_offset == 9


def test_a_newer_state_epoch_starts_anew_and_fences_the_old_one() -> None:
    store = initialized()
    store.write(GROUP, TOPIC, PARTITION, update(PersisterStateBatch(0, 9, ACKED, 1), complete=10))
    store.initialize(GROUP, TOPIC, PARTITION, 3, state_epoch=2)
    assert store.read(GROUP, TOPIC, PARTITION, 0).batches == ()
    with pytest.raises(FencedStateEpochError):
        store.write(GROUP, TOPIC, PARTITION, update(state_epoch=1))
    with pytest.raises(FencedStateEpochError):
        store.initialize(GROUP, TOPIC, PARTITION, 0, state_epoch=1)


def test_batches_are_overlaid_and_merged_and_cut_at_the_start_offset() -> None:
    store = initialized()
    store.write(GROUP, TOPIC, PARTITION, update(PersisterStateBatch(0, 9, AVAILABLE, 1)))
    store.write(GROUP, TOPIC, PARTITION, update(PersisterStateBatch(4, 5, ACKED, 2), complete=2))
    store.write(GROUP, TOPIC, PARTITION, update(PersisterStateBatch(6, 9, ACKED, 2), start=2, complete=6))
    state = store.read(GROUP, TOPIC, PARTITION, 0)
    assert state.batches == (PersisterStateBatch(2, 3, AVAILABLE, 1), PersisterStateBatch(4, 9, ACKED, 2))
    assert (state.start_offset, state.delivery_complete_count) == (2, 6)


def test_an_older_leader_is_fenced_once_a_newer_one_has_read() -> None:
    store = initialized()
    store.read(GROUP, TOPIC, PARTITION, 3)
    with pytest.raises(FencedLeaderEpochError):
        store.write(GROUP, TOPIC, PARTITION, update(leader_epoch=2))
    with pytest.raises(FencedLeaderEpochError):
        store.read(GROUP, TOPIC, PARTITION, 2)
    store.write(GROUP, TOPIC, PARTITION, update(leader_epoch=3, complete=1))
    assert store.summary(GROUP, TOPIC, PARTITION) == StateSummary(0, 3, 0, 1)


def test_a_refused_write_changes_nothing() -> None:
    store = initialized()
    store.read(GROUP, TOPIC, PARTITION, 3)
    with pytest.raises(FencedLeaderEpochError):
        store.write(GROUP, TOPIC, PARTITION, update(PersisterStateBatch(0, 1, ARCHIVED, 1), leader_epoch=2))
    assert store.read(GROUP, TOPIC, PARTITION, 3).batches == ()


def test_deleting_is_final_and_may_be_repeated() -> None:
    store = initialized()
    store.delete(GROUP, TOPIC, PARTITION)
    store.delete(GROUP, TOPIC, PARTITION)
    assert store.summary(GROUP, TOPIC, PARTITION) is None


def test_share_partitions_do_not_mix() -> None:
    store = initialized(1)
    store.initialize("h", TOPIC, PARTITION, 2)
    store.initialize(GROUP, TOPIC, 1, 3)
    starts = [store.read(group, TOPIC, part, 0).start_offset for group, part in ((GROUP, 0), ("h", 0), (GROUP, 1))]
    assert starts == [1, 2, 3]
