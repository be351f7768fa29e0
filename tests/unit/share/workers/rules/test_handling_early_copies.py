"""Records on one of their last deliveries are copied before anything starts that might end the process."""

import random
from uuid import UUID

import pytest

from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords, FailedRecord, InvokeHandler, WriteRecords
from kafka_groups.types import TopicIdPartition
from tests.unit.share.workers.rules.jobs import dead_letter

ORDERS = TopicIdPartition(UUID(int=1), 3, "orders")


def handling_of_offsets(*, by_key: bool = False) -> RecordHandling[int]:
    """Rules for records that are their offsets. With keys, all have the same."""
    rules: HandlingRules[int] = HandlingRules(
        failures=FailureRules(retries=Backoff(), exhausted=OnError.DEAD_LETTER),
        policy=DeliveryPolicy(5),
        concurrency=4,
        buffer=100,
        dead_letter=dead_letter,
        record_locks=2_000,
        record_id=lambda offset: (ORDERS, offset),
        key_of=(lambda _: "ann") if by_key else None,
    )
    return RecordHandling(rules, random.Random(1))


def with_a_record_at_risk() -> tuple[RecordHandling[int], WriteRecords[int]]:
    """Rules that have a new record, one of a third delivery and one of the last but one, whose copy is under way."""
    handling = handling_of_offsets()
    handling.arrived(ORDERS, [0, 1, 2], [1, 3, 4], 2, 0)
    copy = handling.next(0)
    assert isinstance(copy, WriteRecords)
    assert copy.opened.record == 2
    return handling, copy


def test_nothing_starts_before_the_copy_is_confirmed() -> None:
    handling, copy = with_a_record_at_risk()
    assert handling.next(0) is None
    handling.writing.written(copy, None, 10)
    assert isinstance(handling.next(10), InvokeHandler)


def test_a_copy_that_failed_stops_nothing() -> None:
    handling, copy = with_a_record_at_risk()
    handling.writing.written(copy, OSError("no brokers"), 10)
    run = handling.next(10)
    assert isinstance(run, InvokeHandler)
    assert 2 not in run.records


def test_a_copy_whose_lock_was_lost_stops_nothing() -> None:
    handling, _ = with_a_record_at_risk()
    handling.lost(lambda record: record == 2, 10)
    assert isinstance(handling.next(10), InvokeHandler)


# ------------------------------------------------------------------------------------------- records that wait


def copies_now(handling: RecordHandling[int]) -> dict[int, WriteRecords[int]]:
    """The copies that are due, by record. Nothing else is."""
    copies = {}
    while (step := handling.next(0)) is not None:
        assert isinstance(step, WriteRecords)
        copies[step.opened.record] = step
    return copies


def run_now(handling: RecordHandling[int]) -> int:
    """Run the only record that may start to its end, and return it."""
    run = handling.next(0)
    assert isinstance(run, InvokeHandler)
    record = run.take()
    assert handling.next(0) is None
    handling.runs.ran(run, (), 0)
    settle = handling.next(0)
    assert isinstance(settle, AcknowledgeRecords)
    assert settle.records == [record]
    handling.outbox.settled(settle)
    return record


def test_records_that_wait_for_a_key_are_copied_with_the_others_and_only_once() -> None:
    handling = handling_of_offsets(by_key=True)
    handling.arrived(ORDERS, [0, 1, 2], [4, 4, 4], 2, 0)
    copies = copies_now(handling)
    assert set(copies) == {0, 1, 2}
    assert handling.in_hand == {"held": 2, "running": 0, "delayed": 0, "waiting": 0, "writing": 1}
    for record in (2, 0, 1):
        handling.writing.written(copies[record], None, 0)
    assert [run_now(handling) for _ in range(3)] == [0, 1, 2]
    assert handling.is_done


def test_a_record_whose_turn_comes_before_its_copy_is_confirmed_waits_for_it() -> None:
    handling = handling_of_offsets(by_key=True)
    handling.arrived(ORDERS, [0, 1], [1, 4], 1, 0)
    copies = copies_now(handling)
    handling.lost(lambda record: record == 0, 0)
    assert handling.next(0) is None
    handling.writing.written(copies[1], None, 0)
    assert run_now(handling) == 1
    assert handling.is_done


def test_a_copy_that_failed_while_its_record_waited_is_repeated_before_its_turn_comes() -> None:
    """What runs meanwhile may end the process, and with it the last delivery of the record."""
    handling = handling_of_offsets(by_key=True)
    handling.arrived(ORDERS, [0, 1], [1, 4], 1, 0)
    handling.writing.written(copies_now(handling)[1], OSError("no brokers"), 0)
    run = handling.next(0)
    assert isinstance(run, InvokeHandler)
    assert run.take() == 0
    again = handling.next(1_000)
    assert isinstance(again, WriteRecords)
    assert again.opened.record == 1
    handling.writing.written(again, None, 1_000)
    handling.runs.ran(run, (), 1_000)
    settle = handling.next(1_000)
    assert isinstance(settle, AcknowledgeRecords)
    handling.outbox.settled(settle)
    assert run_now(handling) == 1
    assert handling.is_done


@pytest.mark.parametrize("is_under_way", [True, False])
def test_a_record_that_is_lost_while_it_waits_frees_no_key(*, is_under_way: bool) -> None:
    handling = handling_of_offsets(by_key=True)
    handling.arrived(ORDERS, [0, 1, 2], [1, 4, 1], 2, 0)
    copies = copies_now(handling) if is_under_way else {}
    assert handling.lost(lambda record: record == 1, 0) == 1
    for copy in copies.values():
        handling.writing.written(copy, None, 0)
    assert [run_now(handling) for _ in range(2)] == [0, 2]
    assert handling.is_done


def test_a_record_that_waits_for_its_earlier_handler_is_copied_meanwhile() -> None:
    handling = handling_of_offsets()
    handling.arrived(ORDERS, [0], [3], 0, 0)
    earlier = handling.next(0)
    assert isinstance(earlier, InvokeHandler)
    earlier.take()
    handling.lost(lambda record: record == 0, 0)
    handling.arrived(ORDERS, [0], [4], 0, 0)
    handling.writing.written(copies_now(handling)[0], None, 0)
    handling.runs.ran(earlier, (FailedRecord(0, ValueError("no")),), 0)
    assert run_now(handling) == 0
    assert handling.is_done
