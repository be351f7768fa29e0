"""What the rules ask of a driver, step by step."""

import random
from collections.abc import Callable

import pytest

from kafka_groups.errors import IllegalStateError
from kafka_groups.share.workers.rules.failures.outages import Outage, Waits
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.rules.flow import Proof, SubBatchRules
from kafka_groups.spark.rules.sub_batch import (
    AcknowledgeSubBatch,
    RunOutcome,
    RunSubBatch,
    SubBatchEnd,
    SubBatchesDone,
    WaitBetweenTries,
)
from kafka_groups.spark.rules.sub_batch_handling import SubBatchHandling
from kafka_groups.types import AcknowledgeType
from tests.unit.spark.rules.listed import ListedPoll, ListedSubBatch, play

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
LIMIT = 5
Handling = SubBatchHandling[ListedSubBatch]
Process = Callable[[ListedSubBatch, int], RunOutcome]


def handling(
    *,
    is_patient: bool = True,
    rejects: bool = False,
    bisects: bool = False,
    copies: bool = False,
    proof: Proof[ListedSubBatch] | None = None,
    outage: Outage | None = None,
) -> Handling:
    rules = SubBatchRules(
        policy=DeliveryPolicy(LIMIT), is_patient=is_patient, rejects=rejects, bisects=bisects, copies=copies
    )
    return SubBatchHandling(rules, outage or sink(), proof or Proof())


def sink() -> Outage:
    return Outage(Waits(first_ms=200, factor=2, longest_ms=5_000), random.Random(1))


def poll(*numbers: int, count: int = 1) -> ListedPoll:
    return ListedPoll(dict.fromkeys(numbers, count))


def failing_on(*bad: int) -> Process:
    def process(sub_batch: ListedSubBatch, now_ms: int) -> RunOutcome:
        return RunOutcome.FAILED if set(bad) & set(sub_batch.numbers) else RunOutcome.SUCCEEDED

    return process


def away_until(until_ms: int) -> Process:
    return lambda sub_batch, now_ms: RunOutcome.FAILED if now_ms < until_ms else RunOutcome.SUCCEEDED


def test_new_records_are_run_and_settled_without_waiting() -> None:
    records = poll(1, 2, 3)
    played = play(handling(), records, failing_on())
    assert played.steps == [("run", 1, 2, 3), ("settle", SubBatchEnd.PROCESSED, dict.fromkeys((1, 2, 3), ACCEPT))]
    assert played.done == SubBatchesDone(has_given_up=False)
    assert records.is_over


def test_redelivered_records_are_confirmed_sub_batch_by_sub_batch() -> None:
    records = ListedPoll({1: 1, 2: 1, 3: 2, 4: 4})
    played = play(handling(), records, failing_on())
    kinds = [step[0] for step in played.steps]
    assert kinds == ["confirm", "wait", "run", "settle", "run", "settle", "confirm", "run", "settle", "confirm"]
    assert played.of("run") == [(1, 2), (3,), (4,)]
    assert played.of("wait") == [(100, False, 0, 0)]


def test_records_near_their_limit_are_copied_before_anything_runs() -> None:
    records = ListedPoll({1: 1, 2: 4, 3: 5})
    played = play(handling(copies=True), records, failing_on())
    assert played.steps[:2] == [("confirm",), ("copy", "on one of its last deliveries", 2, 3)]


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_records_that_the_program_rejects_are_released_unless_a_copy_is_confirmed(is_confirmed: bool) -> None:
    def process(sub_batch: ListedSubBatch, now_ms: int) -> RunOutcome:
        sub_batch.decide(REJECT, [1])
        return RunOutcome.SUCCEEDED

    records = poll(1, 2, 3)
    played = play(handling(copies=True), records, process, copies=is_confirmed)
    assert played.of("copy") == [("rejected", 2)]
    assert records.decided == {1: ACCEPT, 2: REJECT if is_confirmed else RELEASE, 3: ACCEPT}


def test_an_outage_is_waited_for_and_costs_nothing() -> None:
    records = poll(*range(10))
    played = play(handling(), records, away_until(60_000))
    assert set(records.decided.values()) == {ACCEPT}
    waits = played.of("wait")
    assert waits[:6] == [
        (200, True, 10, 1), (400, True, 10, 2), (800, True, 10, 3),
        (1_600, True, 10, 4), (3_200, True, 10, 5), (5_000, True, 10, 6),
    ]  # fmt: skip
    assert played.of("settle") == [(SubBatchEnd.PROCESSED, dict.fromkeys(range(10), ACCEPT))]


def test_one_record_is_tried_as_a_sample_after_three_failures() -> None:
    played = play(handling(), poll(*range(10)), failing_on(3), ends_ms=100_000)
    runs = played.of("run")
    assert runs[3:5] == [tuple(range(10)), (7,)], "the fourth try, and one record of it"
    assert played.of("settle")[0] == (SubBatchEnd.PROCESSED, {7: ACCEPT})


def test_bad_records_are_found_by_halves_and_given_up_after_a_success() -> None:
    records = poll(*range(16))
    played = play(handling(bisects=True), records, failing_on(5))
    assert records.decided == {**dict.fromkeys(range(16), ACCEPT), 5: RELEASE}
    assert played.of("wait") == []
    assert [step for step in played.of("settle") if step[0] is SubBatchEnd.BAD] == [(SubBatchEnd.BAD, {5: RELEASE})]


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_bad_records_are_rejected_after_their_copy_is_confirmed(is_confirmed: bool) -> None:
    records = poll(1)
    played = play(handling(rejects=True, copies=True), records, failing_on(1), others=[poll(2)], copies=is_confirmed)
    assert played.of("copy") == [("failed", 1)]
    assert records.decided == {1: REJECT if is_confirmed else RELEASE}


def test_bad_records_leave_no_doubt_about_the_sink() -> None:
    outage = sink()
    play(handling(outage=outage), poll(1), failing_on(1), others=[poll(2)])
    assert not outage.is_suspected
    assert (outage.failures, outage.has_succeeded) == (0, True)


def test_nothing_is_rejected_while_nothing_succeeds() -> None:
    records = ListedPoll({1: 1, 2: 5})
    played = play(handling(rejects=True, is_patient=False), records, away_until(600_000))
    assert records.decided == {1: RELEASE, 2: ACCEPT}, "the last delivery is held, the other released"
    assert played.done == SubBatchesDone(has_given_up=True)


def test_a_run_that_ends_releases_what_may_come_again() -> None:
    records = poll(1, 2)
    played = play(handling(), records, failing_on(1, 2), ends_ms=1_000)
    assert played.of("settle") == [(SubBatchEnd.GIVEN_UP, {1: RELEASE, 2: RELEASE})]
    assert played.done == SubBatchesDone(has_given_up=True)
    assert 1_000 <= played.now_ms <= 6_000


def test_a_lock_that_cannot_be_renewed_ends_the_tries() -> None:
    records = ListedPoll({1: 5}, deadline_ms=1_000)
    played = play(handling(), records, failing_on(1))
    assert played.now_ms == 1_000
    assert records.decided == {1: REJECT}, "it was the last delivery, whatever is sent"
    assert [wait[0] for wait in played.of("wait")] == [200, 400, 400]


def test_a_good_record_is_processed_again_to_find_out_about_one_that_is_left_over() -> None:
    proof: Proof[ListedSubBatch] = Proof(poll(7, 8).whole)
    records = poll(1)
    played = play(handling(proof=proof), records, failing_on(1))
    assert played.of("run")[-2:] == [(7,), (1,)]
    assert records.decided == {1: RELEASE}


def test_few_other_records_are_held_while_nothing_succeeds() -> None:
    others = [poll(number) for number in range(1, 40)]
    played = play(handling(), poll(0), failing_on(*range(40)), others=others, ends_ms=60_000)
    assert max(wait[2] for wait in played.of("wait") if isinstance(wait[2], int)) == 20
    assert sum(other.is_over for other in others) == 19


def test_other_records_are_handled_by_the_same_rules() -> None:
    other = ListedPoll({1: 1, 2: 3})
    played = play(handling(), poll(0), failing_on(0), others=[other])
    assert other.decided == {1: ACCEPT, 2: ACCEPT}
    assert other.is_over
    assert played.of("run") == [(0,), (1,), (0,), (2,)]


@pytest.mark.parametrize("count", [1, 5])
def test_an_unknown_outcome_releases_everything_at_once(count: int) -> None:
    def process(sub_batch: ListedSubBatch, now_ms: int) -> RunOutcome:
        return RunOutcome.UNKNOWN if now_ms else RunOutcome.FAILED

    records = poll(1, 2, count=count)
    played = play(handling(), records, process)
    assert played.of("settle") == [(SubBatchEnd.UNKNOWN, {1: RELEASE, 2: RELEASE})]
    assert played.done == SubBatchesDone(has_given_up=True)


# ------------------------------------------------------------------------------------------ wrong drivers


def test_steps_are_reported_once_and_in_turn() -> None:
    rules = handling()
    assert rules.next(0) == SubBatchesDone(has_given_up=False)
    rules.arrived(poll(1).whole)
    with pytest.raises(IllegalStateError, match=r"has no open RunSubBatch"):
        rules.ran(RunOutcome.SUCCEEDED)
    assert isinstance(rules.next(0), RunSubBatch)
    with pytest.raises(IllegalStateError, match=r"report the outcome of RunSubBatch"):
        rules.next(0)
    with pytest.raises(IllegalStateError, match=r"has no open AcknowledgeSubBatch"):
        rules.settled()
    rules.ran(RunOutcome.SUCCEEDED)
    assert isinstance(rules.next(0), AcknowledgeSubBatch)
    with pytest.raises(IllegalStateError, match=r"do its steps until SubBatchesDone"):
        rules.arrived(poll(2).whole)
    rules.settled()
    assert rules.next(0) == SubBatchesDone(has_given_up=False)


def test_a_handling_that_is_dropped_decides_nothing_and_takes_the_next_poll() -> None:
    rules, records = handling(), poll(1)
    rules.arrived(records.whole)
    rules.next(0)
    rules.ran(RunOutcome.FAILED)
    assert isinstance(rules.next(0), WaitBetweenTries)
    assert "1 records wait" in repr(rules)
    rules.drop()
    assert (records.decided, records.is_over) == ({}, True)
    assert play(rules, poll(2), failing_on()).of("run") == [(2,)]
