"""Lost locks: never a second handler of an offset in one process, and no work twice that is done."""

from kafka_groups.share.workers.rules.lost import REMEMBERED, LostRecords
from kafka_groups.share.workers.rules.steps import WriteRecords
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, poison
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job

ACCEPT = AcknowledgeType.ACCEPT


def test_a_redelivery_waits_for_the_handler_of_the_lost_one() -> None:
    bench = Bench()
    lost = bench.take(0)[0]
    assert bench.lose(lost) == 1
    again = bench.take(0, count=2)[0]
    assert bench.running == [lost]
    bench.advance(100_000)
    assert bench.running == [lost]
    bench.fail(lost)
    assert bench.running == [again]
    bench.succeed(again)
    assert bench.outcomes == {again: ACCEPT}


def test_a_success_after_the_loss_is_accepted_with_the_redelivery() -> None:
    bench = Bench()
    lost = bench.take(0)[0]
    bench.lose(lost)
    again = bench.take(0, count=2)[0]
    bench.succeed(lost)
    assert bench.outcomes == {again: ACCEPT}
    assert bench.started == [[0]]


def test_a_success_is_remembered_until_the_record_comes_again() -> None:
    bench = Bench()
    lost = bench.take(0)[0]
    bench.lose(lost)
    bench.succeed(lost)
    assert not bench.outcomes
    other, again = bench.arrive([Job((PARTITIONS[1], 0), 2), Job((PARTITIONS[0], 0), 2)])
    assert bench.outcomes == {again: ACCEPT}
    assert bench.running == [other], "another partition's"
    third = bench.take(0, count=3)[0]
    bench.succeed(other)
    assert bench.running == [third], "it is remembered once"


def test_a_refused_acceptance_is_remembered() -> None:
    bench = Bench()
    bench.confirms = False
    job = bench.take(0)[0]
    bench.succeed(job)
    bench.confirm(job)
    again = bench.take(0, count=2)[0]
    assert bench.outcomes[again] is ACCEPT
    assert len(bench.started) == 1


def test_a_first_delivery_runs_again_as_the_offsets_of_the_group_were_reset() -> None:
    bench = Bench()
    lost = bench.take(0)[0]
    bench.lose(lost)
    bench.succeed(lost)
    anew = bench.take(0)[0]
    assert bench.running == [anew]
    bench.succeed(anew)
    assert bench.outcomes == {anew: ACCEPT}


def test_a_refused_release_is_not_remembered() -> None:
    bench = Bench()
    bench.confirms = False
    job = bench.take(0)[0]
    bench.fail(job)
    bench.handling.release(lambda each: each is job, bench.now_ms)
    bench.go()
    bench.confirm(job)
    again = bench.take(0, count=2)[0]
    assert bench.running == [again]


def test_ten_thousand_are_remembered() -> None:
    lost: LostRecords[Job] = LostRecords()
    for offset in range(REMEMBERED + 1):
        lost.finished((PARTITIONS[0], offset))
    assert REMEMBERED == 10_000
    assert not lost.was_finished((PARTITIONS[0], 0))
    assert lost.was_finished((PARTITIONS[0], 1))
    assert lost.was_finished((PARTITIONS[0], REMEMBERED))


def test_a_redelivery_that_is_lost_as_well_is_forgotten() -> None:
    bench = Bench()
    first = bench.take(0)[0]
    bench.lose(first)
    second = bench.take(0, count=2)[0]
    assert bench.lose(second) == 1
    third = bench.take(0, count=3)[0]
    bench.fail(first)
    assert bench.running == [third]
    bench.succeed(third)
    assert bench.outcomes == {third: ACCEPT}
    assert bench.handling.is_done


def test_the_next_redelivery_replaces_one_that_waits() -> None:
    bench = Bench()
    first = bench.take(0)[0]
    bench.lose(first)
    bench.take(0, count=2)
    third = bench.take(0, count=3)[0]
    bench.fail(first)
    assert bench.running == [third]


def test_a_loss_that_nobody_noticed_starts_no_second_handler() -> None:
    bench = Bench()
    first = bench.take(0)[0]
    again = bench.take(0, count=2)[0]
    assert bench.running == [first]
    bench.succeed(first)
    assert bench.outcomes == {again: ACCEPT}


def test_of_a_run_that_is_lost_the_rest_is_dropped() -> None:
    bench = Bench(concurrency=1)
    bench.fast()
    jobs = bench.take(*range(5))
    assert bench.lose(*jobs[:4]) == 4
    assert bench.running == jobs[:1]
    bench.succeed(jobs[0])
    assert bench.running == jobs[4:]


def test_records_that_were_dropped_do_not_block_their_key() -> None:
    bench = Bench(concurrency=1, is_keyed=True)
    bench.fast()
    ann, bob = bench.arrive([Job((PARTITIONS[0], 0), 1, "ann"), Job((PARTITIONS[0], 1), 1, "bob")])
    assert bench.running == [ann, bob]
    bench.lose(ann, bob)
    bench.fail(ann)
    again = bench.take(1, count=2, key="bob")[0]
    assert bench.running == [again]


def with_a_late_letter() -> tuple[Bench, WriteRecords[Job], Job]:
    """A record that was given up again while the letter of its lost delivery is under way."""
    bench = Bench(times=0)
    first = bench.take(0)[0]
    bench.fail(first)
    late = bench.copies.pop()
    bench.lose(first)
    again = bench.take(0, count=2)[0]
    bench.fail(again)
    assert not bench.copies, "both would be written"
    return bench, late, again


def test_a_letter_of_a_lost_delivery_serves_for_the_next() -> None:
    bench, late, again = with_a_late_letter()
    bench.handling.writing.written(late, None, bench.now_ms)
    bench.go()
    assert not bench.outcomes
    bench.advance(100)
    assert not bench.copies
    assert bench.outcomes == {again: AcknowledgeType.REJECT}


def test_a_letter_of_a_lost_delivery_that_was_not_written_is_written_for_the_next() -> None:
    bench, late, again = with_a_late_letter()
    bench.handling.writing.written(late, OSError(), bench.now_ms)
    bench.advance(100)
    bench.write()
    assert bench.outcomes == {again: AcknowledgeType.REJECT}


def test_waiting_and_held_records_are_forgotten() -> None:
    bench = Bench(concurrency=1)
    waits, held, runs = bench.take(0, 1, 2)
    bench.fail(waits, poison())
    assert bench.running == [held]
    assert bench.lose(waits, runs) == 2
    bench.succeed(held)
    assert bench.handling.is_done
    assert list(bench.outcomes) == [held]


def test_records_whose_locks_cannot_be_renewed_are_released_unless_they_run() -> None:
    bench = Bench(concurrency=1)
    waits, runs, held = bench.take(0, 1, 2)
    bench.fail(waits)
    assert bench.handling.release(lambda job: True, bench.now_ms) == 2
    bench.go()
    assert bench.outcomes == dict.fromkeys((waits, held), AcknowledgeType.RELEASE)
    bench.succeed(runs)
    assert bench.outcomes[runs] is ACCEPT
