"""Order by key: records of one key run one by one, in the order of their offsets."""

from kafka_groups.share.workers.rules.failures.signals import Reject
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job


def keyed(*keys: str | None, first: int = 0) -> list[Job]:
    return [Job((PARTITIONS[0], first + number), 1, key) for number, key in enumerate(keys)]


def test_one_of_a_key_runs_at_a_time_in_order() -> None:
    bench = Bench(is_keyed=True)
    jobs = bench.arrive(keyed("ann", "ann", "bob", "ann"))
    assert bench.running == [jobs[0], jobs[2]]
    bench.succeed(jobs[0])
    assert bench.running == [jobs[2], jobs[1]]
    bench.succeed(jobs[1])
    assert bench.running == [jobs[2], jobs[3]]


def test_a_retry_blocks_its_key() -> None:
    bench = Bench(is_keyed=True)
    first, second, bob = bench.arrive(keyed("ann", "ann", "bob"))
    bench.fail(first)
    bench.advance(999)
    assert bench.running == [bob]
    bench.advance(1)
    assert bench.running == [bob, first]
    bench.succeed(first)
    assert bench.running == [bob, second]


def test_a_dead_letter_blocks_its_key_until_it_is_confirmed() -> None:
    bench = Bench(is_keyed=True)
    first, second = bench.arrive(keyed("ann", "ann"))
    bench.fail(first, Reject())
    assert not bench.running
    bench.write()
    assert bench.running == [second]


def test_records_without_a_key_have_no_order() -> None:
    bench = Bench(is_keyed=True)
    jobs = bench.arrive(keyed(None, None, None))
    assert bench.running == jobs


def test_later_deliveries_wait_as_well() -> None:
    bench = Bench(is_keyed=True)
    first = bench.arrive(keyed("ann"))[0]
    second = bench.arrive(keyed("ann", first=5))[0]
    assert bench.running == [first]
    assert bench.handling.in_hand["held"] == 1
    bench.succeed(first)
    assert bench.running == [second]


def test_a_lost_record_keeps_its_key_until_its_handler_ends() -> None:
    bench = Bench(is_keyed=True)
    first, second = bench.arrive(keyed("ann", "ann"))
    bench.lose(first)
    assert bench.running == [first]
    bench.succeed(first)
    assert bench.running == [second]


def test_a_blocked_record_that_is_lost_does_not_run() -> None:
    bench = Bench(is_keyed=True)
    first, second, third = bench.arrive(keyed("ann", "ann", "ann"))
    bench.lose(second)
    bench.succeed(first)
    assert bench.running == [third]


def test_a_finished_record_behind_another_of_its_key_is_accepted_without_running() -> None:
    bench = Bench(is_keyed=True, times=0)
    done = bench.arrive(keyed("ann", first=5))[0]
    bench.lose(done)
    bench.succeed(done)
    head = bench.arrive(keyed("ann"))[0]
    again = bench.take(5, count=2, key="ann")[0]
    bench.fail(head)
    bench.write()
    assert bench.outcomes == {head: AcknowledgeType.REJECT, again: AcknowledgeType.ACCEPT}
    assert bench.handling.is_done


def test_blocked_records_have_a_budget() -> None:
    bench = Bench(is_keyed=True)
    bench.arrive(keyed(*["ann"] * 1_000))
    assert bench.handling.wanted(0) == 100
    bench.arrive(keyed("ann", first=1_000))
    assert bench.handling.holdings.is_full
    assert bench.handling.wanted(0) == 0
