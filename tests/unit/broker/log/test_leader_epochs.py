"""The ends of leader epochs, after appends, deletion and truncation."""

import pytest

from kafka_groups.broker.log.leader_epochs import EpochEnd, LeaderEpochs


def epochs_of(*begun: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, start_offset in begun:
        epochs.begun(epoch, start_offset)
    return epochs


@pytest.mark.parametrize(
    ("epoch", "end"),
    [
        (0, (0, 10)),  # it ends where epoch 2 begins
        (1, (0, 10)),  # unknown: the one before
        (2, (2, 25)),
        (4, (2, 25)),
        (5, (5, 40)),
        (6, (5, 40)),  # the leader has appended nothing in its epoch 7
        (7, (7, 40)),
        (8, None),
    ],
)
def test_the_end_of_an_epoch(epoch: int, end: tuple[int, int] | None) -> None:
    found = epochs_of((0, 0), (2, 10), (5, 25)).end_of(epoch, 7, 40)
    assert found == (None if end is None else EpochEnd(*end))


def test_a_log_without_batches() -> None:
    assert LeaderEpochs().end_of(3, 3, 0) == EpochEnd(3, 0)
    assert LeaderEpochs().end_of(1, 3, 0) == EpochEnd(1, 0)
    assert LeaderEpochs().end_of(4, 3, 0) is None


def test_an_epoch_older_than_all_ends_where_the_first_begins() -> None:
    assert epochs_of((3, 10)).end_of(1, 3, 20) == EpochEnd(1, 10)


def test_batches_of_one_epoch_change_nothing() -> None:
    assert epochs_of((1, 0), (1, 7), (2, 9), (2, 20)).end_of(1, 2, 30) == EpochEnd(1, 9)


def test_batches_without_an_epoch_do_not_count() -> None:
    assert epochs_of((-1, 0), (3, 5)).end_of(0, 3, 9) == EpochEnd(0, 5)


@pytest.mark.parametrize(("offset", "ends"), [(5, {0: 10, 2: 25}), (10, {0: 10, 2: 25}), (12, {1: 12, 2: 25})])
def test_deleted_records_leave_the_epoch_of_the_start(offset: int, ends: dict[int, int]) -> None:
    epochs = epochs_of((0, 0), (2, 10), (5, 25))
    epochs.deleted_before(offset)
    for epoch, end_offset in ends.items():
        assert epochs.end_of(epoch, 5, 40) == EpochEnd(epoch, end_offset)


def test_a_log_of_which_all_is_deleted_has_only_the_epoch_of_its_leader() -> None:
    epochs = epochs_of((0, 0), (2, 10))
    epochs.deleted_before(20)
    assert epochs.end_of(2, 2, 20) == EpochEnd(2, 20)
    assert epochs.end_of(3, 5, 20) == EpochEnd(3, 20)
    epochs.begun(5, 20)
    assert epochs.end_of(3, 5, 30) == EpochEnd(3, 20)


def test_truncation_drops_the_epochs_after_it() -> None:
    epochs = epochs_of((0, 0), (2, 10), (5, 25))
    epochs.truncated(25)
    assert epochs.end_of(5, 6, 25) == EpochEnd(2, 25)
    epochs.truncated(7)
    assert epochs.end_of(2, 6, 7) == EpochEnd(0, 7)
    epochs.begun(6, 7)
    assert epochs.end_of(0, 6, 9) == EpochEnd(0, 7)


def test_an_older_epoch_replaces_newer_ones() -> None:
    assert epochs_of((0, 0), (5, 10), (2, 20)).end_of(0, 2, 30) == EpochEnd(0, 20)
    assert epochs_of((0, 0), (2, 10), (5, 10)).end_of(2, 5, 30) == EpochEnd(0, 10)
