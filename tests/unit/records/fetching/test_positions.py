import pytest

from kafka_groups.protocol.messages.fetch import EpochEndOffset
from kafka_groups.protocol.record_batch import BatchHeader, parse_header
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.records.fetching.positions import FetchPosition, TakenEpochs


def header(base_offset: int, leader_epoch: int, count: int = 10) -> BatchHeader:
    return parse_header(build_batch([NewRecord()] * count, base_offset, BatchOptions(leader_epoch=leader_epoch)))


def test_a_position_is_after_the_batches_and_knows_where_their_last_epoch_begins() -> None:
    position = FetchPosition(5).after([header(0, 1), header(10, 1), header(20, 3)])
    assert (position.offset, position.leader_epoch, position.epoch_start) == (30, 3, 20)
    position = position.after([header(30, 3)])
    assert (position.offset, position.leader_epoch, position.epoch_start) == (40, 3, 20)
    assert position.after([]) == position


@pytest.mark.parametrize(
    ("epoch", "end_offset", "offset"),
    [
        (3, 25, 25),  # the leader's log of our epoch is shorter
        (2, 15, 15),  # the leader does not have our epoch, and had less of the one before
        (2, 90, 20),  # nor has it here, and it has other records at our offsets
        (-1, 0, 0),
    ],
)
def test_a_log_diverges_where_the_epoch_ends_or_where_ours_begins(epoch: int, end_offset: int, offset: int) -> None:
    position = FetchPosition(0).after([header(0, 1), header(10, 1), header(20, 3)])
    assert position.divergence(EpochEndOffset(epoch=epoch, end_offset=end_offset)) == offset


def test_an_earlier_position_has_the_epoch_that_the_leader_told() -> None:
    position = FetchPosition(0).after([header(0, 1), header(10, 3)]).back_to(7, 2)
    assert (position.offset, position.leader_epoch, position.epoch_start) == (7, 2, 7)


def test_the_epoch_before_an_offset_is_that_of_the_batch_with_the_record() -> None:
    epochs = TakenEpochs(5, leader_epoch=1)
    assert epochs.before(5) == 1
    for each in (header(5, 1, 5), header(10, 3), header(20, 3), header(30, 4)):
        epochs.take(each)
    assert [epochs.before(offset) for offset in (7, 10, 11, 30, 31, 40)] == [1, 1, 3, 3, 4, 4]


def test_the_epoch_before_the_first_record_may_be_unknown() -> None:
    epochs = TakenEpochs(5)
    assert epochs.before(5) == -1
    epochs.take(header(0, 2))  # the record was asked for in the middle of its batch
    assert epochs.before(6) == 2
    assert TakenEpochs(5, 3).before(4) == -1
