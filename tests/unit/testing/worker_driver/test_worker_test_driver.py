"""The driver of workers: outcomes, virtual time, redelivery, dead letters, and what it refuses."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from kafka_groups import (
    Attempt,
    Backoff,
    Batch,
    Health,
    OnError,
    RateLimit,
    Reject,
    Retry,
    ShareRecord,
    Worker,
    current_attempt,
    serdes,
)
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.errors.local import SerializationError
from kafka_groups.share.workers.rules.failures.signals import (
    AttemptCancelledError,
    AttemptTimeoutError,
    HandlerResultError,
    ParseError,
)
from kafka_groups.testing import DeliveryState, Outcome, RawValue, WorkerTestDriver, WorkerTestError

LOST_AND_FOUND = "orders.dead"
QUICK = Backoff(first=1, most=4, times=2)


class Order(msgspec.Struct, frozen=True):
    total: int


class Sink:
    """What a handler works with: it remembers values, and fails as a test says."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self.errors: dict[object, Exception] = {}
        self.numbers: list[int] = []

    def take(self, value: object) -> None:
        self.values.append(value)
        self.numbers.append(current_attempt().number)
        if value in self.errors:
            raise self.errors[value]


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def worker() -> Worker:
    return Worker("invoices", bootstrap_servers="localhost:9092")


# ------------------------------------------------------------------------------------------------ outcomes


def test_a_value_goes_through_the_serde_and_the_record_comes_with_it(worker: Worker) -> None:
    seen: list[tuple[Order, ShareRecord[bytes, Order]]] = []

    @worker.handler("orders", value=serdes.json(Order))
    def invoice(order: Order, record: ShareRecord[bytes, Order]) -> None:
        seen.append((order, record))

    with WorkerTestDriver(worker) as test:
        delivery = test.deliver(
            "orders", Order(5), key="ann", headers=[("trace", "1"), ("empty", None)], partition=3, timestamp=77
        )
        second = test.deliver("orders", Order(6), partition=3)
    ((order, record), (_, later)) = seen
    assert (order, record.value) == (Order(5), Order(5))
    assert (record.key, record.headers, record.timestamp) == (b"ann", [("trace", b"1"), ("empty", None)], 77)
    assert (record.topic, record.partition, record.offset, record.delivery_count) == ("orders", 3, 0, 1)
    assert (later.offset, later.timestamp) == (1, 1_767_225_600_000)
    assert (delivery.outcome, delivery.attempts, delivery.errors) == (Outcome.ACCEPTED, 1, ())
    assert (second.topic, second.partition, second.offset) == ("orders", 3, 1)
    assert delivery.record.raw_value == b'{"total":5}'


def test_a_value_that_cannot_be_parsed_calls_no_handler_and_becomes_a_dead_letter(worker: Worker, sink: Sink) -> None:
    worker.handler("orders", value=serdes.json(Order), dead_letters=LOST_AND_FOUND)(sink.take)
    with WorkerTestDriver(worker) as test:
        bad = test.deliver("orders", raw=b"no json", key=b"ann", headers=[("trace", b"1")])
        null = test.deliver("orders", None)
        letters = test.dead_letters(LOST_AND_FOUND)
    assert (bad.outcome, null.outcome) == (Outcome.REJECTED, Outcome.REJECTED)
    assert (bad.attempts, sink.values) == (0, [])
    assert [type(error) for error in bad.errors] == [ParseError]
    assert [(letter.key, letter.value) for letter in letters] == [(b"ann", b"no json"), (None, None)]
    assert letters[0].headers[:2] == (("trace", b"1"), ("__dlq.errors.topic", b"orders"))
    assert dict(letters[1].headers)["__dlq.errors.offset"] == b"1"
    assert letters[0].reason.startswith("the value cannot be parsed")


def test_a_rejected_record_is_gone_and_without_a_topic_for_dead_letters_nothing_is_copied(worker: Worker) -> None:
    @worker.handler("orders")
    def invoice(order: bytes) -> None:
        raise Reject("negative total")

    with WorkerTestDriver(worker, group_dead_letters="dlq.orders") as test:
        delivery = test.deliver("orders", b"1")
        assert [letter.reason for letter in test.dead_letters("dlq.orders")] == ["rejected"]
    with WorkerTestDriver(worker) as test:
        assert test.deliver("orders", b"1").outcome is Outcome.REJECTED
        with pytest.raises(ConfigurationError, match="Topics for dead letters: none"):
            test.dead_letters(LOST_AND_FOUND)
    assert delivery.outcome is Outcome.REJECTED


def test_retries_come_at_their_times_and_without_jitter(worker: Worker, sink: Sink) -> None:
    worker.handler("orders", retries=QUICK, dead_letters=LOST_AND_FOUND, outages=())(sink.take)
    sink.errors[b"bad"] = ValueError("no such customer")
    with WorkerTestDriver(worker) as test:
        delivery = test.deliver("orders", b"bad")
        assert (delivery.state, delivery.next_attempt_in) == (DeliveryState.WAITING, 1.0)
        test.advance(0.999)
        assert (delivery.attempts, delivery.next_attempt_in) == (1, 0.001)
        test.advance(0.001)
        assert (delivery.attempts, delivery.next_attempt_in) == (2, 2.0)
        assert "orders-0@0 delivery 1: waiting, 2 attempts, the next in 2 s, last error ValueError" in repr(delivery)
        test.advance(2)
        assert (delivery.state, delivery.next_attempt_in) == (DeliveryState.SETTLED, None)
        assert test.now == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=3)
        assert [letter.reason for letter in test.dead_letters(LOST_AND_FOUND)] == ["ValueError: no such customer"]
    assert (delivery.outcome, delivery.attempts, sink.numbers) == (Outcome.REJECTED, 3, [1, 2, 3])
    assert [str(error) for error in delivery.errors] == ["no such customer"] * 3


def waits_of(worker: Worker, seed: int | None) -> list[float | None]:
    """The first waits of three records that fail."""
    with WorkerTestDriver(worker, seed=seed) as test:
        return [test.deliver(f"topic-{number}", b"bad").next_attempt_in for number in range(3)]


def test_jitter_follows_the_seed(worker: Worker, sink: Sink) -> None:
    for number in range(3):
        worker.handler(f"topic-{number}", name=f"handler {number}")(sink.take)
    sink.errors[b"bad"] = ValueError("bad")
    assert waits_of(worker, None) == [1.0, 1.0, 1.0]
    assert waits_of(worker, 1) == waits_of(worker, 1) != waits_of(worker, 2)
    assert all(wait is not None and 0.8 <= wait <= 1.2 for wait in waits_of(worker, 1))


def test_a_handler_says_when_to_retry(worker: Worker) -> None:
    @worker.handler("payments")
    def pay(payment: bytes) -> None:
        if current_attempt().number == 1:
            raise Retry("bank is closed", after=30)

    with WorkerTestDriver(worker) as test:
        payment = test.deliver("payments", b"5")
        test.advance(seconds=29)
        assert (payment.outcome, payment.attempts) == (None, 1)
        test.advance(seconds=1)
        assert (payment.outcome, payment.attempts) == (Outcome.ACCEPTED, 2)


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (OnError.ACCEPT, Outcome.ACCEPTED),
        (OnError.REJECT, Outcome.REJECTED),
        (OnError.RELEASE, Outcome.RELEASED),
        (OnError.HOLD, None),
    ],
)
def test_rules_for_errors(worker: Worker, sink: Sink, rule: OnError, outcome: Outcome | None) -> None:
    worker.handler("orders", errors={KeyError: rule})(sink.take)
    sink.errors[b"1"] = KeyError("ann")
    with WorkerTestDriver(worker) as test:
        delivery = test.deliver("orders", b"1")
        assert (delivery.outcome, delivery.attempts) == (outcome, 1)
        if rule is OnError.HOLD:
            test.advance(30)
            assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, 2)
    assert delivery.outcome is (Outcome.RELEASED if rule is OnError.HOLD else outcome)


def test_a_rule_that_stops_the_worker(worker: Worker, sink: Sink) -> None:
    worker.handler("orders", errors={KeyError: OnError.STOP})(sink.take)
    worker.handler("bills", name="bills")(sink.take)
    sink.errors |= {b"stop": KeyError("ann"), b"bad": ValueError("bad")}
    with WorkerTestDriver(worker) as test:
        waiting = test.deliver("bills", b"bad")
        delivery = test.deliver("orders", b"stop")
        assert (delivery.outcome, waiting.outcome) == (Outcome.RELEASED, Outcome.RELEASED)
        assert test.stopped_by is sink.errors[b"stop"]
        assert test.health() == Health(
            is_live=False, is_ready=False, reasons=("handler take: the worker was stopped by KeyError",)
        )
        with pytest.raises(IllegalStateError, match="the worker has stopped because of KeyError"):
            test.deliver("bills", b"1")


# ------------------------------------------------------------------------------------- batches, keys, breaker


def test_a_batch_waits_for_others_and_decides_about_single_records(worker: Worker) -> None:
    sizes: list[int] = []

    @worker.batch_handler("events", max_records=3, max_wait=1.0, dead_letters=LOST_AND_FOUND)
    def store(batch: Batch[bytes]) -> None:
        sizes.append(len(batch))
        if b"bad" in list(batch):
            batch.reject(list(batch).index(b"bad"), "broken")
        if b"busy" in list(batch) and len(sizes) < 3:
            batch.retry(list(batch).index(b"busy"), after=5)

    with WorkerTestDriver(worker) as test:
        first = test.deliver("events", b"1")
        assert (first.state, sizes) == (DeliveryState.HELD, [])
        test.advance(1)
        assert (first.outcome, sizes) == (Outcome.ACCEPTED, [1])
        good, bad, busy = test.deliver_batch("events", [b"2", b"bad", b"busy"], keys=[b"a", b"b", None])
        assert (good.outcome, bad.outcome, busy.state) == (Outcome.ACCEPTED, Outcome.REJECTED, DeliveryState.WAITING)
        test.advance(5)
        assert [letter.key for letter in test.dead_letters(LOST_AND_FOUND)] == [b"b"]
    assert (busy.outcome, busy.attempts, sizes) == (Outcome.ACCEPTED, 2, [1, 3, 1])


def test_halves_of_a_failing_batch_find_the_bad_record(worker: Worker) -> None:
    batches: list[list[Order]] = []

    @worker.batch_handler("events", value=serdes.json(Order), max_records=4, dead_letters=LOST_AND_FOUND, outages=())
    def store(batch: Batch[Order]) -> None:
        batches.append(list(batch))
        if Order(13) in list(batch):
            raise ValueError("13")

    with WorkerTestDriver(worker) as test:
        given = [Order(1), Order(2), Order(13), RawValue(b"{")]
        deliveries = test.deliver_batch("events", given)
        assert batches == [[Order(1), Order(2), Order(13)], [Order(1), Order(2)], [Order(13)]]
        test.advance(60)
    assert [delivery.outcome for delivery in deliveries] == [Outcome.ACCEPTED] * 2 + [Outcome.REJECTED] * 2
    assert [delivery.attempts for delivery in deliveries] == [2, 2, 7, 0]


def test_a_retry_blocks_its_key_only(worker: Worker, sink: Sink) -> None:
    worker.handler("orders", order_by="key", retries=QUICK)(sink.take)
    sink.errors[b"a1"] = ValueError("not yet")
    with WorkerTestDriver(worker) as test:
        first, second, other = test.deliver_batch("orders", [b"a1", b"a2", b"b1"], keys=[b"a", b"a", b"b"])
        assert (first.state, second.state, other.outcome) == (
            DeliveryState.WAITING,
            DeliveryState.HELD,
            Outcome.ACCEPTED,
        )
        del sink.errors[b"a1"]
        test.advance(1)
    assert (first.outcome, second.outcome, sink.values) == (
        Outcome.ACCEPTED,
        Outcome.ACCEPTED,
        [b"a1", b"b1", b"a1", b"a2"],
    )


def test_the_breaker_opens_after_three_records_and_probes_until_one_succeeds(worker: Worker, sink: Sink) -> None:
    worker.handler("orders")(sink.take)
    sink.errors |= {value: ConnectionError("down") for value in (b"1", b"2", b"3", b"4")}
    with WorkerTestDriver(worker) as test:
        deliveries = [test.deliver("orders", value) for value in (b"1", b"2", b"3", b"4")]
        assert test.is_breaker_open("orders")
        assert (deliveries[3].state, deliveries[3].attempts) == (DeliveryState.HELD, 0)
        assert deliveries[0].next_attempt_in == 0.2
        assert test.health().reasons == ("handler take: the breaker is open (ConnectionError)",)
        test.advance(120)
        assert test.is_breaker_open("orders")
        assert len(sink.values) < 14
        sink.errors.clear()
        test.advance(31)
        assert not test.is_breaker_open("orders")
        assert test.health().is_ready
    assert [delivery.outcome for delivery in deliveries] == [Outcome.ACCEPTED] * 4


def test_a_full_window_gives_up_the_record_that_blocks_it(worker: Worker, sink: Sink) -> None:
    rare = Backoff(first=60, most=60)
    worker.handler("orders", on_blocked=OnError.DEAD_LETTER, dead_letters=LOST_AND_FOUND, retries=rare)(sink.take)
    sink.errors[b"bad"] = ValueError("bad")
    with WorkerTestDriver(worker, record_locks=10) as test:
        bad = test.deliver("orders", b"bad")
        test.deliver_batch("orders", [b"1"] * 7)
        test.advance(20)
        assert bad.state is DeliveryState.WAITING
        test.deliver("orders", b"1")
        test.advance(20)
        assert "held back orders-0 for too long" in test.dead_letters(LOST_AND_FOUND)[0].reason
    assert (bad.outcome, bad.attempts) == (Outcome.REJECTED, 1)


# ------------------------------------------------------------------------------------- deliveries and letters


def test_a_released_record_comes_again_until_the_limit(worker: Worker, sink: Sink) -> None:
    worker.handler("orders", errors={KeyError: OnError.RELEASE})(sink.take)
    sink.errors[b"1"] = KeyError("ann")
    with WorkerTestDriver(worker, delivery_limit=2, group_dead_letters="dlq.orders") as test:
        first = test.deliver("orders", b"1", key=b"ann", partition=1)
        second = test.redeliver(first)
        assert (second.delivery_count, second.partition, second.offset) == (2, 1, 0)
        assert (first.outcome, second.outcome) == (Outcome.RELEASED, Outcome.RELEASED)
        assert [letter.key for letter in test.dead_letters("dlq.orders")] == [b"ann"]
        with pytest.raises(IllegalStateError, match="has archived it, because it has reached delivery_limit=2"):
            test.redeliver(second)
        del sink.errors[b"1"]
        with pytest.raises(IllegalStateError, match="released or lost"):
            test.redeliver(test.deliver("orders", b"1"))


def test_the_next_to_last_delivery_is_copied_before_it_is_processed(worker: Worker, sink: Sink) -> None:
    worker.handler("orders", dead_letters=LOST_AND_FOUND)(sink.take)
    with WorkerTestDriver(worker) as test:
        assert test.deliver("orders", b"third", delivery_count=3).outcome is Outcome.ACCEPTED
        assert test.dead_letters(LOST_AND_FOUND) == []
        assert test.deliver("orders", b"fourth", delivery_count=4).outcome is Outcome.ACCEPTED
        (letter,) = test.dead_letters(LOST_AND_FOUND)
    assert (letter.value, letter.reason) == (b"fourth", "before processing")


def test_a_record_on_one_of_its_last_deliveries_has_the_process_to_itself(worker: Worker) -> None:
    @worker.handler("orders", dead_letters=LOST_AND_FOUND)
    async def invoice(order: bytes) -> None:
        await asyncio.sleep(5)

    @worker.handler("payments")
    async def pay(payment: bytes) -> None:
        await asyncio.sleep(10)

    with WorkerTestDriver(worker) as test:
        payment = test.deliver("payments", b"1")
        order = test.deliver("orders", b"2", delivery_count=4)
        assert (payment.state, order.state) == (DeliveryState.RUNNING, DeliveryState.HELD)
        test.advance(10)
        later = test.deliver("payments", b"3")
        assert (payment.outcome, order.state, later.state) == (
            Outcome.ACCEPTED,
            DeliveryState.RUNNING,
            DeliveryState.HELD,
        )
        test.advance(5)
        assert (order.outcome, later.state) == (Outcome.ACCEPTED, DeliveryState.RUNNING)


def test_records_are_held_while_dead_letters_cannot_be_written(worker: Worker) -> None:
    @worker.handler("orders", dead_letters=LOST_AND_FOUND)
    def invoice(order: bytes) -> None:
        raise Reject("bad")

    with WorkerTestDriver(worker) as test:
        test.fail_writes(LOST_AND_FOUND)
        delivery = test.deliver("orders", b"1")
        test.advance(10)
        assert (delivery.outcome, delivery.state) == (None, DeliveryState.WRITING)
        assert f"cannot write to {LOST_AND_FOUND}" in test.health().reasons[0]
        test.restore_writes(LOST_AND_FOUND)
        assert test.health().is_ready
        (letter,) = test.dead_letters(LOST_AND_FOUND)
    assert (delivery.outcome, delivery.attempts) == (Outcome.REJECTED, 1)
    assert "__dlq.errors.possible.duplicate" not in dict(letter.headers)


def test_a_function_sees_that_its_lock_was_lost_and_a_redelivery_does_not_run_again(worker: Worker) -> None:
    seen: list[bool] = []

    @worker.handler("orders")
    def invoice(order: bytes, record: ShareRecord[bytes, bytes]) -> None:
        seen.append(current_attempt().lock_lost)
        test.lose_lock(record)
        seen.append(current_attempt().lock_lost)

    with WorkerTestDriver(worker) as test:
        lost = test.deliver("orders", b"1")
        again = test.redeliver(lost)
        with pytest.raises(IllegalStateError, match="its lock cannot be lost, as the record is not in hand"):
            test.lose_lock(again)
    assert (lost.outcome, again.outcome, again.attempts, seen) == (Outcome.LOST, Outcome.ACCEPTED, 0, [False, True])


def test_a_task_whose_lock_was_lost_is_cancelled(worker: Worker) -> None:
    events: list[str] = []

    @worker.handler("orders")
    async def invoice(order: bytes) -> None:
        try:
            await asyncio.sleep(5)
            events.append("done")
        except asyncio.CancelledError:
            events.append(f"cancelled, lost: {current_attempt().lock_lost}")
            raise

    with WorkerTestDriver(worker) as test:
        lost = test.deliver("orders", b"1")
        test.advance(1)
        test.lose_lock(lost)
        again = test.redeliver(lost)
        test.advance(5)
    assert (lost.outcome, again.outcome) == (Outcome.LOST, Outcome.ACCEPTED)
    assert events == ["cancelled, lost: True", "done"]


# --------------------------------------------------------------------------------------------- async handlers


def test_sleeping_takes_virtual_time_and_handlers_run_at_once(worker: Worker) -> None:
    ends: list[bytes] = []

    @worker.handler("orders", concurrency=2)
    async def invoice(order: bytes) -> None:
        await asyncio.sleep(float(order))
        ends.append(order)

    with WorkerTestDriver(worker) as test:
        slow, quick, third = (test.deliver("orders", value) for value in (b"600", b"0.25", b"1"))
        assert (slow.state, quick.state, third.state) == (
            DeliveryState.RUNNING,
            DeliveryState.RUNNING,
            DeliveryState.HELD,
        )
        test.advance(0.25)
        assert (quick.outcome, third.state) == (Outcome.ACCEPTED, DeliveryState.RUNNING)
        test.advance(seconds=600)
    assert (slow.outcome, slow.attempts, ends) == (Outcome.ACCEPTED, 1, [b"0.25", b"1", b"600"])


def test_a_timeout_cancels_at_its_time(worker: Worker) -> None:
    @worker.handler("orders", timeout=60, retries=Backoff(first=2, most=2))
    async def invoice(order: bytes) -> None:
        if current_attempt().number == 1:
            await asyncio.Event().wait()

    with WorkerTestDriver(worker) as test:
        delivery = test.deliver("orders", b"1")
        test.advance(59.9)
        assert (delivery.state, delivery.errors) == (DeliveryState.RUNNING, ())
        test.advance(0.1)
        assert (delivery.state, delivery.next_attempt_in) == (DeliveryState.WAITING, 2.0)
        assert [type(error) for error in delivery.errors] == [AttemptTimeoutError]
        test.advance(2)
    assert (delivery.outcome, delivery.attempts) == (Outcome.ACCEPTED, 2)


def test_a_task_that_ignores_cancelling_is_not_live(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    released = asyncio.Event()

    @worker.handler("orders", timeout=1)
    async def invoice(order: bytes) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    with caplog.at_level(logging.ERROR), WorkerTestDriver(worker) as test:
        test.deliver("orders", b"1")
        test.advance(10)
        assert not test.health().is_live
        released.set()
        test.advance()
        assert test.health().is_live
    assert "exceeds the timeout and cannot be stopped" in caplog.text


def test_a_handler_goes_on_when_the_test_has_done_what_it_waits_for(worker: Worker) -> None:
    bank_is_open = asyncio.Event()

    @worker.handler("payments")
    async def pay(payment: bytes) -> None:
        await bank_is_open.wait()

    with WorkerTestDriver(worker) as test:
        payment = test.deliver("payments", b"5")
        test.advance(1000)
        assert payment.state is DeliveryState.RUNNING
        bank_is_open.set()
        test.advance()
    assert payment.outcome is Outcome.ACCEPTED


def test_functions_for_threads_run_in_the_test(worker: Worker) -> None:
    def fail() -> None:
        raise KeyError("ann")

    @worker.handler("orders", errors={KeyError: OnError.REJECT})
    async def invoice(order: bytes) -> None:
        assert await asyncio.to_thread(asyncio.run, asyncio.sleep(0, "awaited")) == "awaited"
        await asyncio.to_thread(fail)

    with WorkerTestDriver(worker) as test:
        assert test.deliver("orders", b"1").outcome is Outcome.REJECTED


def test_sockets_are_refused_even_if_the_handler_catches_that(worker: Worker) -> None:
    @worker.handler("orders")
    async def invoice(order: bytes) -> None:
        try:
            await asyncio.open_connection("localhost", 1)
        except WorkerTestError:
            return

    with WorkerTestDriver(worker) as test:
        with pytest.raises(WorkerTestError, match=r"loop\.create_connection: .* an object in memory instead"):
            test.deliver("orders", b"1")
        test.advance(1)


# ------------------------------------------------------------------------------- middleware, lifespan, shutdown


def test_middleware_and_lifespan_are_entered_and_left() -> None:
    events: list[object] = []

    @asynccontextmanager
    async def connect() -> AsyncIterator[None]:
        events.append("connect")
        await asyncio.sleep(5)
        yield
        events.append("disconnect")

    @contextmanager
    def session(attempt: Attempt) -> Iterator[None]:
        events.append(("begin", attempt.handler, attempt.group, attempt.client_id, attempt.number))
        yield
        events.append("end")

    worker = Worker(
        "invoices", bootstrap_servers="localhost:9092", client_id="shop", middleware=[session], lifespan=connect
    )

    @worker.handler("orders")
    def invoice(order: bytes) -> None:
        events.append(order)

    with WorkerTestDriver(worker) as test:
        test.deliver("orders", b"1")
    assert events == ["connect", ("begin", "invoice", "invoices", "shop", 1), b"1", "end", "disconnect"]


def test_a_lifespan_that_waits_forever_is_refused() -> None:
    @asynccontextmanager
    async def connect() -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield

    worker = Worker("invoices", bootstrap_servers="localhost:9092", lifespan=connect)
    worker.handler("orders")(Sink().take)
    with (
        pytest.raises(WorkerTestError, match="the worker's lifespan or a dependency waits for something"),
        WorkerTestDriver(worker),
    ):
        raise AssertionError("it was entered")


def test_stopping_runs_what_is_held_and_releases_what_waits() -> None:
    worker = Worker("invoices", bootstrap_servers="localhost:9092", shutdown_timeout=10)

    @worker.handler("orders", concurrency=1)
    async def invoice(order: bytes) -> None:
        if order == b"bad":
            raise Retry("busy")
        await asyncio.sleep(4)

    with WorkerTestDriver(worker) as test:
        waiting = test.deliver("orders", b"bad")
        held = test.deliver_batch("orders", [b"1", b"2", b"3", b"4"])
        test.stop()
        assert [delivery.outcome for delivery in held] == 2 * [Outcome.ACCEPTED] + 2 * [Outcome.RELEASED]
        assert [delivery.attempts for delivery in held] == [1, 1, 1, 0], "the third is cancelled after ten seconds"
        assert test.health() == Health(is_ready=False, reasons=("the worker has stopped",))
        with pytest.raises(IllegalStateError, match="the worker has stopped: it takes no more records"):
            test.redeliver(waiting)
    assert waiting.outcome is Outcome.RELEASED


def test_a_handler_that_exits_stops_the_worker(worker: Worker) -> None:
    @worker.handler("orders")
    def invoice(order: bytes) -> None:
        raise SystemExit(3)

    with WorkerTestDriver(worker) as test, pytest.raises(HandlerResultError, match="raised SystemExit"):
        test.deliver("orders", b"1")


def test_a_handler_whose_shared_task_is_cancelled_is_called_again(worker: Worker) -> None:
    @worker.handler("orders", retries=QUICK, dead_letters=LOST_AND_FOUND)
    async def invoice(order: bytes) -> None:
        if order == b"never" or current_attempt().number == 1:
            shared = asyncio.ensure_future(asyncio.sleep(60))
            shared.cancel()
            await shared

    with WorkerTestDriver(worker) as test:
        once, never = test.deliver("orders", b"once"), test.deliver("orders", b"never")
        test.advance(60)
        assert (once.outcome, once.attempts, never.outcome) == (Outcome.ACCEPTED, 2, Outcome.REJECTED)
        assert {type(error) for error in never.errors} == {AttemptCancelledError}
        (letter,) = test.dead_letters(LOST_AND_FOUND)
        assert letter.reason.startswith("AttemptCancelledError: the handler raised CancelledError")


def test_ctrl_c_leaves_the_driver(worker: Worker) -> None:
    @worker.handler("orders")
    def invoice(order: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), WorkerTestDriver(worker) as test:
        test.deliver("orders", b"1")


# ------------------------------------------------------------------------------------------------- refusals


def test_work_that_is_not_done_is_refused(worker: Worker) -> None:
    @worker.handler("orders")
    def invoice(order: bytes) -> object:
        return asyncio.sleep(1)

    with WorkerTestDriver(worker) as test, pytest.raises(HandlerResultError, match="its record would be accepted"):
        test.deliver("orders", b"1")


def test_a_handler_that_calls_its_driver_is_refused(worker: Worker) -> None:
    @worker.handler("orders")
    def invoice(order: bytes) -> None:
        test.deliver("orders", b"2")

    with WorkerTestDriver(worker) as test:
        with pytest.raises(IllegalStateError, match=r"a handler called deliver\(\) of the driver that runs it"):
            test.deliver("orders", b"1")
        test.stop(timeout=0)


def test_retries_without_time_passing_are_refused(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.testing.worker_driver.handler._MOST_RETRIES_AT_ONCE", 50)
    attempts = itertools.count()

    @worker.handler("orders", retries=Backoff(first=0, most=0, times=0))
    def invoice(order: bytes) -> None:
        raise Retry(f"attempt {next(attempts)}")

    with (
        pytest.raises(WorkerTestError, match="ran more than 50 times without time passing"),
        WorkerTestDriver(worker) as test,
    ):
        test.deliver("orders", b"1")
    assert next(attempts) == 51


def test_wrong_arguments_are_refused(worker: Worker, sink: Sink) -> None:
    worker.handler(["orders", "refunds"], dead_letters=LOST_AND_FOUND)(sink.take)
    worker.handler("events", name="events", value=serdes.json(Order))(sink.take)
    with WorkerTestDriver(worker) as test:
        cases: list[tuple[Callable[[], object], str]] = [
            (lambda: test.deliver("order", b"1"), "topic='order': no handler .* Topics: 'events', 'orders', 'refunds'"),
            (lambda: test.is_breaker_open("order"), "topic='order'"),
            (lambda: test.dead_letters("orders"), "Topics for dead letters: 'orders.dead'"),
            (lambda: test.deliver("orders"), "either a value or raw bytes"),
            (lambda: test.deliver("orders", b"1", raw=b"1"), "either a value or raw bytes"),
            (lambda: test.deliver("orders", 1), "value=1: the handler of 'orders' gets bytes"),
            (lambda: test.deliver("orders", b"1", key=1), "key=1: give bytes, text or None"),  # type: ignore[arg-type]
            (lambda: test.deliver("orders", b"1", partition=-1), "partition=-1"),
            (lambda: test.deliver("orders", b"1", delivery_count=6), "delivery_count=6: give 1 to delivery_limit=5"),
            (lambda: test.deliver_batch("orders", []), "0 values and no keys"),
            (lambda: test.deliver_batch("orders", [b"1"], keys=[]), "1 value and 0 keys"),
            (lambda: test.advance(-1), "seconds=-1"),
        ]
        for refused, message in cases:
            with pytest.raises(ConfigurationError, match=message):
                refused()
        with pytest.raises(SerializationError):
            test.deliver("events", object())
    assert sink.values == []


def test_workers_that_cannot_be_tested_are_refused(worker: Worker, sink: Sink) -> None:
    with pytest.raises(ConfigurationError, match="declare a handler"):
        WorkerTestDriver(worker)
    worker.handler("orders", dead_letters=LOST_AND_FOUND)(sink.take)
    with pytest.raises(ConfigurationError, match="each record would be copied twice"):
        WorkerTestDriver(worker, group_dead_letters="dlq.orders")
    with pytest.raises(ConfigurationError, match="delivery_limit=0: give a whole number, 1 or more"):
        WorkerTestDriver(worker, delivery_limit=0)
    worker.handler("bills", name="bills", exhausted=OnError.DEAD_LETTER)(sink.take)
    with pytest.raises(ConfigurationError, match=r"OnError\.DEAD_LETTER needs a topic"), WorkerTestDriver(worker):
        raise AssertionError("it was entered")


def test_a_driver_is_entered_once_and_not_within_a_loop(worker: Worker, sink: Sink) -> None:
    worker.handler("orders")(sink.take)
    test = WorkerTestDriver(worker)
    with pytest.raises(IllegalStateError, match="is not open: use `with WorkerTestDriver"):
        test.deliver("orders", b"1")

    async def enter() -> None:
        with test:
            raise AssertionError("it was entered")

    with pytest.raises(IllegalStateError, match="another one is running"):
        asyncio.run(enter())
    with test:
        pass
    with pytest.raises(IllegalStateError, match="was entered before"), test:
        raise AssertionError("it was entered")
    with pytest.raises(IllegalStateError, match="the worker has stopped"):
        test.deliver("orders", b"1")


# ------------------------------------------------------------------------------------------------ rates


def test_attempts_with_a_rate_limit_start_as_virtual_time_passes(worker: Worker, sink: Sink) -> None:
    worker.handler("orders", value=serdes.string, rate_limit=RateLimit(10, burst=2), retries=QUICK)(sink.take)
    sink.errors["0"] = LookupError("no such customer")
    with WorkerTestDriver(worker) as test:
        orders = [test.deliver("orders", str(number)) for number in range(5)]
        assert sink.values == ["0", "1"]
        assert orders[2].state is DeliveryState.HELD
        assert test.health().is_ready
        test.advance(seconds=0.1)
        assert sink.values == ["0", "1", "2"]
        test.advance(seconds=0.2)
        assert sink.values == ["0", "1", "2", "3", "4"]
        sink.errors.clear()
        test.advance(seconds=1)
        assert [order.outcome for order in orders] == [Outcome.ACCEPTED] * 5
        assert [order.attempts for order in orders] == [2, 1, 1, 1, 1]


def test_a_start_of_a_worker_changes_no_group_in_a_test(sink: Sink) -> None:
    worker = Worker("shop", bootstrap_servers="localhost:9092", start="earliest")
    worker.handler("orders")(sink.take)
    with WorkerTestDriver(worker) as test:
        assert test.deliver("orders", b"5").outcome is Outcome.ACCEPTED
