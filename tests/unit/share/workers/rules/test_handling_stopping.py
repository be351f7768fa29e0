"""Shutdown."""

from kafka_groups.share.workers.rules.failures.signals import Reject
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
GRACE_MS = 25_000


def test_held_records_run_and_nothing_is_fetched() -> None:
    bench = Bench(concurrency=1)
    jobs = bench.take(0, 1, 2)
    bench.stop(GRACE_MS)
    assert bench.handling.wanted(0) == 0
    for job in jobs:
        assert not bench.handling.is_done
        bench.succeed(job)
    assert bench.outcomes == dict.fromkeys(jobs, ACCEPT)
    assert bench.handling.is_done


def test_waiting_records_are_released_at_once_and_failures_from_then_on() -> None:
    bench = Bench(concurrency=2)
    waits, runs = bench.take(0, 1)
    bench.fail(waits)
    bench.stop(GRACE_MS)
    assert bench.outcomes == {waits: RELEASE}
    bench.fail(runs)
    assert bench.outcomes == {waits: RELEASE, runs: RELEASE}
    assert bench.handling.is_done


def test_when_time_is_over_the_rest_is_released() -> None:
    bench = Bench(concurrency=1)
    runs, held = bench.take(0, 1)
    bench.stop(GRACE_MS)
    assert bench.handling.wakes_ms() == GRACE_MS
    bench.advance(GRACE_MS - 1)
    assert not bench.outcomes
    bench.advance(1)
    assert bench.outcomes == {held: RELEASE}
    assert bench.running == [runs]
    assert not bench.handling.is_done
    assert bench.handling.wakes_ms() is None
    bench.succeed(runs)
    assert bench.outcomes[runs] is ACCEPT
    assert bench.handling.is_done


def test_a_second_signal_releases_at_once() -> None:
    bench = Bench(concurrency=1)
    runs, held = bench.take(0, 1)
    bench.stop(GRACE_MS)
    bench.stop(0)
    assert bench.outcomes == {held: RELEASE}
    assert bench.running == [runs]


def test_a_later_call_does_not_lengthen_the_time() -> None:
    bench = Bench(concurrency=1)
    held = bench.take(0, 1)[1]
    bench.stop(1_000)
    bench.stop(GRACE_MS)
    bench.advance(1_000)
    assert bench.outcomes == {held: RELEASE}


def test_a_fast_run_gives_back_what_it_has_not_started() -> None:
    bench = Bench(concurrency=1)
    bench.fast()
    jobs = bench.take(*range(10))
    bench.stop(0)
    assert bench.outcomes == dict.fromkeys(jobs[1:], RELEASE)
    bench.succeed(jobs[0])
    assert bench.outcomes[jobs[0]] is ACCEPT


def test_an_outage_leaves_no_reason_to_wait() -> None:
    bench = Bench()
    jobs = bench.take(0, 1, 2)
    for job in jobs:
        bench.fail(job, outage())
    late = bench.take(3)[0]
    bench.stop(GRACE_MS)
    assert bench.outcomes == dict.fromkeys([*jobs, late], RELEASE)
    assert bench.handling.is_done


def test_dead_letters_are_confirmed_first() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.fail(job, Reject())
    bench.stop(GRACE_MS)
    assert not bench.handling.is_done
    bench.write()
    assert bench.outcomes == {job: REJECT}
    assert bench.handling.is_done


def test_a_letter_that_fails_after_the_end_releases_its_record() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.fail(job, Reject())
    bench.stop(0)
    bench.write(OSError("no leader"))
    assert bench.outcomes == {job: RELEASE}
    assert bench.handling.is_done


def test_what_still_arrives_is_released() -> None:
    bench = Bench()
    bench.stop(0)
    late = bench.take(0, 1)
    bench.handling.arrived_first(late[0].place[0], [], 5, 0)
    assert bench.outcomes == dict.fromkeys(late, RELEASE)


def test_blocked_keys_are_released_too() -> None:
    bench = Bench(is_keyed=True)
    runs, blocked = bench.take(0, 1, key="ann")
    bench.stop(0)
    assert bench.outcomes == {blocked: RELEASE}
    bench.succeed(runs)
    assert bench.handling.is_done


def test_it_is_not_done_before_acknowledgements_are_confirmed() -> None:
    bench = Bench()
    bench.confirms = False
    job = bench.take(0)[0]
    bench.stop(GRACE_MS)
    bench.succeed(job)
    assert not bench.handling.is_done
    bench.confirm()
    assert bench.handling.is_done
