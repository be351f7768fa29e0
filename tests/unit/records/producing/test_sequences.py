"""Sequence numbers: they wrap, they follow what was confirmed, and they begin anew."""

import pytest

from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.producing.sequences import SequenceNumbers, number_after, overlap

PRODUCER, NEXT = ProducerIdAndEpoch(5, 0), ProducerIdAndEpoch(5, 1)
LAST = 2**31 - 1


@pytest.mark.parametrize(
    ("sequence", "count", "after"), [(0, 1, 1), (7, 100, 107), (LAST, 1, 0), (LAST - 1, 1, LAST), (LAST - 2, 10, 7)]
)
def test_numbers_wrap(sequence: int, count: int, after: int) -> None:
    assert number_after(sequence, count) == after


def test_the_first_number_is_0() -> None:
    numbers = SequenceNumbers()
    assert (numbers.producer, numbers.expected, numbers.last_confirmed) == (NO_PRODUCER, 0, None)


def test_the_next_number_follows_what_was_confirmed() -> None:
    numbers = SequenceNumbers()
    numbers.begin(PRODUCER)
    numbers.confirm(PRODUCER, 9)
    assert numbers.expected == 10
    numbers.confirm(PRODUCER, LAST)
    assert numbers.expected == 10, "an answer from half of all numbers behind is older"
    numbers.confirm(PRODUCER, 4)
    assert numbers.expected == 10


def test_a_number_after_the_wrap_is_later() -> None:
    numbers = SequenceNumbers()
    numbers.begin(PRODUCER)
    numbers.confirm(PRODUCER, 1_000_000_000)
    numbers.confirm(PRODUCER, 2_000_000_000)
    numbers.confirm(PRODUCER, LAST - 1)
    numbers.confirm(PRODUCER, 3)
    assert numbers.expected == 4
    numbers.confirm(PRODUCER, LAST)
    assert numbers.expected == 4


def test_an_epoch_begins_with_0_and_ignores_the_one_before() -> None:
    numbers = SequenceNumbers()
    numbers.begin(PRODUCER)
    numbers.confirm(PRODUCER, 9)
    numbers.begin(NEXT)
    numbers.confirm(PRODUCER, 19)
    assert (numbers.expected, numbers.last_confirmed) == (0, None)


@pytest.mark.parametrize(
    ("confirmed", "last_in_flight", "number"), [(None, 4, 5), (4, 9, 10), (24, 19, 25), (3, LAST - 5, 4), (LAST, 3, 4)]
)
def test_a_new_batch_never_gets_numbers_that_were_confirmed(
    confirmed: int | None, last_in_flight: int, number: int
) -> None:
    numbers = SequenceNumbers()
    numbers.begin(PRODUCER)
    if confirmed is not None:
        numbers.confirm(PRODUCER, confirmed)
    assert numbers.after(last_in_flight) == number


@pytest.mark.parametrize(
    ("run", "other", "is_common"),
    [
        ((5, 3), (8, 2), False),
        ((5, 3), (7, 2), True),
        ((5, 3), (3, 2), False),
        ((5, 3), (3, 3), True),
        ((5, 3), (0, 20), True),
        ((LAST - 1, 3), (0, 1), True),
        ((LAST - 1, 2), (0, 1), False),
        ((0, 1), (LAST - 1, 3), True),
    ],
)
def test_runs_of_numbers_that_overlap(run: tuple[int, int], other: tuple[int, int], is_common: bool) -> None:
    assert overlap(*run, *other) is overlap(*other, *run) is is_common
