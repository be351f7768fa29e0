"""Acknowledgement, expiry, release and persistence; the errors are those of a real Kafka 4.4.0."""

import pytest

from kafka_groups.broker.runs import OffsetRange
from kafka_groups.broker.share_partitions.acknowledgement import Acknowledgement
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import InvalidRecordStateError, InvalidRequestError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from tests.support.broker.share_state import batch_of, change_of
from tests.unit.broker.share_partitions.scenes import KEY, Batch, Scene, acked, batches_of

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
AVAILABLE, ACQUIRED, ACKED, _ARCHIVING, ARCHIVED = RecordState
LOCK_MS = ShareGroupConfig().record_lock_duration_ms


def fetched(*sizes: int, config: ShareGroupConfig | None = None) -> Scene:
    scene = Scene(batches_of(*sizes or (10,)), config or ShareGroupConfig())
    scene.fetch()
    return scene


# ------------------------------------------------------------------------------- acknowledgement types


@pytest.mark.parametrize(
    ("kind", "state"), [(GAP, ARCHIVED), (ACCEPT, ACKED), (RELEASE, AVAILABLE), (REJECT, ARCHIVED)]
)
def test_what_each_type_makes_of_a_record(kind: int, state: RecordState) -> None:
    scene = fetched()
    scene.ack(acked(5, 5, kind))
    assert (5, 5, state, 1) in scene.states()
    assert scene.written == [change_of(0, 3, 0, int(state is not AVAILABLE), (batch_of(5, 5, state, 1),))]


def test_one_type_per_offset() -> None:
    scene = fetched()
    scene.ack(acked(0, 9, ACCEPT, RELEASE, RELEASE, RELEASE, ACCEPT, ACCEPT, GAP, REJECT, ACCEPT, ACCEPT))
    assert scene.partition.start_offset == 1
    assert scene.states() == [(1, 3, AVAILABLE, 1), (4, 5, ACKED, 1), (6, 7, ARCHIVED, 1), (8, 9, ACKED, 1)]


def test_the_start_offset_moves_over_terminal_records_only() -> None:
    scene = fetched()
    scene.ack(acked(3, 9, ACCEPT))
    assert (scene.partition.start_offset, scene.partition.in_flight.window_size) == (0, 10)
    scene.ack(acked(0, 2, REJECT))
    assert (scene.partition.start_offset, scene.partition.in_flight.window_size) == (10, 0)
    assert scene.partition.in_flight.run_count == 0


def test_the_persisted_start_offset_is_the_one_before_and_the_count_the_one_after() -> None:
    scene = fetched(20)
    scene.ack(acked(0, 4, ACCEPT))
    scene.ack(acked(5, 9, ACCEPT))
    assert [(each.start_offset, each.delivery_complete_count) for each in scene.written] == [(0, 5), (5, 5)]


def test_released_at_the_delivery_limit_is_archived() -> None:
    scene = fetched(config=ShareGroupConfig(delivery_count_limit=2))
    scene.ack(acked(0, 9, RELEASE))
    scene.fetch()
    scene.ack(acked(0, 4, RELEASE))
    assert scene.partition.start_offset == 5


# ------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "batches",
    [
        (acked(5, 4, ACCEPT),),
        (acked(6, 8, ACCEPT), acked(7, 9, ACCEPT)),
        (acked(6, 8, ACCEPT), acked(0, 1, ACCEPT)),
        (acked(-3, -1, ACCEPT),),
        (acked(4, 5),),
        (acked(4, 5, ACCEPT, ACCEPT, ACCEPT),),
        (acked(4, 5, 5),),
        (acked(4, 5, -1),),
        (acked(4, 5, RENEW),),
    ],
)
def test_malformed_batches_are_an_invalid_request(batches: tuple[AcknowledgementBatch, ...]) -> None:
    scene = fetched()
    with pytest.raises(InvalidRequestError):
        scene.ack(acked(0, 1, ACCEPT), *batches)
    assert scene.states() == [(0, 9, ACQUIRED, 1)]
    assert not scene.written


def test_offsets_past_the_window_are_an_invalid_request() -> None:
    scene = fetched()
    with pytest.raises(InvalidRequestError, match="first offset in request is past"):
        scene.ack(acked(10, 10, ACCEPT))
    with pytest.raises(InvalidRequestError, match="last offset in request is past"):
        scene.ack(acked(9, 10, ACCEPT))


def test_one_bad_batch_refuses_all() -> None:
    scene = fetched()
    with pytest.raises(InvalidRequestError):
        scene.ack(acked(0, 2, ACCEPT), acked(3, 3, RENEW), acked(4, 20, ACCEPT), renew=True)
    assert scene.states() == [(0, 9, ACQUIRED, 1)]
    assert scene.partition.next_deadline_ms() == scene.now_ms + LOCK_MS


def test_a_record_is_acknowledged_once() -> None:
    scene = fetched()
    scene.ack(acked(5, 5, ACCEPT))
    with pytest.raises(InvalidRecordStateError):
        scene.ack(acked(4, 6, ACCEPT))
    assert scene.partition.in_flight.terminal_count == 1


def test_offsets_that_were_never_acquired_are_an_invalid_state() -> None:
    scene = Scene(batches_of(10))
    scene.fetch(max_records=3, strict=True)
    with pytest.raises(InvalidRecordStateError):
        scene.ack(acked(5, 5, ACCEPT))


def test_two_batches_may_meet_in_an_offset_only_after_a_renewal() -> None:
    scene = fetched()
    with pytest.raises(InvalidRecordStateError):
        scene.ack(acked(4, 5, ACCEPT), acked(5, 6, ACCEPT))
    scene.ack(acked(4, 5, RENEW), acked(5, 6, ACCEPT), renew=True)
    assert (5, 6, ACKED, 1) in scene.states()


def test_another_member_owns_it() -> None:
    scene = fetched()
    with pytest.raises(InvalidRecordStateError, match="not the owner"):
        scene.ack(acked(0, 0, ACCEPT), member="bob")


def test_below_the_start_offset_everything_is_taken_and_nothing_happens() -> None:
    scene = fetched(10, 10)
    scene.ack(acked(0, 9, ACCEPT))
    writes = len(scene.written)
    scene.ack(acked(0, 5, REJECT), member="bob")
    assert len(scene.written) == writes
    scene.ack(acked(5, 12, *[ACCEPT] * 5, ACCEPT, RELEASE, ACCEPT))
    assert scene.states() == [(11, 11, AVAILABLE, 1), (12, 12, ACKED, 1), (13, 19, ACQUIRED, 1)]


# --------------------------------------------------------------------------------- locks and renewals


def test_a_lock_ends_at_its_deadline_and_not_before() -> None:
    scene = fetched()
    scene.now_ms += LOCK_MS - 1
    assert scene.fetch("bob") == []
    scene.now_ms += 1
    assert scene.fetch("bob") == [(0, 9, 2)]
    with pytest.raises(InvalidRecordStateError):
        scene.ack(acked(0, 0, ACCEPT))


def test_an_acknowledgement_at_the_deadline_is_too_late_without_any_sweep() -> None:
    scene = fetched()
    now_ms = scene.now_ms + LOCK_MS

    with pytest.raises(InvalidRecordStateError, match="lock of offset 0 has expired"):
        scene.partition.begin_acknowledge(Acknowledgement("ann", (acked(0, 0, ACCEPT),)), scene.config, now_ms)


def test_expiry_at_the_limit_archives() -> None:
    scene = fetched(config=ShareGroupConfig(delivery_count_limit=2))
    scene.now_ms += LOCK_MS
    scene.fetch()
    scene.now_ms += LOCK_MS
    scene.expire()
    assert scene.partition.start_offset == 10


def test_the_next_deadline_is_that_of_the_oldest_lock() -> None:
    scene = Scene(batches_of(1, 1))
    assert scene.partition.next_deadline_ms() is None
    scene.fetch(max_records=1)
    first = scene.now_ms + LOCK_MS
    scene.now_ms += 5
    scene.fetch(max_records=1)
    assert scene.partition.next_deadline_ms() == first
    scene.ack(acked(0, 0, ACCEPT))
    assert scene.partition.next_deadline_ms() == first + 5
    scene.ack(acked(1, 1, RELEASE))
    assert scene.partition.next_deadline_ms() is None


def test_renewal_starts_the_lock_anew_and_persists_nothing() -> None:
    scene = fetched()
    for _ in range(5):
        scene.now_ms += LOCK_MS - 1
        scene.ack(acked(0, 9, RENEW), renew=True)
    assert scene.states() == [(0, 9, ACQUIRED, 1)]
    assert scene.written == []
    assert scene.partition.next_deadline_ms() == scene.now_ms + LOCK_MS
    scene.ack(acked(0, 9, ACCEPT))
    assert scene.partition.start_offset == 10


def test_renewal_of_some_leaves_the_others_lock() -> None:
    scene = fetched()
    scene.now_ms += LOCK_MS - 1
    scene.ack(acked(0, 3, RENEW, ACCEPT, RENEW, RENEW), renew=True)
    scene.now_ms += 1
    assert scene.fetch("bob") == [(4, 9, 2)]


def test_renewal_can_be_switched_off() -> None:
    scene = fetched(config=ShareGroupConfig(renew_acknowledge_enable=False))
    with pytest.raises(InvalidRecordStateError, match="not enabled"):
        scene.ack(acked(0, 1, ACCEPT, RENEW), renew=True)
    assert scene.states() == [(0, 9, ACQUIRED, 1)]


def test_a_member_gives_back_only_what_is_its_own_and_keeps_the_count() -> None:
    scene = Scene(batches_of(5, 5))
    scene.fetch("ann", max_records=5)
    scene.fetch("bob", max_records=5)
    scene.release("ann")
    assert scene.states() == [(0, 4, AVAILABLE, 1), (5, 9, ACQUIRED, 1)]
    scene.release("nobody")
    assert len(scene.written) == 1


# --------------------------------------------------------------------------------------- log start, gaps


def test_the_start_follows_the_log_without_phantom_acquisitions() -> None:
    scene = Scene(batches_of(10, 10))
    scene.fetch(max_records=10)
    scene.ack(acked(0, 4, RELEASE))
    assert scene.partition.move_start(7)
    assert not scene.partition.move_start(7)
    assert scene.fetch() == [(10, 19, 1)]
    scene.ack(acked(5, 9, ACCEPT))
    assert scene.partition.start_offset == 10


def test_the_log_start_may_pass_everything_in_flight() -> None:
    scene = fetched()
    scene.partition.move_start(25)
    assert (scene.partition.start_offset, scene.partition.in_flight.window_size) == (25, 0)
    assert scene.partition.next_deadline_ms() is None
    scene.ack(acked(0, 9, RELEASE))
    assert scene.written == []
    scene.batches = [Batch(20, 29)]
    assert scene.fetch() == [(25, 29, 1)]


def test_a_moved_start_also_passes_terminal_records_behind_it() -> None:
    scene = fetched()
    scene.ack(acked(5, 9, ACCEPT))
    scene.partition.move_start(5)
    assert scene.partition.start_offset == 10


def test_discarded_offsets_are_archived_unless_somebody_holds_them() -> None:
    scene = Scene(batches_of(10))
    scene.fetch(max_records=3, strict=True)
    archived = scene.partition.discard([OffsetRange(2, 4)], scene.config)
    assert [(each.first_offset, each.last_offset) for each in archived] == [(3, 4)]
    assert scene.states() == [(0, 2, ACQUIRED, 1), (3, 4, ARCHIVED, 0), (5, 9, AVAILABLE, 0)]


def test_discarded_offsets_are_counted_by_the_next_write_which_moves_the_start() -> None:
    scene = Scene(batches_of(10))
    scene.partition.discard([OffsetRange(0, 4)], scene.config)
    assert scene.partition.start_offset == 0
    assert scene.fetch() == [(5, 9, 1)]
    scene.ack(acked(5, 5, ACCEPT))
    assert [(each.start_offset, each.delivery_complete_count) for each in scene.written] == [(0, 6)]
    assert scene.partition.start_offset == 6


def test_discarded_offsets_that_fill_the_window_move_the_start_at_once() -> None:
    scene = Scene(batches_of(100, 10), config=ShareGroupConfig(partition_max_record_locks=100))
    scene.partition.discard([OffsetRange(0, 98)], scene.config)
    assert scene.partition.start_offset == 0
    scene.partition.discard([OffsetRange(99, 99)], scene.config)
    assert scene.partition.start_offset == 100
    assert scene.fetch() == [(100, 109, 1)]


# ---------------------------------------------------------------------------------- change of leader


def test_a_new_leader_finds_what_was_persisted_and_acquired_records_available() -> None:
    old = fetched(20)
    old.ack(acked(0, 1, ACCEPT), acked(5, 6, ACCEPT), acked(7, 8, RELEASE), acked(9, 9, REJECT))
    batches = old.written[0].state_batches
    new = Scene(old.batches)
    new.partition = SharePartition(KEY, PersistedState(0, 4, 0, 5, batches), leader_epoch=4)
    assert new.partition.start_offset == 2
    assert new.states() == [(5, 6, ACKED, 1), (7, 8, AVAILABLE, 1), (9, 9, ARCHIVED, 1)]
    assert new.partition.in_flight.terminal_count == 3
    assert new.fetch() == [(2, 4, 1), (7, 8, 2), (10, 19, 1)]


def test_a_change_carries_the_epochs_of_state_and_leader() -> None:
    scene = Scene(batches_of(1))
    scene.partition = SharePartition(KEY, PersistedState(6, 8, 0, 0, ()), leader_epoch=8)
    scene.fetch()
    scene.ack(acked(0, 0, ACCEPT))
    assert (scene.written[0].state_epoch, scene.written[0].leader_epoch) == (6, 8)
