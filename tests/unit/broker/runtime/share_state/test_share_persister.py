"""What leaders of share-partitions and the group coordinator see of the share coordinator."""

from uuid import UUID

import pytest

from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.errors import (
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    FencedStateEpochError,
    InvalidRequestError,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from tests.support.broker.share_state import Persisted, ShareStates, batch_of, change_of, persister

GROUP, TOPIC, PARTITION = "g", UUID(int=7), 0
ACKED, AVAILABLE, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.AVAILABLE, RecordState.ARCHIVED


def update(
    *batches: StateBatch, start: int = 0, complete: int = 0, leader_epoch: int = 0, state_epoch: int = 0
) -> WriteShareStatePartition:
    return change_of(state_epoch, leader_epoch, start, complete, batches)


def initialized(start_offset: int = 0) -> Persisted:
    made = persister()
    made.initialize(GROUP, TOPIC, PARTITION, start_offset)
    return made


def test_what_was_not_initialised_can_be_neither_read_nor_written() -> None:
    states = persister()
    assert states.summary(GROUP, TOPIC, PARTITION) is None
    with pytest.raises(InvalidRequestError):
        states.read(GROUP, TOPIC, PARTITION, 0)
    with pytest.raises(InvalidRequestError):
        states.write(GROUP, TOPIC, PARTITION, update())


def test_a_fresh_state_has_no_count() -> None:
    assert initialized(UNINITIALIZED_OFFSET).summary(GROUP, TOPIC, PARTITION) == (0, 0, -1, -1)


def test_initialising_again_changes_nothing() -> None:
    states = initialized(5)
    states.write(GROUP, TOPIC, PARTITION, update(start=9))
    states.initialize(GROUP, TOPIC, PARTITION, 0)
    assert states.read(GROUP, TOPIC, PARTITION, 0).start_offset == 9


def test_a_newer_state_epoch_starts_anew_and_fences_the_old_one() -> None:
    coordinator = ShareStates()
    states = Persisted(coordinator)
    states.initialize(GROUP, TOPIC, PARTITION, 0)
    states.write(GROUP, TOPIC, PARTITION, update(batch_of(0, 9, ACKED, 1), complete=10))
    coordinator.initialize((GROUP, TOPIC, PARTITION), 2, 3)
    assert states.read(GROUP, TOPIC, PARTITION, 0).batches == ()
    with pytest.raises(FencedStateEpochError):
        states.write(GROUP, TOPIC, PARTITION, update(state_epoch=1))
    with pytest.raises(FencedStateEpochError):
        coordinator.initialize((GROUP, TOPIC, PARTITION), 1, 0)


def test_batches_are_merged_and_cut_at_the_start_offset() -> None:
    states = initialized()
    states.write(GROUP, TOPIC, PARTITION, update(batch_of(0, 9, AVAILABLE, 1)))
    states.write(GROUP, TOPIC, PARTITION, update(batch_of(4, 5, ACKED, 2), complete=2))
    states.write(GROUP, TOPIC, PARTITION, update(batch_of(6, 9, ACKED, 2), start=2, complete=6))
    state = states.read(GROUP, TOPIC, PARTITION, 0)
    assert state.batches == (batch_of(2, 3, AVAILABLE, 1), batch_of(4, 9, ACKED, 2))
    assert (state.start_offset, state.delivery_complete_count) == (2, 6)


def test_a_write_that_is_repeated_late_undoes_nothing() -> None:
    states = initialized()
    released = update(batch_of(0, 9, AVAILABLE, 1))
    states.write(GROUP, TOPIC, PARTITION, released)
    states.write(GROUP, TOPIC, PARTITION, update(batch_of(0, 9, ACKED, 2), complete=10))
    states.write(GROUP, TOPIC, PARTITION, released)
    state = states.read(GROUP, TOPIC, PARTITION, 0)
    assert state.batches == (batch_of(0, 9, ACKED, 2),)
    assert state.delivery_complete_count == 10


def test_an_older_leader_is_fenced_once_a_newer_one_has_read_and_changes_nothing() -> None:
    states = initialized()
    states.read(GROUP, TOPIC, PARTITION, 3)
    with pytest.raises(FencedLeaderEpochError):
        states.write(GROUP, TOPIC, PARTITION, update(batch_of(0, 1, ARCHIVED, 1), leader_epoch=2))
    with pytest.raises(FencedLeaderEpochError):
        states.read(GROUP, TOPIC, PARTITION, 2)
    states.write(GROUP, TOPIC, PARTITION, update(leader_epoch=3, complete=1))
    assert states.summary(GROUP, TOPIC, PARTITION) == (0, 3, 0, 1)
    assert states.read(GROUP, TOPIC, PARTITION, 3).batches == ()


def test_deleting_is_final_and_may_be_repeated() -> None:
    states = initialized()
    states.delete(GROUP, TOPIC, PARTITION)
    states.delete(GROUP, TOPIC, PARTITION)
    assert states.summary(GROUP, TOPIC, PARTITION) is None


def test_share_partitions_do_not_mix() -> None:
    states = initialized(1)
    states.initialize("h", TOPIC, PARTITION, 2)
    states.initialize(GROUP, TOPIC, 1, 3)
    starts = [states.read(group, TOPIC, part, 0).start_offset for group, part in ((GROUP, 0), ("h", 0), (GROUP, 1))]
    assert starts == [1, 2, 3]


def test_a_coordinator_that_is_away_is_asked_again_for_a_while() -> None:
    states = Persisted()
    metadata, turns = states.states.metadata, states.states.cluster.turns
    outcomes: list[object] = []
    metadata.unregister_broker(0)
    began_ms = turns.now_ms
    states._persister.create((GROUP, TOPIC, PARTITION), 0, 5, outcomes.append)
    turns.run()
    assert [type(each) for each in outcomes] == [CoordinatorNotAvailableError]
    assert turns.now_ms - began_ms == 50 + 100 + 200 + 400 + 800 + 6 * 1_000


def test_a_coordinator_that_comes_back_in_time_answers() -> None:
    states = Persisted()
    metadata, turns = states.states.metadata, states.states.cluster.turns
    outcomes: list[object] = []
    endpoint = metadata.brokers[0]
    metadata.unregister_broker(0)
    states._persister.create((GROUP, TOPIC, PARTITION), 0, 5, outcomes.append)
    for _ in range(2):
        turns.turn()
    metadata.register_broker(endpoint)
    turns.run()
    assert outcomes == [None]
    assert states.summary(GROUP, TOPIC, PARTITION) == (0, 0, 5, 0)
