"""Nothing starts while records on one of their last deliveries are not copied: it might end the process."""

import random
from uuid import UUID

from kafka_groups.share.workers.rules.backoffs import Backoff
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.steps import CopyLetters, RecordRun
from kafka_groups.share.workers.rules.verdicts import FailureRules, OnError
from kafka_groups.types import TopicIdPartition

ORDERS = TopicIdPartition(UUID(int=1), 3, "orders")


def with_a_record_at_risk() -> tuple[RecordHandling[int], CopyLetters[int]]:
    """Rules that have a new record, one of a third delivery and one of the last but one, whose copy is under way."""
    rules: HandlingRules[int] = HandlingRules(
        failures=FailureRules(retries=Backoff(), exhausted=OnError.DEAD_LETTER),
        policy=DeliveryPolicy(5),
        concurrency=4,
        buffer=100,
        copies=True,
        record_locks=2_000,
        place_of=lambda offset: (ORDERS, offset),
    )
    handling = RecordHandling(rules, random.Random(1))
    handling.arrived(ORDERS, [0, 1, 2], [1, 3, 4], 2, 0)
    copy = handling.next(0)
    assert isinstance(copy, CopyLetters)
    assert copy.opened.record == 2
    return handling, copy


def test_nothing_starts_before_the_copy_is_confirmed() -> None:
    handling, copy = with_a_record_at_risk()
    assert handling.next(0) is None
    handling.copied(copy, None, 10)
    assert isinstance(handling.next(10), RecordRun)


def test_a_copy_that_failed_stops_nothing() -> None:
    handling, copy = with_a_record_at_risk()
    handling.copied(copy, OSError("no brokers"), 10)
    run = handling.next(10)
    assert isinstance(run, RecordRun)
    assert 2 not in run.records


def test_a_copy_whose_lock_was_lost_stops_nothing() -> None:
    handling, _ = with_a_record_at_risk()
    handling.lost(lambda record: record == 2, 10)
    assert isinstance(handling.next(10), RecordRun)
