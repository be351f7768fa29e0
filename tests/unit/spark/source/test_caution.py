"""Care with records that were delivered before, and how long a batch waits for more."""

import pytest

from kafka_groups.spark.source.caution import Caution
from kafka_groups.spark.source.filling import JOIN_TIMEOUT_MS, Filling, Saturation
from kafka_groups.spark.source.offsets import SourceOffset
from kafka_groups.spark.source.sealing import BatchLimits, Sealing
from tests.unit.spark.source.numbered import NumberedPiece, numbers_of


@pytest.mark.parametrize(
    ("limit", "first_risky", "first_copied"), [(2, 2, 2), (3, 2, 2), (5, 3, 4), (10, 8, 9), (25, 23, 24)]
)
def test_care_begins_before_the_last_delivery(limit: int, first_risky: int, first_copied: int) -> None:
    caution = Caution(limit, 1_000)
    assert next(n for n in range(1, 30) if caution.is_risky(n)) == first_risky
    assert next(n for n in range(1, 30) if caution.is_copied(n)) == first_copied
    assert caution.rows_at_once(limit) == caution.rows_at_once(limit + 1) == 1


def test_batches_become_smaller_and_waits_longer_with_each_delivery() -> None:
    caution = Caution(5, 1_000)
    assert [caution.rows_at_once(n) for n in (3, 4, 5)] == [256, 16, 1]
    assert [caution.held_back_ms(n) for n in (1, 2, 3, 4, 5)] == [0, 0, 1_000, 6_000, 36_000]
    assert Caution(25, 300_000).held_back_ms(25) == 300_000
    assert Caution(5, 0).held_back_ms(5) == 0


def sealed(source: Sealing[NumberedPiece], now_ms: int) -> list[int]:
    """The next batch, finished at once."""
    start = SourceOffset(0, "before")
    batch = source.seal(start, BatchLimits(100, 10_000), now_ms)
    if batch is None:
        return []
    assert source.finished(batch.end) is batch
    return numbers_of(batch.pieces)


def test_risky_records_wait_once_and_go_apart_by_turns() -> None:
    source: Sealing[NumberedPiece] = Sealing("run", Caution(5, 1_000))
    source.hold([NumberedPiece(tuple(range(300)), 3), NumberedPiece((900, 901))], now_ms=0)
    assert sealed(source, 0) == [900, 901]
    assert sealed(source, 999) == []
    assert source.wait_ms(999) == 1
    source.hold([NumberedPiece((902,))], 1_000)
    assert sealed(source, 1_000) == list(range(100))
    source.hold([NumberedPiece((903,))], 1_000)
    assert sealed(source, 1_000) == [902, 903]
    assert sealed(source, 1_000) == list(range(100, 200))
    source.hold([NumberedPiece((500,), 3)], 1_001)
    assert sealed(source, 1_001) == list(range(200, 300)), "the wait is for the run, not for each record"
    assert sealed(source, 1_001) == [500]
    assert source.wait_ms(1_001) is None


def test_records_that_would_expire_meanwhile_do_not_wait() -> None:
    source: Sealing[NumberedPiece] = Sealing("run", Caution(5, 1_000))
    source.hold([NumberedPiece((1,), 4, may_wait=False), NumberedPiece((2,), 4)], 0)
    assert [sealed(source, 0), sealed(source, 0), sealed(source, 6_000)] == [[1], [], [2]]


def test_a_record_on_its_last_delivery_goes_alone() -> None:
    source: Sealing[NumberedPiece] = Sealing("run", Caution(2, 0))
    source.hold([NumberedPiece((1, 2, 3), 2)], 0)
    assert [sealed(source, 0) for _ in range(4)] == [[1], [2], [3], []]


def test_a_batch_is_closed_when_a_leader_has_answered_without_records() -> None:
    filling = Filling.begin(500, fetches=7, now_ms=1_000, patient=False)
    assert filling.wait_ms(None, 1_000) == 500
    filling.polled(8, 1_200, came=True)
    assert filling.wait_ms(0, 1_200) == 10
    assert not filling.is_over(0, 8, 1_210)
    assert filling.is_over(0, 9, 1_220)


def test_records_that_waited_do_not_close_the_batch_before_an_answer() -> None:
    filling = Filling.begin(500, fetches=7, now_ms=1_000, patient=False)
    filling.polled(7, 1_000, came=True)
    assert not filling.is_over(0, 7, 1_010)
    assert filling.is_over(0, 7, 1_100), "but not for long"


def test_without_records_the_batch_waits_for_the_time_given() -> None:
    filling = Filling.begin(500, fetches=7, now_ms=1_000, patient=False)
    assert not filling.is_over(None, 9, 1_499)
    assert filling.is_over(None, 9, 1_500)
    assert filling.wait_ms(40, 1_000) == 40, "records that are held back may go sooner"
    assert filling.wait_ms(None, 1_700) == 1


def test_a_run_that_would_end_waits_until_the_group_lets_it_in() -> None:
    filling = Filling.begin(500, fetches=0, now_ms=0, patient=True)
    for now_ms in range(500, JOIN_TIMEOUT_MS, 500):
        filling.polled(0, now_ms, came=False)
        assert not filling.is_over(None, 0, now_ms)
    filling.polled(1, JOIN_TIMEOUT_MS - 400, came=False)
    assert not filling.is_over(None, 1, JOIN_TIMEOUT_MS - 400)
    assert filling.is_over(None, 1, JOIN_TIMEOUT_MS)


def test_a_batch_as_large_as_the_locks_allow_is_closed_at_once() -> None:
    saturation = Saturation()
    assert not saturation.is_reached(8_000), "nothing is known yet"
    saturation.closed(8_000)
    assert not saturation.is_reached(7_999)
    assert not saturation.is_reached(10_001), "more has become possible"
    assert [saturation.is_reached(8_100) for _ in range(21)] == [True] * 20 + [False]
    saturation.closed(8_100)
    assert saturation.is_reached(8_100)
