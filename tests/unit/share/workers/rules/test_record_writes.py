"""What follows when records are written for records in hand, and when they cannot be."""

from collections.abc import Sequence

import pytest

from kafka_groups.errors import DeliveryFailedError, OperationTimeoutError
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.failures.signals import OutputError
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.share.workers.rules.record_writes import CONSEQUENCES, MOST_OUTPUT_BYTES, MOST_OUTPUTS
from kafka_groups.share.workers.rules.steps import OpenRecord, WritePurpose
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import OUTPUTS, Bench
from tests.unit.share.workers.rules.jobs import DEAD, Job

ACCEPT, REJECT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE
GRACE_MS = 25_000


def no_answer() -> Exception:
    """What may pass."""
    return OperationTimeoutError("no answer")


def too_large() -> Exception:
    """What does not pass."""
    return DeliveryFailedError("too large", failed=1, unanswered=0)


def writing(bench: Bench, purpose: WritePurpose) -> Job:
    """A record that failed, and for which something is written."""
    job = bench.take(0)[0]
    bench.runs.clear()
    opened = OpenRecord(job, job.place, 1)
    bench.handling.runs.under_way.clear()
    bench.handling.writing.write(opened, purpose, [RecordToWrite("orders.retry.10s", b"ann", b"1")], bench.now_ms)
    bench.go()
    return job


def values(bench: Bench) -> Sequence[bytes | None]:
    """The values that are being written."""
    return [record.value for write in bench.copies for record in write.records]


def test_every_purpose_has_its_consequence() -> None:
    assert set(CONSEQUENCES) == set(WritePurpose)


@pytest.mark.parametrize("purpose", [WritePurpose.RETRY, WritePurpose.FORWARD, WritePurpose.OUTPUT])
def test_a_record_is_accepted_when_all_is_confirmed(purpose: WritePurpose) -> None:
    bench = Bench()
    job = writing(bench, purpose)
    assert not bench.outcomes
    assert bench.handling.in_hand["writing"] == 1
    bench.write()
    assert bench.outcomes == {job: ACCEPT}
    assert bench.handling.is_done


@pytest.mark.parametrize("error", [no_answer(), too_large()])
@pytest.mark.parametrize("purpose", [WritePurpose.RETRY, WritePurpose.FORWARD])
def test_a_copy_for_a_retry_topic_is_written_until_it_is_confirmed(purpose: WritePurpose, error: Exception) -> None:
    bench = Bench()
    job = writing(bench, purpose)
    bench.write(error)
    assert not bench.outcomes
    assert bench.happened(EventKind.WRITE_FAILED) == 1
    bench.advance(1_000)
    (write,) = bench.copies
    assert write.records[0].headers == (("__retry.possible.duplicate", b"true"),)
    bench.write()
    assert bench.outcomes == {job: ACCEPT}


def test_outputs_that_had_no_answer_are_written_again_and_the_handler_does_not_run_again() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1", b"2")
    bench.write(no_answer())
    assert not bench.copies
    bench.advance(1_000)
    assert values(bench) == [b"1", b"2"]
    assert bench.copies[0].records[0].headers == (), "headers of outputs are the user's"
    bench.write()
    assert bench.outcomes == {job: ACCEPT}
    assert bench.started == [[0]]


@pytest.mark.parametrize(("rule", "kind"), [(OnError.ACCEPT, ACCEPT), (OnError.RELEASE, RELEASE), (None, REJECT)])
def test_outputs_that_are_refused_for_good_are_a_failure_of_the_record(
    rule: OnError | None, kind: AcknowledgeType
) -> None:
    bench = Bench(errors={} if rule is None else {OutputError: rule})
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    bench.write(too_large())
    if rule is None:
        (write,) = bench.copies
        assert write.purpose is WritePurpose.DEAD_LETTER
        assert "brokers refuse an output for invoices: DeliveryFailedError: too large" in write.opened.reason
        bench.write()
    assert bench.outcomes == {job: kind}
    assert bench.started == [[0]], "it is not retried"
    assert not bench.handling.breaker.is_open


def test_of_a_run_only_records_with_outputs_wait() -> None:
    bench = Bench(concurrency=1)
    bench.fast()
    bench.starts = 3
    none, some, fails = bench.take(0, 1, 2)
    run = bench.run_of(none)
    outputs = {1: [RecordToWrite(OUTPUTS, None, b"1")], 2: [RecordToWrite(OUTPUTS, None, b"2")]}
    bench.report(run, {2: ValueError()}, outputs=outputs)
    bench.go()
    assert bench.outcomes == {none: ACCEPT}
    assert values(bench) == [b"1"], "what has failed has no outputs"
    bench.write()
    assert bench.outcomes == {none: ACCEPT, some: ACCEPT}
    assert bench.retries_of(fails) == 1


def test_records_whose_writes_are_confirmed_together_share_an_acknowledgement() -> None:
    bench = Bench(concurrency=1)
    bench.fast()
    bench.starts = 4
    jobs = bench.take(0, 1, 2, 3)
    outputs = {index: [RecordToWrite(topic, None, b"v")] for index, topic in enumerate([OUTPUTS, "audit"] * 2)}
    bench.report(bench.run_of(jobs[0]), {}, outputs=outputs)
    bench.go()
    assert not bench.together, "outputs for several topics do not wait for each other"
    handling = bench.handling
    for write in bench.copies[:3]:
        handling.writing.written(write, None, bench.now_ms)
    handling.writing.written(bench.copies[3], None, bench.now_ms)
    [step] = handling.outbox.steps
    assert list(step.records) == jobs
    assert handling.outbox.unconfirmed == 1
    handling.outbox.end(OpenRecord(jobs[0], jobs[0].place, 1), RELEASE, bench.now_ms)
    assert [each.kind for each in handling.outbox.steps] == [ACCEPT, RELEASE]


# ---------------------------------------------------------------------------------------------- whole runs


def a_run_with_outputs(bench: Bench, *, without: int | None = None) -> list[Job]:
    """Three records of a run, whose outputs are being written together."""
    bench.fast()
    bench.starts = 3
    jobs = bench.take(0, 1, 2)
    outputs = {index: [RecordToWrite(OUTPUTS, None, b"%d" % index)] for index in range(3) if index != without}
    bench.report(bench.run_of(jobs[0]), {}, outputs=outputs)
    bench.go()
    return jobs


def test_the_outputs_of_a_run_are_one_write_whose_confirmation_accepts_all_of_them() -> None:
    bench = Bench(concurrency=1)
    bench.confirms = False
    jobs = a_run_with_outputs(bench)
    [write] = bench.together
    assert [record.value for record in write.records] == [b"0", b"1", b"2"]
    assert not bench.outcomes
    assert bench.handling.in_hand["writing"] == 3
    assert bench.handling.writing.unconfirmed_outputs == 3
    assert bench.handling.writing.places == [jobs[0].place]
    bench.write()
    assert bench.outcomes == dict.fromkeys(jobs, ACCEPT)
    [settle] = bench.settles
    assert settle.is_run
    bench.confirm()
    assert bench.handling.is_done
    assert bench.handling.writing.unconfirmed_outputs == 0


def test_records_of_a_run_without_outputs_are_accepted_at_once() -> None:
    bench = Bench(concurrency=1)
    jobs = a_run_with_outputs(bench, without=1)
    assert bench.outcomes == {jobs[1]: ACCEPT}
    [write] = bench.together
    assert list(write.in_hand) == [jobs[0], jobs[2]]
    bench.write()
    assert bench.outcomes == dict.fromkeys(jobs, ACCEPT)


@pytest.mark.parametrize("happens", ["lost", "held", "refused", "stopped"])
def test_if_something_happens_each_record_of_a_run_goes_on_by_itself(happens: str) -> None:
    bench = Bench(concurrency=1)
    jobs = a_run_with_outputs(bench)
    writing = bench.handling.writing
    match happens:
        case "lost":
            bench.lose(jobs[1])
        case "held":
            writing.held(OUTPUTS, no_answer())
        case "refused":
            writing.written(bench.together[0], too_large(), bench.now_ms)
        case _:
            bench.stop(0)
            bench.advance(1_001)
    bench.open()
    assert not bench.together
    writes = {write.opened.record: write for write in bench.copies}
    assert list(writes) == jobs
    assert [list(writing.withdrawn), bench.outcomes] == {
        "lost": [[writes[jobs[1]]], {}],
        "stopped": [list(writes.values()), dict.fromkeys(jobs, RELEASE)],
    }.get(happens, [[], {}])
    if happens != "stopped":
        writing.written(writes[jobs[0]], None, bench.now_ms)
        bench.go()
        assert bench.outcomes == {jobs[0]: ACCEPT}, "it does not wait for the others"
        assert writing.unconfirmed_outputs == (1 if happens == "lost" else 2)


def test_outputs_of_a_run_that_nobody_has_begun_to_write_keep_their_order_when_they_are_divided() -> None:
    bench = Bench(concurrency=1, queued=1)
    bench.fast()
    bench.starts = 3
    jobs, [more] = bench.take(0, 1, 2), bench.take(3)
    outputs = {index: [RecordToWrite(OUTPUTS, None, b"%d" % index)] for index in range(3)}
    bench.report(bench.run_of(jobs[0]), {}, outputs=outputs)
    bench.report(bench.run_of(more), {}, outputs={0: [RecordToWrite(OUTPUTS, None, b"3")]})
    bench.lose(jobs[1])
    assert values(bench) == [b"0", b"2", b"3"]
    assert not bench.handling.writing.opened


def test_no_run_is_written_together_while_a_topic_is_held() -> None:
    bench = Bench(concurrency=1)
    bench.handling.writing.held("audit", no_answer())
    a_run_with_outputs(bench)
    assert not bench.together
    assert values(bench) == [b"0", b"1", b"2"]


def test_a_write_does_not_occupy_a_slot() -> None:
    bench = Bench(concurrency=1)
    first, second = bench.take(0, 1)
    bench.succeed_with(first, b"1")
    assert bench.running == [second]


def test_the_next_record_of_a_key_waits_for_the_confirmation() -> None:
    bench = Bench(is_keyed=True)
    first, second = bench.take(0, 1, key="ann")
    bench.succeed_with(first, b"1")
    assert not bench.running
    bench.write(no_answer())
    assert not bench.running
    bench.advance(1_000)
    bench.write()
    assert bench.running == [second]


@pytest.mark.parametrize("outputs", [[b""] * MOST_OUTPUTS, [b"x" * (MOST_OUTPUT_BYTES // 2)] * 2])
def test_no_run_starts_while_too_many_outputs_are_not_confirmed(outputs: list[bytes]) -> None:
    bench = Bench(concurrency=1)
    first, second, third = bench.take(0, 1, 2)
    bench.succeed_with(first, *outputs[1:])
    bench.succeed_with(second, outputs[0])
    assert not bench.running
    bench.write()
    assert bench.running == [third]
    assert bench.handling.writing.unconfirmed_outputs == 0


# ------------------------------------------------------------------------------------------- outages


def test_a_held_topic_keeps_suspects_from_nothing() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    bench.take(1, count=2)
    assert not bench.running, "a suspect waits for confirmations"
    bench.handling.writing.held(OUTPUTS, no_answer())
    bench.go()
    assert [job.place[1] for job in bench.running] == [1]


def test_a_copy_whose_topic_is_held_stops_nothing() -> None:
    bench = Bench()
    bench.take(0, count=4)
    other = bench.take(1)[0]
    assert not bench.running
    bench.handling.writing.held(DEAD, no_answer())
    bench.go()
    assert bench.running == [other]


# ------------------------------------------------------------------------------------------- lost locks


@pytest.mark.parametrize("is_written", [True, False])
def test_a_redelivery_waits_for_the_outputs_of_the_delivery_before(*, is_written: bool) -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    (write,) = bench.copies
    bench.lose(job)
    assert list(bench.handling.writing.withdrawn) == [write]
    again = bench.take(0, count=2)[0]
    assert not bench.running
    if is_written:
        bench.write()
        assert bench.outcomes == {again: ACCEPT}
    else:
        bench.handling.writing.withdrew(write, bench.now_ms)
        bench.go()
        assert bench.running == [again]
    assert bench.handling.writing.unconfirmed_outputs == 0


def test_outputs_of_a_run_without_its_lock_are_not_written_and_it_runs_again() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.lose(job)
    again = bench.take(0, count=2)[0]
    bench.succeed_with(job, b"1")
    assert not bench.copies
    assert bench.running == [again]


def test_outputs_that_wait_for_another_try_count_no_more_when_their_record_is_lost() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    bench.write(no_answer())
    bench.lose(job)
    assert bench.handling.writing.unconfirmed_outputs == 0
    assert bench.handling.is_done


# ------------------------------------------------------------------------------------------- stopping


def test_writes_have_the_rest_of_the_time_of_a_stop() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    bench.stop(GRACE_MS)
    bench.advance(GRACE_MS - 1)
    assert not bench.outcomes
    bench.write()
    assert bench.outcomes == {job: ACCEPT}
    assert bench.handling.is_done


def test_then_their_records_are_released() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    bench.stop(GRACE_MS)
    bench.handling.writing.held(OUTPUTS, no_answer())
    bench.advance(GRACE_MS)
    assert bench.outcomes == {job: RELEASE}
    assert len(bench.handling.writing.withdrawn) == 1
    assert bench.handling.is_done


def test_a_stop_without_time_waits_a_second_for_what_is_under_way() -> None:
    bench = Bench()
    job = bench.take(0)[0]
    bench.succeed_with(job, b"1")
    bench.stop(0)
    assert bench.handling.wakes_ms() == 1_000
    bench.advance(1_000)
    assert bench.outcomes == {job: RELEASE}


def test_a_stop_while_outputs_are_refused_releases_other_records_first() -> None:
    bench = Bench(concurrency=1)
    job, runs, held = bench.take(0, 1, 2)
    bench.succeed_with(job, b"1")
    bench.handling.writing.held(OUTPUTS, no_answer())
    bench.stop(GRACE_MS)
    assert bench.outcomes == {held: RELEASE}
    bench.succeed_with(runs, b"2")
    assert values(bench) == [b"1", b"2"]
    bench.write()
    assert bench.outcomes == {held: RELEASE, job: ACCEPT, runs: ACCEPT}


def test_a_stop_with_an_open_breaker_still_writes_dead_letters() -> None:
    bench = Bench(times=0, concurrency=5)
    bad, *others = bench.take(0, 1, 2, 3, 4)
    bench.fail(bad)
    for other in others[:3]:
        bench.fail(other, ConnectionError("down"))
    assert bench.handling.breaker.is_open
    bench.stop(GRACE_MS)
    assert bad not in bench.outcomes
    bench.write()
    assert bench.outcomes[bad] is REJECT
