"""Records that were running when a process was killed run alone, after all others."""

import random
from collections.abc import Sequence
from uuid import UUID

import pytest

from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.named_suspects import MOST_NAMED, NamedSuspects, RunningRange
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.steps import (
    AcknowledgeRecords,
    InvokeHandler,
    WriteOutputs,
    WritePurpose,
    WriteRecords,
)
from kafka_groups.types import AcknowledgeType, TopicIdPartition
from tests.unit.share.workers.rules.jobs import dead_letter

ORDERS = TopicIdPartition(UUID(int=1), 3, "orders")
OTHERS = TopicIdPartition(UUID(int=1), 4, "orders")


def handling(*, concurrency: int = 4, copies: bool = False, by_key: bool = False) -> RecordHandling[int]:
    """Rules for records that are their offsets."""
    rules: HandlingRules[int] = HandlingRules(
        failures=FailureRules(retries=Backoff(), exhausted=OnError.REJECT),
        policy=DeliveryPolicy(5),
        concurrency=concurrency,
        buffer=100,
        dead_letter=dead_letter if copies else None,
        record_locks=2_000,
        record_id=lambda offset: (ORDERS, offset),
        key_of=(lambda offset: offset) if by_key else None,
    )
    return RecordHandling(rules, random.Random(1))


def started(rules: RecordHandling[int]) -> list[InvokeHandler[int]]:
    """The runs that start now. Acknowledgements in between are confirmed."""
    runs = []
    while (step := rules.next(0)) is not None:
        assert not isinstance(step, WriteRecords | WriteOutputs)
        if isinstance(step, AcknowledgeRecords):
            rules.outbox.settled(step)
        else:
            while step.unstarted:
                step.take()
            runs.append(step)
    return runs


def order(rules: RecordHandling[int]) -> list[list[int]]:
    """What runs at the same time, until nothing is left. All records succeed."""
    found = []
    while runs := started(rules):
        found.append([offset for run in runs for offset in run.records])
        for run in runs:
            rules.runs.ran(run, (), 0)
    return found


def arrive(rules: RecordHandling[int], offsets: Sequence[int], counts: Sequence[int]) -> None:
    rules.arrived(ORDERS, offsets, counts, offsets[-1], 0)


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize(("count", "first", "second"), [(1, 12, 11), (2, 11, 12), (3, 12, 11)])
def test_named_records_run_one_by_one_after_other_suspects(
    count: int, first: int, second: int, *, by_key: bool
) -> None:
    """Every other delivery reverses the order, so that a bad record does not keep others from running for ever."""
    rules = handling(by_key=by_key)
    rules.suspect([RunningRange(ORDERS, 11, 12)])
    arrive(rules, [10, 11, 12, 13], [2, count, count, 2])
    assert order(rules) == [[10, 13], [first], [second]]


def test_those_that_are_here_already_move() -> None:
    rules = handling(concurrency=2)
    arrive(rules, [10, 11, 12, 13], [2, 2, 2, 2])
    rules.suspect([RunningRange(ORDERS, 10, 10)])
    assert order(rules) == [[11, 12], [13], [10]]


def test_those_that_run_already_go_on() -> None:
    rules = handling(concurrency=2)
    arrive(rules, [10, 11, 12], [2, 2, 2])
    runs = started(rules)
    rules.suspect([RunningRange(ORDERS, 10, 12)])
    assert [list(run.records) for run in runs] == [[10], [11]]
    rules.runs.ran(runs[0], (), 0)
    assert started(rules) == []
    rules.runs.ran(runs[1], (), 0)
    assert order(rules) == [[12]]


def test_a_named_record_on_one_of_its_last_deliveries_is_copied_first() -> None:
    rules = handling(copies=True)
    rules.suspect([RunningRange(ORDERS, 11, 11)])
    arrive(rules, [10, 11], [4, 4])
    copies = [rules.next(0), rules.next(0)]
    assert rules.next(0) is None
    for copy in copies:
        assert isinstance(copy, WriteRecords)
        assert copy.purpose is WritePurpose.BEFORE_PROCESSING
        rules.writing.written(copy, None, 0)
    assert order(rules) == [[10], [11]]


def test_nothing_else_starts_beside_a_named_record() -> None:
    rules = handling()
    arrive(rules, [1], [1])
    rules.suspect([RunningRange(ORDERS, 11, 11)])
    arrive(rules, [11], [1])
    (run,) = started(rules)
    assert list(run.records) == [11]
    assert rules.wanted(0) == 0
    rules.runs.ran(run, (), 0)
    assert order(rules) == [[1]]


def test_named_records_are_released_at_the_end() -> None:
    rules = handling()
    rules.suspect([RunningRange(ORDERS, 10, 11)])
    arrive(rules, [10, 11], [2, 2])
    rules.stop(0, 0)
    steps = [rules.next(0), rules.next(0)]
    assert [step.kind for step in steps if isinstance(step, AcknowledgeRecords)] == [AcknowledgeType.RELEASE]
    assert [offset for step in steps if isinstance(step, AcknowledgeRecords) for offset in step.records] == [10, 11]


def test_the_rules_say_which_deliveries_have_suspects() -> None:
    rules = handling()
    rules.suspect([RunningRange(ORDERS, 11, 15)])
    found = [
        rules.holdings.suspects.named.covers(ORDERS, first, last)
        for first, last in ((0, 10), (0, 11), (12, 12), (15, 20), (16, 20))
    ]
    assert found == [False, True, True, True, False]
    assert not rules.holdings.suspects.named.covers(OTHERS, 0, 100)


def test_the_oldest_names_are_forgotten() -> None:
    named = NamedSuspects()
    named.add(RunningRange(ORDERS, offset, offset) for offset in range(MOST_NAMED + 1))
    assert (ORDERS, 0) not in named
    assert (ORDERS, 1) in named
    assert (ORDERS, MOST_NAMED) in named


def test_a_range_names_its_records() -> None:
    assert str(RunningRange(ORDERS, 5, 5)) == "orders-3@5"
    assert str(RunningRange(ORDERS, 5, 7)) == "orders-3@5 to 7"
