"""Handlers of one process: a record that ends it costs the others' records no copy and no delivery too many."""

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.handler_rate import RateRule
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import BatchSizes, HandlingRules
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.runs import RunningRecords
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords, FailedRecord, InvokeHandler, WriteRecords
from kafka_groups.share.workers.rules.suspects import LONGEST_ALONE_MS
from kafka_groups.types import RecordId, TopicIdPartition
from tests.support.planted_defects import Patch, by_name
from tests.unit.share.workers.rules.jobs import dead_letter
from tests.unit.share.workers.rules.naive_process import NaiveProcess, ProcessPlan

ORDERS, PAYMENTS = (TopicIdPartition(UUID(int=number), 0, name) for number, name in ((1, "orders"), (2, "payments")))

SEEDS = (0, 4, 7, 14, 23, 29, 37, *range(40, 60))
"""The first of them find the planted defects of today."""

FIFTY_A_SECOND = RateRule(50, 1_000, 2)

Handling = RecordHandling[RecordId]


def handling_of(gate: ProcessGate, *, is_batch: bool = False) -> Handling:
    """The rules of a handler of records that are their places."""
    rules: HandlingRules[RecordId] = HandlingRules(
        failures=FailureRules(retries=Backoff(), exhausted=OnError.DEAD_LETTER),
        policy=DeliveryPolicy(5),
        concurrency=4,
        buffer=100,
        dead_letter=dead_letter,
        record_locks=2_000,
        record_id=lambda place: place,
        batch=BatchSizes(10, 20_000) if is_batch else None,
    )
    return RecordHandling(rules, random.Random(1), gate)


@pytest.fixture
def gate() -> ProcessGate:
    return ProcessGate()


def arrive(handling: Handling, partition: TopicIdPartition, *offsets: int, count: int = 1, now_ms: int = 0) -> None:
    places = [(partition, offset) for offset in offsets]
    handling.arrived(partition, places, [count] * len(places), max(offsets), now_ms)


def started(handling: Handling, now_ms: int = 0) -> InvokeHandler[RecordId] | None:
    step = handling.next(now_ms)
    if step is None:
        return None
    assert isinstance(step, InvokeHandler), step
    step.take()
    return step


def run_of(handling: Handling, now_ms: int = 0) -> InvokeHandler[RecordId]:
    run = started(handling, now_ms)
    assert run is not None
    return run


def succeed(handling: Handling, run: InvokeHandler[RecordId], now_ms: int = 0) -> None:
    handling.runs.ran(run, (), now_ms)
    settle = handling.next(now_ms)
    assert isinstance(settle, AcknowledgeRecords)
    handling.outbox.settled(settle)


# ---------------------------------------------------------------------------------------------- the copies of others


def test_nothing_of_any_handler_starts_while_one_copies_last_deliveries(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    arrive(orders, ORDERS, 7, count=4)
    arrive(payments, PAYMENTS, 0)
    copy = orders.next(0)
    assert isinstance(copy, WriteRecords)
    assert payments.next(0) is None
    orders.writing.written(copy, None, 5)
    assert payments.next(5) is not None


def test_a_copy_that_failed_holds_up_no_other_handler(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    arrive(orders, ORDERS, 7, count=4)
    arrive(payments, PAYMENTS, 0)
    copy = orders.next(0)
    assert isinstance(copy, WriteRecords)
    orders.writing.written(copy, OSError("no brokers"), 5)
    assert payments.next(5) is not None


def test_records_that_no_slot_has_started_wait_for_the_copies_of_others(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    for _ in range(5):
        payments.pace.ran(100, 10)
    arrive(payments, PAYMENTS, *range(40))
    run = run_of(payments)
    assert run.unstarted
    arrive(orders, ORDERS, 7, count=5)
    copy = orders.next(0)
    assert payments.next(0) is None
    assert not run.unstarted
    assert payments.in_hand["held"] == 39
    assert isinstance(copy, WriteRecords)
    orders.writing.written(copy, None, 5)
    assert run_of(payments, 5).records[0] == (PAYMENTS, 1)


# ---------------------------------------------------------------------------------------------- grave suspects


def test_a_named_suspect_waits_until_the_other_handlers_have_nothing_in_hand(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(payments, PAYMENTS, 0)
    running = run_of(payments)
    arrive(payments, PAYMENTS, 1)
    arrive(orders, ORDERS, 7, count=2)
    assert orders.next(0) is None
    assert payments.wanted(0) == 0, "what it fetches now would share the fate of the process"
    succeed(payments, running)
    succeed(payments, run_of(payments))
    alone = run_of(orders)
    arrive(payments, PAYMENTS, 2)
    assert payments.next(0) is None
    assert payments.wakes_ms() == LONGEST_ALONE_MS
    succeed(orders, alone)
    assert orders.next(0) is None
    assert payments.wanted(0) > 0
    assert payments.next(0) is not None


def test_it_waits_for_a_fetch_that_is_under_way(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    payments.is_fetching = True
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(orders, ORDERS, 7, count=2)
    assert orders.next(0) is None
    payments.is_fetching = False
    assert orders.next(0) is not None


@pytest.mark.parametrize("count", [2, 3])
def test_each_delivery_reverses_the_order_of_the_handlers(gate: ProcessGate, count: int) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    for handling, partition in ((orders, ORDERS), (payments, PAYMENTS)):
        handling.suspect([RunningRange(partition, 7, 7)])
        arrive(handling, partition, 7, count=count)
    first, second = (orders, payments) if count == 2 else (payments, orders)
    assert second.next(0) is None
    alone = run_of(first)
    assert second.next(0) is None
    succeed(first, alone)
    assert first.next(0) is None
    assert run_of(second).opened


def test_earlier_redeliveries_have_only_their_handler_to_themselves(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    arrive(orders, ORDERS, 7, count=2)
    arrive(payments, PAYMENTS, 0)
    assert orders.next(0) is not None
    assert payments.wanted(0) > 0
    assert payments.next(0) is not None


def test_a_handler_that_does_not_end_holds_up_a_suspect_for_30_seconds(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    arrive(payments, PAYMENTS, 0)
    run_of(payments)
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(orders, ORDERS, 7, count=2)
    assert orders.next(0) is None
    assert orders.wakes_ms() == LONGEST_ALONE_MS
    assert payments.wanted(LONGEST_ALONE_MS - 1) == 0
    assert orders.next(LONGEST_ALONE_MS - 1) is None
    assert orders.next(LONGEST_ALONE_MS) is not None


def test_suspects_without_end_leave_the_others_every_other_30_seconds(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    orders.suspect([RunningRange(ORDERS, 0, 99)])
    arrive(orders, ORDERS, *range(100), count=2)
    free, running = [], None
    for now_ms in range(0, 4 * LONGEST_ALONE_MS, 1_000):
        if running is not None:
            succeed(orders, running, now_ms)
        running = started(orders, now_ms)
        free.append(payments.wanted(now_ms) > 0)
    assert 55 <= sum(free) <= 65


def test_an_open_breaker_holds_up_no_suspect_of_others(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    arrive(payments, PAYMENTS, 0, 1, 2, 3)
    for _ in range(3):
        payments.runs.ran(run_of(payments), (FailedRecord(0, ConnectionError("down")),), 0)
    assert payments.breaker.is_open
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(orders, ORDERS, 7, count=2)
    assert orders.next(0) is not None


def test_a_batch_that_waits_for_more_records_runs_before_the_suspects_of_others(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate, is_batch=True)
    arrive(payments, PAYMENTS, 0, 1)
    assert payments.next(0) is None
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(orders, ORDERS, 7, count=2)
    assert payments.next(10) is not None


def test_a_stop_leaves_no_time_to_wait_for_others(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    arrive(payments, PAYMENTS, 0)
    run_of(payments)
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(orders, ORDERS, 7, count=2)
    assert orders.next(0) is None
    orders.stop(10, 25_000)
    assert orders.next(10) is not None


def test_a_grave_suspect_that_its_slot_has_not_started_in_time_asks_for_the_process_again(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(orders, ORDERS, 7, count=2)
    run = orders.next(0)
    assert isinstance(run, InvokeHandler)
    orders.runs.stretched(20)
    assert not run.unstarted
    orders.runs.ran(run, (), 20)
    assert payments.is_drained
    assert run_of(orders, 20).records == [(ORDERS, 7)]


def test_handlers_wake_each_other_and_one_that_has_ended_holds_up_none(gate: ProcessGate) -> None:
    orders, payments = handling_of(gate), handling_of(gate)
    woken = []
    gate.wake_by(orders, lambda: woken.append("orders"))
    gate.tell(payments)
    assert woken == ["orders"]
    gate.tell(payments)
    assert woken == ["orders"], "nothing has changed"
    arrive(payments, PAYMENTS, 0)
    run = run_of(payments)
    gate.tell(payments)
    assert woken == ["orders"], "while there are no suspects, nobody waits until others are done"
    orders.suspect([RunningRange(ORDERS, 7, 7)])
    arrive(orders, ORDERS, 7, count=2)
    assert orders.next(0) is None
    succeed(payments, run)
    gate.tell(payments)
    assert woken == ["orders"] * 2
    arrive(payments, PAYMENTS, 1)
    run_of(payments)
    assert orders.next(0) is None
    gate.leave(payments)
    assert woken == ["orders"] * 3
    assert orders.next(0) is not None


# ---------------------------------------------------------------------------------------------- lives of a process


def violations(plan: ProcessPlan) -> list[object]:
    """What should not have happened in the lives of a process."""
    process = NaiveProcess(plan)
    try:
        process.play()
    except AssertionError as error:
        return [error]
    copied = process.copied() if plan.has_notes and plan.killers == 1 else []
    return [*process.lost(), *copied]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("handlers", [2, 3])
def test_one_record_that_kills_costs_no_other_handler_a_copy_if_there_are_notes(seed: int, handlers: int) -> None:
    assert violations(ProcessPlan(seed=seed, handlers=handlers)) == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("killers", [1, 3])
def test_no_record_of_another_handler_is_lost_without_a_copy(seed: int, killers: int) -> None:
    for has_notes in (True, False):
        assert violations(ProcessPlan(seed=seed, handlers=3, killers=killers, has_notes=has_notes)) == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rates", [(FIFTY_A_SECOND, None), (None, FIFTY_A_SECOND), (FIFTY_A_SECOND,) * 3], ids=str)
def test_handlers_with_rate_limits_wait_for_the_suspects_of_others_and_theirs_for_them(
    seed: int, rates: tuple[RateRule | None, ...]
) -> None:
    assert violations(ProcessPlan(seed=seed, handlers=3, rates=rates)) == []


@pytest.mark.parametrize("seed", range(2))
def test_a_slow_rate_loses_nothing(seed: int) -> None:
    rates = (RateRule(1, 2_000, 1), RateRule(1, 2_000, 1))
    process = NaiveProcess(ProcessPlan(seed=seed, records=20, rates=rates))
    process.play()
    assert process.lost() == []


# ---------------------------------------------------------------------------------------------- planted defects


def the_gate_is_missing(patch: Patch) -> None:
    """Each handler looks at its own records only."""
    init = RecordHandling.__init__
    patch.setattr(
        RecordHandling, "__init__", lambda self, rules, rng, _gate, slots: init(self, rules, rng, None, slots)
    )


def copies_of_others_hold_up_nothing(patch: Patch) -> None:
    """Records start while another handler copies last deliveries."""

    def next_step(self: Any, now_ms: int) -> Any:
        patch.setattr(ProcessGate, "is_shut", property(lambda _: self.has_records_at_risk))
        return ORIGINAL_NEXT(self, now_ms)

    patch.setattr(RecordHandling, "next", next_step)


ORIGINAL_NEXT: Callable[[Any, int], Any] = RecordHandling.next


def runs_go_on_with_what_they_have_not_started(patch: Patch) -> None:
    """A run of several records is not interrupted by the copies of others."""
    patch.setattr(RunningRecords, "put_back_unstarted", lambda _: None)


def suspects_do_not_wait_for_other_handlers(patch: Patch) -> None:
    """A record that may kill runs while others are in hand."""
    patch.setattr(ProcessGate, "may_isolate", lambda *_: True)


def others_go_on_fetching(patch: Patch) -> None:
    """Records are acquired while one that may kill runs."""
    patch.setattr(ProcessGate, "may_fetch", lambda *_: True)


DEFECTS = by_name(
    the_gate_is_missing,
    copies_of_others_hold_up_nothing,
    runs_go_on_with_what_they_have_not_started,
    suspects_do_not_wait_for_other_handlers,
    others_go_on_fetching,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_planted_defects_of_the_gate_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    DEFECTS[name](monkeypatch)
    plans = (ProcessPlan(seed=seed, handlers=2 + seed % 2, killers=1, has_notes=seed % 4 < 2) for seed in SEEDS)
    assert any(map(violations, plans)), f"no scene shows that {name.replace('_', ' ')}"
