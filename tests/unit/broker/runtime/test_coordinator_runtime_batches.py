"""The records of an operation are split at the largest batch."""

from kafka_groups.broker.coordinators.result import Result
from kafka_groups.errors import UnknownServerError
from tests.unit.broker.runtime.scenes import Brokers, Number, SlowLog, error_of, is_pending

MOST = 250


def brokers_with_batches() -> Brokers:
    brokers = Brokers()
    brokers.limit_batches(MOST)
    brokers.runtimes[0].run(0, lambda _shard: Result(None, _numbers(20)), lambda _outcome: None)
    return brokers


def test_the_records_of_an_operation_are_split_at_the_largest_batch() -> None:
    read = brokers_with_batches().logs[0].read(0, 1_000_000)
    sizes = [batch.size_bytes for batch in read.batches]
    assert len(sizes) > 2
    assert max(sizes) <= MOST
    assert sum(batch.record_count for batch in read.batches) == 20


def test_the_answer_comes_when_the_last_batch_is_committed() -> None:
    brokers, log = Brokers(), SlowLog()
    brokers.logs[0] = log
    brokers.move(0, 0)
    brokers.limit_batches(MOST)
    log.commits_at_once = False
    outcome = brokers.run(lambda _shard: Result("done", _numbers(20)))
    for log.committed in range(20):
        brokers.runtimes[0].log_committed(0)
        assert is_pending(outcome)
    log.committed = 20
    brokers.runtimes[0].log_committed(0)
    assert outcome.now() == "done"


def test_a_log_that_ends_with_any_of_the_batches_can_be_loaded() -> None:
    read = brokers_with_batches().logs[0].read(0, 1_000_000)
    for batch in read.batches:
        brokers = Brokers()
        size = sum(each.size_bytes for each in read.batches if each.last_offset <= batch.last_offset)
        brokers.logs[0].append_as_is(bytes(read.records)[:size])
        brokers.move(0, 1)
        brokers.turns.run()
        shard = brokers.runtimes[1].active_shard(0)
        assert shard is not None
        assert len(shard.values) == batch.last_offset + 1


def test_a_record_that_fits_into_no_batch_changes_nothing() -> None:
    brokers = brokers_with_batches()
    end_offset = brokers.logs[0].end_offset
    records = (Number("small", 1), Number("n" * MOST, 1))
    assert error_of(brokers.run(lambda _shard: Result(None, records))) is UnknownServerError
    assert brokers.logs[0].end_offset == end_offset
    assert brokers.get("n19").now() == 19  # the shard goes on


def _numbers(count: int) -> tuple[Number, ...]:
    return tuple(Number(f"n{number}", number) for number in range(count))
