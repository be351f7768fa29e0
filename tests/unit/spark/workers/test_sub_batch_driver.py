"""What happens to the records of a poll, whatever `process` does."""

import functools
import random
from collections.abc import Callable, Iterable
from concurrent.futures import Future

import pytest

from kafka_groups.errors import (
    BootstrapError,
    DeliveryFailedError,
    GroupAuthorizationFailedError,
    IllegalStateError,
    InvalidRecordStateError,
    KafkaGroupsError,
    OperationTimeoutError,
)
from kafka_groups.share.delivery.share_records import deliveries_of
from kafka_groups.share.workers.polling import Poller
from kafka_groups.share.workers.rules.failures.outages import Outage, Waits
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.acknowledger import Acknowledger, Tally
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.workers.sub_batch_driver import SubBatchDriver, SubBatchWork
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import AcknowledgeType, Header
from tests.unit.spark.polled import Broker, Range, polled

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


class RecordingProducer:
    """A dead-letter topic."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, bytes | None, dict[str, bytes | None]]] = []
        self.flushed = 0
        self.is_away = False

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        self.letters.append((topic, value, dict(headers)))

    def flush(self, timeout_s: float) -> None:
        if self.is_away:
            raise DeliveryFailedError("nobody there", failed=0, unanswered=1)
        self.flushed = len(self.letters)

    @property
    def values(self) -> list[bytes | None]:
        return [value for _, value, _ in self.letters[: self.flushed]]


class WorkerBench:
    """A driver with everything around it.

    Args:
        process: The user's function; what it is given is noted down first.
        ranges: What was polled.
        dead_letters: Whether there is a dead-letter topic.
        patient: Whether failing records are held.
        others: What polls bring while records are held.
        ends_after_ms: When the run is to end.
        limit: The group's delivery limit.
    """

    def __init__(
        self,
        process: Callable[[ShareBatch], object],
        *ranges: Range,
        on_error: str = "release",
        dead_letters: bool = False,
        patient: bool = False,
        ends_after_ms: int | None = None,
        limit: int = 5,
        others: Iterable[Range] = (),
    ) -> None:
        self.given: list[list[int]] = []
        self.waited: list[int] = []
        self.others = [ShareBatch(polled(one)) for one in others]
        self.clock, self.tally, self.producer = ManualClock(), Tally(), RecordingProducer()
        self.outage = Outage(Waits.of_tries_in_hand(5_000), random.Random(1))
        self.batch = ShareBatch(polled(*ranges))
        self.broker = Broker(self.batch.records)
        self.broker.more = [other.records for other in self.others]

        def noted(batch: ShareBatch) -> object:
            self.given.append([record.offset for record in batch])
            return process(batch)

        work = SubBatchWork(
            process=noted,
            on_error=on_error,
            policy=DeliveryPolicy(limit),
            is_patient=patient,
            dead_letters=DeadLetters("dlq", "g", {}, self.producer) if dead_letters else None,
            pause=self._pause,
            outage=self.outage,
            is_ending=lambda: ends_after_ms is not None and self.clock.now_ms() >= 1_000_000 + ends_after_ms,
        )
        self.poller = Poller(self.broker, lambda error: self.tally.note_error(error, failed=False))
        self.acknowledger = Acknowledger(self.poller, self.tally, self.clock)
        self.driver = SubBatchDriver(work, self.acknowledger, self.tally, self.clock)

    def _pause(self, wait_ms: int, *, may_poll: bool, held: int = 0) -> ShareBatch | None:
        self.waited.append(wait_ms)
        assert len(self.waited) < 2_000, "it waits without end"
        if may_poll and self.others:
            return self.others.pop(0)
        self.clock.advance(wait_ms)
        return None

    def handle(self) -> bool:
        return self.driver.handle(self.batch)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        return self.tally.accepted, self.tally.released, self.tally.rejected, self.tally.lock_lost


def succeed(batch: ShareBatch) -> None:
    pass


def fail(batch: ShareBatch) -> None:
    raise ValueError("boom")


def reject_all(batch: ShareBatch) -> None:
    batch.reject()


def failing_on(*bad: int) -> Callable[[ShareBatch], None]:
    def process(batch: ShareBatch) -> None:
        for record in batch:
            if record.offset in bad:
                raise ValueError(f"bad {record.offset}")

    return process


def test_what_was_processed_is_accepted_in_one_commit() -> None:
    bench = WorkerBench(succeed, (0, 4, 1), (9, 9, 1))
    assert bench.handle()
    assert bench.broker.sent == [{**dict.fromkeys(range(5), ACCEPT), 9: ACCEPT}]
    assert bench.counts == (6, 0, 0, 0)
    assert bench.tally.max_delivery_count == 1
    assert not bench.tally.failed


def test_what_the_function_decided_holds() -> None:
    def process(batch: ShareBatch) -> None:
        batch.reject([True, False, False])
        batch.release([False, True, False])

    bench = WorkerBench(process, (0, 2, 1))
    assert bench.handle()
    assert bench.broker.decisions == {0: REJECT, 1: RELEASE, 2: ACCEPT}
    assert bench.counts == (1, 1, 1, 0)


def test_release_gives_everything_back_and_says_why_whatever_the_function_had_decided() -> None:
    def process(batch: ShareBatch) -> None:
        batch.reject()
        raise ValueError("boom")

    bench = WorkerBench(process, (0, 2, 1))
    assert not bench.handle()
    assert bench.broker.decisions == dict.fromkeys(range(3), RELEASE)
    assert bench.counts == (0, 3, 0, 0)
    assert bench.tally.failed
    assert bench.tally.error is not None
    assert "ValueError: boom" in bench.tally.error


def test_per_record_releases_only_the_bad_ones() -> None:
    bench = WorkerBench(failing_on(2, 4), (0, 5, 1), on_error="per_record")
    assert bench.handle()
    assert bench.broker.decisions == {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: ACCEPT, 4: RELEASE, 5: ACCEPT}
    assert bench.counts == (4, 2, 0, 0)
    assert not bench.tally.failed


def test_per_record_finds_one_bad_record_among_many_in_few_calls() -> None:
    bench = WorkerBench(failing_on(1_234), (0, 1_999, 1), on_error="per_record")
    assert bench.handle()
    assert bench.counts == (1_999, 1, 0, 0)
    assert len(bench.given) < 60


@pytest.mark.parametrize("on_error", ["per_record", "release"])
def test_without_retries_all_is_released_when_nothing_succeeds(on_error: str) -> None:
    bench = WorkerBench(fail, (0, 99, 1), on_error=on_error)
    assert not bench.handle()
    assert len(bench.given) <= 4
    assert bench.counts == (0, 100, 0, 0)


def test_an_interrupt_leaves_the_records_undecided_and_the_next_poll_is_handled() -> None:
    def process(batch: ShareBatch) -> None:
        if len(bench.given) == 1:
            raise KeyboardInterrupt

    bench = WorkerBench(process, (0, 2, 1))
    with pytest.raises(KeyboardInterrupt):
        bench.handle()
    assert bench.broker.sent == []
    with pytest.raises(IllegalStateError, match="has returned"):
        bench.batch.reject()
    other = ShareBatch(polled((3, 5, 1)))
    bench.broker.more.append(other.records)
    assert bench.driver.handle(other)
    assert bench.broker.decisions == dict.fromkeys(range(3, 6), ACCEPT)


def test_held_records_are_logged_less_and_less_often(caplog: pytest.LogCaptureFixture) -> None:
    bench = WorkerBench(fail, (0, 9, 1), patient=True, ends_after_ms=60_000)
    bench.handle()
    messages = [message for message in caplog.messages if message.startswith("process raised")]
    assert messages[0].endswith(
        "the worker holds 10 records and tries them again, at least every 5.0 s, until something succeeds: ValueError:"
        " boom"
    )
    assert len(messages) == len(bench.waited).bit_length()


# ------------------------------------------------------------------------------------ while the sink is away


def away_for(outage_clock: Callable[[], ManualClock], until_ms: int) -> Callable[[ShareBatch], None]:
    def process(batch: ShareBatch) -> None:
        if outage_clock().now_ms() < until_ms:
            raise ConnectionError("the sink is away")

    return process


@pytest.mark.parametrize("on_error", ["release", "per_record", "reject"])
@pytest.mark.parametrize("ranges", [[(0, 999, 1)], [(0, 99, 2), (100, 119, 4), (120, 129, 5)]])
def test_an_outage_of_the_sink_costs_no_delivery_and_ends_at_full_speed(on_error: str, ranges: list[Range]) -> None:
    bench = WorkerBench(away_for(lambda: bench.clock, 1_060_000), *ranges, on_error=on_error, patient=True)
    assert bench.handle()
    assert set(bench.broker.decisions.values()) == {ACCEPT}
    assert bench.tally.released == bench.tally.rejected == 0
    assert not bench.tally.failed
    assert bench.tally.last_error == "ConnectionError: the sink is away"
    tries = sorted(bench.waited)
    assert tries[0] >= 1
    assert tries[-1] <= 6_000, "it notices within seconds that the sink is back"
    assert len(bench.waited) < 30


def test_a_run_that_is_to_end_releases_what_may_come_again_and_fails() -> None:
    bench = WorkerBench(fail, (0, 99, 1), patient=True, ends_after_ms=60_000)
    assert not bench.handle()
    assert bench.counts == (0, 100, 0, 0)
    assert bench.tally.failed
    assert 60_000 <= bench.clock.now_ms() - 1_000_000 <= 66_000


@pytest.mark.parametrize("on_error", ["release", "per_record", "reject"])
@pytest.mark.parametrize("patient", [True, False])
@pytest.mark.parametrize("limit", [2, 3, 5])
def test_a_last_delivery_is_held_through_a_long_outage_even_if_the_run_is_to_end(
    on_error: str, patient: bool, limit: int
) -> None:
    ten_minutes_ms = 600_000
    ranges = [(0, 4, 1), (5, 9, limit - 1), (10, 14, limit)]
    bench = WorkerBench(
        away_for(lambda: bench.clock, 1_000_000 + ten_minutes_ms),
        *ranges,
        on_error=on_error,
        patient=patient,
        ends_after_ms=1_000,
        limit=limit,
    )
    bench.handle()
    decisions = bench.broker.decisions
    assert {decisions[offset] for offset in range(10, 15)} == {ACCEPT}
    assert {decisions[offset] for offset in range(10)} == {RELEASE}
    assert bench.tally.rejected == 0


def test_without_a_success_nothing_is_rejected_and_with_one_the_bad_ones_are() -> None:
    bench = WorkerBench(failing_on(*range(30)), (0, 29, 5), on_error="reject", patient=True, others=[(30, 39, 1)])
    assert bench.handle()
    assert bench.broker.decisions == {**dict.fromkeys(range(30), REJECT), **dict.fromkeys(range(30, 40), ACCEPT)}


def test_what_the_function_decided_before_it_raised_does_not_hold_in_the_next_try() -> None:
    def process(batch: ShareBatch) -> None:
        if len(bench.given) == 1:
            batch.reject([True, False])
            raise ConnectionError("the sink is away")

    bench = WorkerBench(process, (0, 1, 1), patient=True)
    assert bench.handle()
    assert bench.broker.decisions == {0: ACCEPT, 1: ACCEPT}


@pytest.mark.parametrize("on_error", ["release", "per_record"])
def test_other_records_show_that_it_is_not_the_sink(on_error: str) -> None:
    bench = WorkerBench(failing_on(0), (0, 0, 1), on_error=on_error, patient=True, others=[(1, 5, 1)])
    assert bench.handle()
    assert bench.broker.decisions == {0: RELEASE, **dict.fromkeys(range(1, 6), ACCEPT)}
    assert bench.clock.now_ms() - 1_000_000 < 1_000
    assert bench.tally.failed == (on_error == "release")


def test_a_bad_record_that_is_left_over_is_not_held_for_long() -> None:
    bench = WorkerBench(failing_on(5), (0, 5, 1), on_error="per_record", patient=True)
    assert bench.handle()
    assert bench.broker.decisions == {5: RELEASE, **dict.fromkeys(range(5), ACCEPT)}
    assert bench.clock.now_ms() - 1_000_000 < 10_000


def test_a_last_delivery_that_is_left_over_is_given_up_when_a_good_record_succeeds_again() -> None:
    bench = WorkerBench(failing_on(0), (0, 5, 5), on_error="per_record", patient=True)  # which goes last
    bench.handle()
    assert bench.broker.decisions == {0: REJECT, **dict.fromkeys(range(1, 6), ACCEPT)}
    assert bench.given[-2:] == [[1], [0]], "the sink works, and the record fails"


def test_the_sink_that_fails_after_the_others_succeeded_costs_no_last_delivery() -> None:
    def process(batch: ShareBatch) -> None:
        if len(bench.given) > 5 and bench.clock.now_ms() < 1_600_000:
            raise ConnectionError("the sink is away")

    bench = WorkerBench(process, (0, 5, 5), on_error="reject", patient=True)
    bench.handle()
    assert bench.broker.decisions == dict.fromkeys(range(6), ACCEPT)


@pytest.mark.parametrize(("count", "released"), [(1, 29), (2, 1)])
def test_one_record_of_a_batch_shows_that_it_is_not_the_sink(count: int, released: int) -> None:
    bench = WorkerBench(failing_on(12), (0, 29, count), patient=True)
    assert bench.handle()
    assert (bench.tally.accepted, bench.tally.released) == (30 - released, released)
    assert bench.tally.failed
    assert bench.clock.now_ms() - 1_000_000 < 5_000


def test_two_bad_records_do_not_look_like_an_outage_once_a_third_comes() -> None:
    bench = WorkerBench(failing_on(0, 1), (0, 0, 1), patient=True, others=[(1, 1, 1), (2, 2, 1)])
    assert bench.handle()
    assert bench.broker.decisions == {0: RELEASE, 1: RELEASE, 2: ACCEPT}
    assert bench.clock.now_ms() - 1_000_000 < 5_000


def test_a_full_poll_is_held_with_one_other_and_no_more() -> None:
    others = [(first, first + 999, 1) for first in (1_000, 2_000, 3_000)]
    bench = WorkerBench(fail, (0, 999, 1), patient=True, ends_after_ms=60_000, others=others)
    assert not bench.handle()
    assert len(bench.others) == 2


def test_locks_that_cannot_be_renewed_end_the_retries() -> None:
    bench = WorkerBench(fail, (0, 9, 1), patient=True)
    (delivery,) = deliveries_of(bench.batch.records)
    delivery.renewable, delivery.lock_deadline_ms = False, bench.clock.now_ms() + 3_000
    assert not bench.handle()
    assert bench.clock.now_ms() - 1_000_000 <= 3_000


# ------------------------------------------------------------------------------- results that are not None


async def awaitable(batch: ShareBatch) -> None:
    pass


UNFINISHED: list[Callable[[ShareBatch], object]] = [
    lambda batch: map(print, batch),
    lambda batch: filter(print, batch),
    lambda batch: (record for record in batch),
    lambda batch: Future[None](),
    lambda batch: functools.partial(print, batch),
    lambda batch: batch.reject(),
    lambda batch: False,
    awaitable,
]


@pytest.mark.parametrize("on_error", ["release", "per_record", "reject"])
@pytest.mark.parametrize("process", UNFINISHED)
@pytest.mark.parametrize("ranges", [[(0, 2, 1)], [(0, 0, 1), (1, 1, 2), (2, 2, 4)]])
def test_unfinished_work_is_released_at_once_and_the_run_fails(
    process: Callable[[ShareBatch], object], on_error: str, ranges: list[Range]
) -> None:
    bench = WorkerBench(process, *ranges, on_error=on_error, patient=True)
    assert not bench.handle()
    assert bench.counts == (0, 3, 0, 0)
    assert bench.tally.failed
    assert "Records are accepted only if process returns None" in bench.tally.last_error
    assert len(bench.given) == 1
    assert bench.waited in ([], [100])  # no retries; the wait is that before records that were delivered often


def test_a_future_that_fails_does_not_lose_its_records() -> None:
    def process(batch: ShareBatch) -> object:
        future: Future[None] = Future()
        future.set_exception(ConnectionError("the sink is away"))
        return future

    bench = WorkerBench(process, (0, 99, 1), patient=True)
    assert not bench.handle()
    assert bench.broker.decisions == dict.fromkeys(range(100), RELEASE)


# ---------------------------------------------------------------------------------------- what is given up


def test_reject_copies_everything_before_it_is_gone() -> None:
    bench = WorkerBench(failing_on(0, 1, 2), (0, 2, 1), (3, 3, 2), on_error="reject", dead_letters=True)
    bench.handle()
    assert bench.counts == (1, 0, 3, 0)
    assert bench.producer.values == [b"v0", b"v1", b"v2"]
    assert bench.tally.dead_lettered == 3
    assert not bench.tally.failed


def test_what_the_function_rejects_is_copied_with_where_it_came_from() -> None:
    def process(batch: ShareBatch) -> None:
        batch.reject([False, True, False])

    bench = WorkerBench(process, (0, 2, 2), dead_letters=True)
    assert bench.handle()
    ((topic, value, headers),) = bench.producer.letters
    assert (topic, value) == ("dlq", b"v1")
    assert headers == {
        "__dlq.errors.topic": b"orders",
        "__dlq.errors.partition": b"0",
        "__dlq.errors.offset": b"1",
        "__dlq.errors.group": b"g",
        "__dlq.errors.delivery.count": b"2",
        "__dlq.errors.message": b"rejected",
    }


@pytest.mark.parametrize("on_error", ["reject", "per_record"])
def test_what_cannot_be_copied_is_given_back(on_error: str) -> None:
    rejects = reject_all if on_error == "per_record" else failing_on(0, 1)
    bench = WorkerBench(rejects, (0, 1, 1), on_error=on_error, dead_letters=True, patient=True, others=[(2, 2, 1)])
    bench.producer.is_away = True
    bench.handle()
    assert bench.counts == (int(on_error == "reject"), 2, 0, 0)
    assert bench.tally.failed
    assert bench.tally.error is not None
    assert "nobody there" in bench.tally.error


# ------------------------------------------------------------------------------- records that were delivered often


def test_what_was_delivered_often_is_processed_after_the_others_each_on_its_own() -> None:
    bench = WorkerBench(succeed, (0, 1, 1), (2, 3, 4), (4, 5, 2))
    assert bench.handle()
    assert bench.given == [[0, 1], [4, 5], [2], [3]]
    assert [sorted(commit) for commit in bench.broker.sent] == [[0, 1], [4, 5], [2], [3]]
    assert bench.counts == (6, 0, 0, 0)
    assert bench.waited == [100]


def test_nothing_waits_while_a_record_is_on_its_last_delivery() -> None:
    bench = WorkerBench(succeed, (0, 1, 4), (2, 3, 5))
    assert bench.handle()
    assert bench.waited == []


def test_a_bad_record_does_not_bring_its_neighbours_nearer_to_their_limit() -> None:
    bench = WorkerBench(failing_on(3), (0, 5, 4))
    assert bench.handle()
    assert bench.broker.decisions == {0: ACCEPT, 1: ACCEPT, 2: ACCEPT, 3: RELEASE, 4: ACCEPT, 5: ACCEPT}
    assert bench.tally.failed


def test_near_the_limit_a_copy_is_durable_before_anything_is_processed() -> None:
    copied: list[int] = []

    def process(batch: ShareBatch) -> None:
        copied.append(bench.producer.flushed)

    bench = WorkerBench(process, (0, 1, 1), (2, 3, 4), dead_letters=True)
    assert bench.handle()
    assert bench.given == [[0, 1], [2], [3]]
    assert copied == [2, 2, 2]
    assert bench.producer.values == [b"v2", b"v3"]
    assert bench.counts == (4, 0, 0, 0)


@pytest.mark.parametrize("dead_letters", [True, False])
def test_the_last_failure_rejects_and_copies_once(dead_letters: bool) -> None:
    bench = WorkerBench(failing_on(1), (0, 1, 5), dead_letters=dead_letters)
    bench.handle()
    assert bench.broker.decisions == {0: ACCEPT, 1: REJECT}
    assert bench.producer.values == ([b"v0", b"v1"] if dead_letters else [])
    assert bench.tally.dead_lettered == (2 if dead_letters else 0)


def test_the_last_delivery_is_tried_although_no_copy_can_be_made() -> None:
    bench = WorkerBench(succeed, (0, 1, 5), dead_letters=True)
    bench.producer.is_away = True
    bench.handle()
    assert bench.broker.decisions == {0: ACCEPT, 1: ACCEPT}
    assert bench.tally.failed


# ----------------------------------------------------------------------------------------------- acknowledgements


def test_what_the_broker_refuses_is_never_counted_as_accepted() -> None:
    bench = WorkerBench(succeed, (0, 2, 1))
    bench.broker.refusal = InvalidRecordStateError("the lock was lost")
    assert bench.handle()
    assert bench.counts == (0, 0, 0, 3)
    assert not bench.tally.failed


@pytest.mark.parametrize("error", [BootstrapError("nobody there"), GroupAuthorizationFailedError("no")])
def test_an_error_of_the_background_does_not_keep_acknowledgements_back(error: KafkaGroupsError) -> None:
    bench = WorkerBench(succeed, (0, 2, 1))
    bench.broker.background = [error]
    bench.handle()
    assert bench.counts == (3, 0, 0, 0)
    if isinstance(error, BootstrapError):
        assert not bench.poller.poll(0)
    else:
        with pytest.raises(GroupAuthorizationFailedError):
            bench.poller.poll(0)


def test_a_commit_is_not_tried_for_ever() -> None:
    bench = WorkerBench(succeed, (0, 2, 1))
    bench.broker.background = [BootstrapError("nobody there")] * 9
    bench.handle()
    assert bench.counts == (0, 0, 0, 3)


def test_an_answer_that_does_not_come_in_time() -> None:
    bench = WorkerBench(succeed, (0, 2, 1))
    bench.broker.answers_late = True
    bench.handle()
    bench.broker.background = [OperationTimeoutError("no answer")]
    bench.acknowledger.finish()
    assert (bench.tally.accepted, bench.tally.lock_lost) == (0, 3)
    assert not bench.tally.failed


def test_answers_are_waited_for_at_the_end() -> None:
    bench = WorkerBench(succeed, (0, 2, 1))
    bench.broker.answers_late = True
    assert bench.handle()
    assert bench.broker.decisions == dict.fromkeys(range(3), ACCEPT)
    assert bench.counts == (0, 0, 0, 0)
    bench.acknowledger.finish()
    bench.acknowledger.finish()
    assert bench.counts == (3, 0, 0, 0)


def test_nothing_decided_is_nothing_sent() -> None:
    bench = WorkerBench(succeed, (0, 2, 1))
    Acknowledger(bench.poller, bench.tally, ManualClock()).send(bench.batch.records)
    assert bench.broker.sent == []
