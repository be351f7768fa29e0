"""Care with records that were delivered before, and how long a batch waits for more."""

import pytest

from kafka_groups.spark.source.rules.filling import JOIN_TIMEOUT_MS, Filling, Saturation
from kafka_groups.spark.source.rules.micro_batches import BatchLimits, MicroBatches
from kafka_groups.spark.source.rules.offsets import SourceOffset
from kafka_groups.spark.source.rules.redelivery_limits import RedeliveryLimits
from tests.unit.spark.source.numbered import NumberedPiece, numbers_of


@pytest.mark.parametrize(
    ("limit", "first_risky", "first_copied"), [(2, 2, 2), (3, 2, 2), (5, 3, 4), (10, 8, 9), (25, 23, 24)]
)
def test_care_begins_before_the_last_delivery(limit: int, first_risky: int, first_copied: int) -> None:
    redelivery = RedeliveryLimits(limit, 1_000)
    assert next(n for n in range(1, 30) if redelivery.is_risky(n)) == first_risky
    assert next(n for n in range(1, 30) if redelivery.is_copied(n)) == first_copied
    assert redelivery.rows_at_once(limit) == redelivery.rows_at_once(limit + 1) == 1


def test_batches_become_smaller_and_waits_longer_with_each_delivery() -> None:
    redelivery = RedeliveryLimits(5, 300_000)
    assert [redelivery.rows_at_once(n) for n in (3, 4, 5)] == [256, 16, 1]
    assert [redelivery.held_back_ms(n) for n in (1, 2, 3, 4)] == [0, 0, 800, 4_800]
    assert RedeliveryLimits(5, 1_000).held_back_ms(4) == 1_000
    assert RedeliveryLimits(5, 0).held_back_ms(4) == 0


@pytest.mark.parametrize("limit", range(2, 26))
def test_nothing_is_held_back_on_its_last_delivery(limit: int) -> None:
    assert RedeliveryLimits(limit, 300_000).held_back_ms(limit) == 0


def test_a_run_after_failed_ones_waits_with_nothing_in_hand() -> None:
    redelivery = RedeliveryLimits(5, 300_000)
    assert [redelivery.wait_before_ms(n) for n in range(6)] == [0, 800, 4_800, 28_800, 172_800, 300_000]
    assert RedeliveryLimits(5, 5_000).wait_before_ms(9) == 5_000
    assert RedeliveryLimits(5, 0).wait_before_ms(4) == 0


def test_few_records_are_acquired_while_they_were_delivered_often() -> None:
    redelivery = RedeliveryLimits(5, 5_000)
    assert redelivery.rows_acquired(0, 0) == 1, "nothing is known before the first record"
    assert [redelivery.rows_acquired(n, 0) for n in (1, 2, 3, 4, 5)] == [None, None, 256, 16, 1]
    assert {redelivery.rows_acquired(count, failures) for count in range(6) for failures in (1, 2, 9)} == {2}


@pytest.mark.parametrize("limit", [2, 3, 5, 25])
def test_no_last_delivery_is_acquired_while_nothing_shows_that_the_sink_works(limit: int) -> None:
    redelivery = RedeliveryLimits(limit, 1_000)
    assert redelivery.may_acquire(limit - 2, 1)
    assert not redelivery.may_acquire(limit - 1, 1)
    assert not redelivery.may_acquire(limit - 1, 1_000)
    assert redelivery.may_acquire(limit - 1, 0), "no run has failed, or this one has finished a batch"


def sealed(source: MicroBatches[NumberedPiece], now_ms: int) -> list[int]:
    """The next batch, finished at once."""
    start = SourceOffset(0, "before")
    batch = source.seal(start, BatchLimits(100, 10_000), now_ms)
    if batch is None:
        return []
    assert source.finished(batch.end) is batch
    return numbers_of(batch.pieces)


def test_risky_records_wait_once_and_go_apart_by_turns() -> None:
    source: MicroBatches[NumberedPiece] = MicroBatches("run", RedeliveryLimits(5, 1_000))
    source.hold([NumberedPiece(tuple(range(300)), 3), NumberedPiece((900, 901))], now_ms=200)
    assert sealed(source, 200) == [900, 901]
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
    source: MicroBatches[NumberedPiece] = MicroBatches("run", RedeliveryLimits(5, 1_000))
    source.hold([NumberedPiece((1,), 4, may_wait=False), NumberedPiece((2,), 4)], 0)
    assert [sealed(source, 0), sealed(source, 0), sealed(source, 6_000)] == [[1], [], [2]]


def test_a_record_on_its_last_delivery_goes_alone() -> None:
    source: MicroBatches[NumberedPiece] = MicroBatches("run", RedeliveryLimits(2, 0))
    source.hold([NumberedPiece((1, 2, 3), 2)], 0)
    assert source.rows_at_limit() == 3
    assert [sealed(source, 0) for _ in range(4)] == [[1], [2], [3], []]
    assert source.rows_at_limit() == 0


def test_records_on_their_last_delivery_go_before_others() -> None:
    source: MicroBatches[NumberedPiece] = MicroBatches("run", RedeliveryLimits(5, 0))
    source.hold([NumberedPiece((1,), 3), NumberedPiece((2,), 5)], 0)
    assert [sealed(source, 0) for _ in range(2)] == [[2], [1]]


def test_runs_that_finish_nothing_are_counted_in_the_checkpoint() -> None:
    offset = SourceOffset(0, "first")
    for failures in range(3):
        source: MicroBatches[NumberedPiece] = MicroBatches(f"run {failures}", RedeliveryLimits(5, 0))
        assert source.planned(SourceOffset(0, "start"), SourceOffset.from_json(offset.to_json())) == ()
        assert source.failures == failures + 1
        source.hold([NumberedPiece((1, 2))], 0)
        batch = source.seal(offset, BatchLimits(1, 10_000), 0)
        assert batch is not None
        offset = batch.end
    assert source.finished(offset) is not None
    after = source.seal(offset, BatchLimits(1, 10_000), 0)
    assert after is not None
    assert after.end.to_json() == {"v": 1, "seq": offset.seq + 1, "run": "run 2", "deliveries": 1}


def test_a_run_that_is_stopped_while_it_waits_keeps_the_failures_in_the_checkpoint() -> None:
    failed = SourceOffset(7, "first", failures=2, deliveries=3)
    waiting: MicroBatches[NumberedPiece] = MicroBatches("second", RedeliveryLimits(5, 0))
    assert waiting.planned(SourceOffset(6, "first"), failed, 1_000) == ()
    mark = waiting.mark(failed)
    assert mark is not None
    assert mark.end == SourceOffset(8, "second", 3, 3, 1_000, is_mark=True)
    assert waiting.planned(failed, mark.end) == ()
    assert waiting.finished(mark.end) is mark
    assert (waiting.failures, waiting.mark(mark.end)) == (3, None), "an empty batch shows nothing"
    for before_end in (True, False):  # of the mark's own micro-batch
        later: MicroBatches[NumberedPiece] = MicroBatches("third", RedeliveryLimits(5, 0))
        if before_end:
            assert later.planned(failed, SourceOffset.from_json(mark.end.to_json()), 2_000) == ()
        later.resume(SourceOffset.from_json(mark.end.to_json()))
        assert (later.failures, later.deliveries, later.failing_since_ms) == (3, 3, 1_000)


def test_after_failed_runs_one_record_that_was_delivered_least_often_goes_first() -> None:
    source: MicroBatches[NumberedPiece] = MicroBatches("run", RedeliveryLimits(5, 0))
    assert source.planned(SourceOffset(0, "a"), SourceOffset(1, "a")) == ()
    source.hold([NumberedPiece((1,), 4), NumberedPiece((2, 3), 2)], 0)
    batch = source.seal(SourceOffset(1, "a"), BatchLimits(100, 10_000), 0)
    assert batch is not None
    assert (numbers_of(batch.pieces), batch.end.deliveries) == ([3], 4)
    assert source.finished(batch.end) is batch
    assert [sealed(source, 0), sealed(source, 0)] == [[1], [2]]


def test_a_batch_is_closed_when_a_leader_has_answered_without_records() -> None:
    filling = Filling.begin(500, fetches=7, join_timeout_ms=0, now_ms=1_000)
    assert filling.wait_ms(None, 1_000) == 500
    filling.polled(8, 1_200, came=True)
    assert filling.wait_ms(0, 1_200) == 10
    assert not filling.is_over(0, 8, 1_210)
    assert filling.is_over(0, 9, 1_220)


def test_records_that_waited_do_not_close_the_batch_before_an_answer() -> None:
    filling = Filling.begin(500, fetches=7, join_timeout_ms=0, now_ms=1_000)
    filling.polled(7, 1_000, came=True)
    assert not filling.is_over(0, 7, 1_010)
    assert filling.is_over(0, 7, 1_100), "but not for long"


def test_without_records_the_batch_waits_for_the_time_given() -> None:
    filling = Filling.begin(500, fetches=7, join_timeout_ms=0, now_ms=1_000)
    assert not filling.is_over(None, 9, 1_499)
    assert filling.is_over(None, 9, 1_500)
    assert filling.wait_ms(40, 1_000) == 40, "records that are held back may go sooner"
    assert filling.wait_ms(None, 1_700) == 1


def test_a_run_that_would_end_waits_until_the_group_lets_it_in() -> None:
    filling = Filling.begin(500, fetches=0, join_timeout_ms=JOIN_TIMEOUT_MS, now_ms=0)
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
