"""Records whose `order_by` raises: they end, or are held and asked for again."""

from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench
from tests.unit.share.workers.rules.jobs import Job

REASON = "order_by has no key for the record: LookupError: x"


def held(*, count: int = 1, copies: bool = True) -> tuple[Bench, Job, Job]:
    """A record without a key that is held, and another one behind it."""
    bench = Bench(is_keyed=True, exhausted=OnError.HOLD, copies=copies)
    bench.unknown.add("x")
    (job,) = bench.take(0, key="x", count=count)
    (other,) = bench.take(1, key="ann")
    return bench, job, other


def test_it_becomes_a_dead_letter_without_an_attempt() -> None:
    bench = Bench(is_keyed=True)
    bench.unknown.add("x")
    (job,) = bench.take(0, key="x")
    bench.take(1, key="ann")
    assert [job.place[1] for job in bench.running] == [1]
    assert bench.letters == [(0, REASON)]
    bench.write()
    assert bench.outcomes == {job: AcknowledgeType.REJECT}
    assert not bench.handling.breaker.is_open


def test_a_rule_for_errors_of_handlers_is_not_used() -> None:
    bench = Bench(is_keyed=True, errors={LookupError: OnError.ACCEPT}, exhausted=OnError.REJECT)
    bench.unknown.add("x")
    (job,) = bench.take(0, key="x")
    assert bench.outcomes == {job: AcknowledgeType.REJECT}


def test_it_is_held_while_others_run_and_asked_for_again() -> None:
    bench, job, other = held()
    assert bench.running == [other]
    assert bench.handling.in_hand["waiting"] == 1
    assert bench.happened(EventKind.HOLDS) == 1
    bench.advance(4_000)
    assert bench.happened(EventKind.HOLDS) == 2
    bench.unknown.clear()
    bench.advance(4_000)
    bench.succeed(other, job)
    assert bench.outcomes == dict.fromkeys([job, other], AcknowledgeType.ACCEPT)


def test_it_waits_for_its_turn_once_its_key_is_known() -> None:
    bench, job, _ = held()
    (before,) = bench.take(2, key="y")
    job.key = "y"
    bench.advance(4_000)
    assert job not in bench.running, "another record of the key runs"
    bench.succeed(before)
    assert job in bench.running


def test_it_is_released_at_the_end_and_forgotten_if_its_lock_is_lost() -> None:
    bench, job, other = held()
    bench.succeed(other)
    bench.handling.stop(bench.now_ms, bench.now_ms + 1_000)
    bench.go()
    assert bench.outcomes[job] is AcknowledgeType.RELEASE
    assert bench.handling.is_done

    bench, job, other = held()
    bench.lose(job)
    bench.succeed(other)
    bench.advance(10_000)
    assert job not in bench.outcomes
    assert not bench.handling.windows.uses
    assert bench.handling.in_hand["waiting"] == 0


def test_it_holds_back_its_partition() -> None:
    bench, _, other = held()
    bench.succeed(other)
    bench.handling.measure_windows(bench.now_ms)
    (use,) = bench.handling.windows.uses.values()
    assert use.oldest == 0


def test_on_one_of_its_last_deliveries_it_is_copied_while_it_is_held() -> None:
    bench, job, other = held(count=5)
    assert bench.letters == [(0, "before processing")]
    bench.write()
    bench.succeed(other)
    bench.unknown.clear()
    bench.advance(4_000)
    assert bench.running == [job]
    assert len(bench.letters) == 1


def test_it_is_given_up_if_it_fills_its_window() -> None:
    bench = Bench(is_keyed=True, exhausted=OnError.HOLD, locks=100, on_blocked=OnError.DEAD_LETTER)
    bench.unknown.add("x")
    bench.take(0, key="x")
    bench.succeed(*bench.take(99, key="ann"))
    for _ in range(8):
        bench.handling.measure_windows(bench.now_ms)
        bench.advance(1_000)
    (letter,) = bench.letters
    assert letter[0] == 0
    assert "held back" in letter[1]
