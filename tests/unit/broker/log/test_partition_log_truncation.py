"""A log that loses its end, or forgets producers: offsets, epochs, segments, and what is known of transactions."""

import pytest

from kafka_groups.broker.log.batches import AppendRules
from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.log.leader_epochs import EpochEnd
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.log.producers import Verification
from kafka_groups.errors import InvalidTxnStateError, OffsetOutOfRangeError, OutOfOrderSequenceNumberError
from kafka_groups.protocol.record_builder import BatchOptions
from tests.unit.broker.log.test_partition_log import EPOCH, WALL_MS, batch, idempotent, log_of, offsets


def transactional(sequence: int, count: int = 1, *, epoch: int = 0) -> bytes:
    options = BatchOptions(producer_id=7, producer_epoch=epoch, base_sequence=sequence, is_transactional=True)
    return batch(count, options=options)


def begin(log: PartitionLog, sequence: int, count: int = 1, *, epoch: int = 0) -> None:
    verification: Verification | None = log.producers.begin_verification(
        Producer(7, epoch), sequence, WALL_MS, adds=False
    )
    log.append(transactional(sequence, count, epoch=epoch), EPOCH, WALL_MS, verification=verification)


@pytest.mark.parametrize(
    ("offset", "end", "left"),
    [
        (0, 0, []),
        (2, 0, []),
        (3, 3, [(0, 2)]),
        (4, 3, [(0, 2)]),
        (6, 6, [(0, 2), (3, 5)]),
        (9, 9, [(0, 2), (3, 5), (6, 8)]),
    ],
)
def test_whole_batches_are_lost(offset: int, end: int, left: list[tuple[int, int]]) -> None:
    log = log_of(batch(3), batch(3), batch(3))
    assert log.truncate(offset, WALL_MS) == log.end_offset == end
    assert offsets(log, 0, 10_000) == left
    assert log.size_bytes == sum(len(batch(3)) for _ in left)
    assert log.append(batch(2), EPOCH + 1, WALL_MS).base_offset == end


def test_segments_after_the_end_are_lost() -> None:
    log = PartitionLog()
    rules = AppendRules(segment_bytes=len(batch(3)))
    for _ in range(4):
        log.append(batch(3), EPOCH, WALL_MS, rules=rules)
    before = log.segments
    assert log.truncate(5, WALL_MS) == 3
    assert [len(segment) for segment in log.segments] == [1, 0]
    assert not log.replace_segments(before[:2], before[0]), "the cleaner has read what is lost"
    assert log.append(batch(3), EPOCH, WALL_MS, rules=rules).base_offset == 3
    assert [info.base_offset for segment in log.segments for info in segment.infos(0, 9)] == [0, 3]


@pytest.mark.parametrize("offset", [2, 7])
def test_an_end_outside_the_log_is_refused(offset: int) -> None:
    log = log_of(batch(3), batch(3))
    log.delete_records(3)
    with pytest.raises(OffsetOutOfRangeError, match=f"Offset {offset}"):
        log.truncate(offset, WALL_MS)
    assert log.end_offset == 6


def test_the_end_never_goes_below_the_start() -> None:
    log = log_of(batch(3), batch(3))
    log.delete_records(4)
    assert log.truncate(5, WALL_MS) == 4
    assert (log.log_start_offset, log.end_offset, len(log)) == (4, 4, 0)


def test_a_reader_of_lost_records_diverges() -> None:
    log = log_of(batch(3), batch(3))
    log.truncate(3, WALL_MS)
    assert log.divergence(6, EPOCH, EPOCH + 1) == EpochEnd(EPOCH, 3)
    assert log.divergence(3, EPOCH, EPOCH + 1) is None
    log.append(batch(9), EPOCH + 1, WALL_MS)
    assert log.divergence(6, EPOCH, EPOCH + 1) == EpochEnd(EPOCH, 3)
    assert log.divergence(12, EPOCH + 1, EPOCH + 1) is None


def two_epochs() -> PartitionLog:
    """A log with offsets 0 to 2 of one epoch, and 3 to 5 of the next."""
    log = log_of(batch(3))
    log.append(batch(3), EPOCH + 1, WALL_MS)
    return log


def test_epochs_that_are_lost_are_forgotten() -> None:
    log = two_epochs()
    log.truncate(3, WALL_MS)
    assert log.divergence(6, EPOCH + 1, EPOCH + 2) == EpochEnd(EPOCH, 3)
    log.append(batch(3), EPOCH + 2, WALL_MS)
    assert log.divergence(6, EPOCH + 1, EPOCH + 2) == EpochEnd(EPOCH, 3)


def test_an_epoch_of_which_all_is_deleted_ends_where_the_log_starts() -> None:
    log = two_epochs()
    assert log.divergence(6, EPOCH, EPOCH + 1) == EpochEnd(EPOCH, 3)
    log.delete_records(5)
    assert log.divergence(6, EPOCH, EPOCH + 1) == EpochEnd(EPOCH, 5)


def test_a_producer_goes_on_from_its_last_batch_that_is_left() -> None:
    log = log_of(idempotent(0, 2), idempotent(2, 2), idempotent(4, 2), idempotent(0, producer_id=8))
    log.truncate(4, WALL_MS)
    with pytest.raises(OutOfOrderSequenceNumberError, match="expected 4"):
        log.append(idempotent(6), EPOCH, WALL_MS)
    assert log.append(idempotent(2, 2), EPOCH, WALL_MS).is_duplicate
    assert log.append(idempotent(4, 2), EPOCH, WALL_MS).base_offset == 4
    assert log.append(idempotent(9, producer_id=8), EPOCH, WALL_MS).base_offset == 6, "it is unknown now"


def test_a_transaction_whose_marker_is_lost_is_open_again() -> None:
    log = PartitionLog()
    begin(log, 0, 2)
    log.append_end(EndMarker(Producer(7, 0), committed=True, coordinator_epoch=5), EPOCH, WALL_MS)
    assert log.last_stable_offset == 3
    log.truncate(2, WALL_MS)
    assert log.last_stable_offset == 0
    assert log.append(transactional(2), EPOCH, WALL_MS).base_offset == 2, "it needs no verification"


def test_a_transaction_of_which_all_is_lost_is_not_open() -> None:
    log = log_of(batch(3))
    begin(log, 0, 2)
    log.truncate(3, WALL_MS)
    assert log.last_stable_offset == 3
    with pytest.raises(InvalidTxnStateError):
        log.append(transactional(2), EPOCH, WALL_MS)


def test_markers_that_are_left_count() -> None:
    log = PartitionLog()
    begin(log, 0, 2)
    log.append_end(EndMarker(Producer(7, 0), committed=False, coordinator_epoch=5), EPOCH, WALL_MS)
    begin(log, 2)
    log.truncate(3, WALL_MS)
    assert [(each.first_offset, each.last_offset) for each in log.aborted_between(0, 3)] == [(0, 2)]
    [(producer_id, state)] = log.producers.active(1_000, WALL_MS)
    assert (producer_id, state.epoch, state.coordinator_epoch, state.next_sequence) == (7, 0, 5, 2)


def test_all_producers_are_forgotten_but_those_of_open_transactions() -> None:
    log = log_of(idempotent(0, 2, producer_id=8))
    begin(log, 0, 2)
    log.producers.forget_idle()
    assert log.append(idempotent(9, producer_id=8), EPOCH, WALL_MS).base_offset == 4, "it is unknown now"
    with pytest.raises(OutOfOrderSequenceNumberError):
        log.append(transactional(3), EPOCH, WALL_MS)
    assert log.append(transactional(2), EPOCH, WALL_MS).base_offset == 5
