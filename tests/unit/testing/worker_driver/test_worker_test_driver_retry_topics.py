"""The driver of workers moves records through retry topics in virtual time."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups import (
    Attempt,
    Backoff,
    Batch,
    OnError,
    RecordOrigin,
    Retry,
    RetryTopics,
    ShareRecord,
    Worker,
    current_attempt,
    serdes,
)
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.testing import DeliveryState, Outcome, WorkerTestDriver

TOPICS = RetryTopics("orders.retry", delays=(10, 60))


@pytest.fixture
def worker() -> Worker:
    return Worker("shop", bootstrap_servers="localhost:1")


def test_a_delivery_goes_on_in_the_retry_topics(worker: Worker) -> None:
    seen: list[Attempt] = []

    @worker.handler("orders", value=serdes.string, retry_topics=TOPICS, dead_letters="dead")
    def handle(value: str) -> None:
        seen.append(current_attempt())
        if len(seen) == 1:
            raise Retry("closed", after=75)

    with WorkerTestDriver(worker) as test:
        order = test.deliver("orders", "one", key=b"k", headers=[("own", b"1")])
        assert (order.outcome, order.state, order.attempts) == (None, DeliveryState.WAITING, 1)
        assert (order.next_attempt_in, order.retry_topic) == (75, "orders.retry.1m")
        [moved] = test.retry_topic("orders.retry.1m")
        assert (moved.key, moved.value, moved.headers[0]) == (b"k", b"one", ("own", b"1"))
        assert dict(moved.headers)["__retry.attempts"] == b"1"
        test.advance(74)
        assert (order.attempts, order.next_attempt_in, order.retry_topic) == (1, 1, "orders.retry.10s")
        test.advance(1)
        assert (order.outcome, order.attempts, order.topic) == (Outcome.ACCEPTED, 2, "orders")
        assert [len(test.retry_topic(name)) for name in TOPICS.names] == [1, 1]
        assert [str(error) for error in order.errors] == ["closed"]
        assert order.origin == RecordOrigin("orders", 0, 0, order.record.timestamp)
        assert [(attempt.number, attempt.origin) for attempt in seen] == [(1, order.origin), (2, order.origin)]
        assert seen[1].record.headers == [("own", b"1")]


def test_a_short_rest_is_spent_in_the_process(worker: Worker) -> None:
    calls: list[float] = []

    @worker.handler("orders", retry_topics=TOPICS, dead_letters="dead")
    async def handle(value: bytes) -> None:
        calls.append(asyncio.get_running_loop().time())
        if len(calls) == 1:
            raise Retry(after=15)

    with WorkerTestDriver(worker) as test:
        order = test.deliver("orders", b"1")
        test.advance(12)
        assert (order.state, order.next_attempt_in, len(calls)) == (DeliveryState.WAITING, 3, 1)
        test.advance(3)
        assert (order.outcome, calls[1] - calls[0]) == (Outcome.ACCEPTED, 15)


def test_many_records_come_back_when_each_is_due(worker: Worker) -> None:
    started: dict[bytes, list[float]] = {}

    @worker.handler("orders", retry_topics=TOPICS, dead_letters="dead", concurrency=3)
    async def handle(value: bytes) -> None:
        started.setdefault(value, []).append(asyncio.get_running_loop().time())
        if len(started[value]) == 1:
            raise Retry(after=10 if int(value) % 2 else 60)

    with WorkerTestDriver(worker) as test:
        orders = []
        for number in range(40):
            orders.append(test.deliver("orders", b"%d" % number))
            test.advance(0.5)
        test.advance(100)
        assert {order.outcome for order in orders} == {Outcome.ACCEPTED}
    waits = {number: times[1] - times[0] for number, times in started.items()}
    assert waits == {b"%d" % number: 10 if number % 2 else 60 for number in range(40)}


def test_an_exhausted_record_becomes_a_dead_letter_that_names_its_origin(worker: Worker) -> None:
    @worker.handler(
        "orders",
        retries=Backoff(first=5, most=3_600, times=5),
        retry_topics=TOPICS,
        dead_letters="dead",
        errors={KeyError: Backoff(first=5, most=3_600, times=5)},
    )
    def handle(value: bytes) -> None:
        raise KeyError(value)

    with WorkerTestDriver(worker) as test:
        order = test.deliver("orders", b"1", partition=3)
        test.advance(5 + 10 + 20 + 40 + 80 - 1)
        assert (order.outcome, order.attempts) == (None, 5)
        test.advance(1)
        assert (order.outcome, order.attempts) == (Outcome.REJECTED, 6)
        [letter] = test.dead_letters("dead")
    headers = dict(letter.headers)
    assert [headers[f"__dlq.errors.{name}"] for name in ("topic", "partition", "offset", "attempts")] == [
        b"orders",
        b"3",
        b"0",
        b"6",
    ]
    assert not any(name.startswith("__retry.") for name in headers)


def test_a_record_that_is_held_stays_in_the_largest_delay(worker: Worker) -> None:
    worker.handler("orders", retry_topics=TOPICS, dead_letters="dead", errors={KeyError: OnError.HOLD}, name="handle")(
        lambda value: {}[value]
    )
    with WorkerTestDriver(worker) as test:
        order = test.deliver("orders", b"1")
        test.advance(600)
        assert (order.outcome, order.attempts, order.retry_topic) == (None, 11, "orders.retry.1m")
        assert len(test.retry_topic("orders.retry.1m")) == 11
        assert repr(order).endswith("11 attempts, the next in 60 s, in orders.retry.1m, last error KeyError(b'1')>")


def test_nothing_moves_while_the_breaker_is_open(worker: Worker) -> None:
    is_down = True

    @worker.handler("orders", retry_topics=TOPICS, dead_letters="dead", retries=Backoff(first=12, most=12))
    def handle(value: bytes) -> None:
        if is_down:
            raise RuntimeError

    with WorkerTestDriver(worker) as test:
        orders = [test.deliver("orders", b"%d" % number) for number in range(5)]
        test.advance(600)
        assert test.is_breaker_open("orders")
        assert len(test.retry_topic("orders.retry.10s")) == 2  # those that failed before it opened
        is_down = False
        test.advance(60)
        assert {order.outcome for order in orders} == {Outcome.ACCEPTED}


def test_a_retry_topic_may_take_no_records_for_a_while(worker: Worker) -> None:
    calls: list[bytes] = []

    @worker.handler("orders", retry_topics=TOPICS, dead_letters="dead")
    def handle(value: bytes) -> None:
        calls.append(value)
        if len(calls) == 1:
            raise Retry(after=10)

    with WorkerTestDriver(worker) as test:
        test.fail_writes("orders.retry.10s")
        order = test.deliver("orders", b"1")
        test.advance(100)
        assert (order.state, test.health().is_ready) == (DeliveryState.WRITING, False)
        test.restore_writes("orders.retry.10s")
        test.advance(0)
        assert (order.outcome, len(calls)) == (Outcome.ACCEPTED, 2)


def test_batches_get_retried_records_as_well(worker: Worker) -> None:
    batches: list[list[bytes]] = []
    origins: list[RecordOrigin] = []

    @worker.batch_handler("orders", max_wait=0, retry_topics=TOPICS, dead_letters="dead")
    def handle(batch: Batch[bytes]) -> None:
        batches.append(list(batch))
        origins.extend(current_attempt().origins)
        if len(batches) == 1:
            batch.retry(1, "later", after=10)

    with WorkerTestDriver(worker) as test:
        orders = test.deliver_batch("orders", [b"0", b"1", b"2"])
        test.advance(10)
        assert [order.outcome for order in orders] == [Outcome.ACCEPTED] * 3
    assert batches == [[b"0", b"1", b"2"], [b"1"]]
    assert origins[3] == orders[1].origin


@pytest.mark.parametrize("exhausted", [None, OnError.HOLD, OnError.REJECT])
def test_a_record_with_broken_headers_becomes_a_dead_letter(worker: Worker, exhausted: OnError | None) -> None:
    calls: list[bytes] = []
    worker.handler("orders", retry_topics=TOPICS, dead_letters="dead", exhausted=exhausted, name="handle")(calls.append)
    with WorkerTestDriver(worker) as test:
        stray = test.deliver("orders.retry.10s", b"1", headers=[("own", b"1"), ("__retry.group", b"shop")])
        assert (stray.outcome, calls) == (Outcome.REJECTED, [])
        [letter] = test.dead_letters("dead")
        assert letter.reason == ("the value cannot be parsed: the header __retry.handler of the retry topic is missing")
        assert letter.headers[:2] == (("own", b"1"), ("__retry.group", b"shop"))


def test_a_lost_lock_in_a_retry_topic_leads_to_a_redelivery_there(worker: Worker) -> None:
    seen: list[tuple[int, int]] = []

    @worker.handler("orders", retry_topics=TOPICS, dead_letters="dead")
    async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        seen.append((current_attempt().number, record.delivery_count))
        if len(seen) == 1:
            raise Retry(after=10)
        await asyncio.sleep(5)

    with WorkerTestDriver(worker) as test:
        order = test.deliver("orders", b"1")
        other = test.deliver("orders", b"2")
        test.advance(5)
        with pytest.raises(IllegalStateError, match="its lock cannot be lost"):
            test.lose_lock(other)
        test.advance(5)
        assert order.state is DeliveryState.RUNNING
        test.lose_lock(order)
        again = test.redeliver(order)
        assert (again.delivery_count, again.topic) == (2, "orders.retry.10s")
        test.advance(10)
        assert again.outcome is Outcome.ACCEPTED
        assert again.origin == order.origin
    assert seen[-1] == (2, 2)


def test_topics_are_checked(worker: Worker) -> None:
    worker.handler("orders", retry_topics=TOPICS, dead_letters="dead", name="handle")(print)
    with (
        WorkerTestDriver(worker) as test,
        pytest.raises(
            ConfigurationError, match=r"it is not a retry topic .*: 'orders\.retry\.10s', 'orders\.retry\.1m'"
        ),
    ):
        test.retry_topic("orders.retry.1h")


def test_a_record_that_fills_its_window_leaves_it_and_runs_when_it_is_due(worker: Worker) -> None:
    calls: list[float] = []

    @worker.handler("orders", retry_topics=TOPICS, dead_letters="dead")
    async def handle(value: bytes) -> None:
        if value == b"first":
            calls.append(asyncio.get_running_loop().time())
            if len(calls) == 1:
                raise Retry(after=9)

    with WorkerTestDriver(worker, record_locks=20) as test:
        first = test.deliver("orders", b"first")
        for number in range(19):
            test.deliver("orders", b"%d" % number)
        test.advance(4)
        assert (first.retry_topic, first.next_attempt_in) == (None, 5)
        test.advance(3)
        assert (first.retry_topic, first.next_attempt_in) == ("orders.retry.10s", 2)
        test.advance(2)
        assert (first.outcome, calls[1] - calls[0]) == (Outcome.ACCEPTED, 9)


def test_a_worker_that_stops_leaves_long_waits_in_the_retry_topic(worker: Worker) -> None:
    @worker.handler("orders", retry_topics=TOPICS, dead_letters="dead")
    def handle(value: bytes) -> None:
        raise Retry(after=int(value))

    with WorkerTestDriver(worker) as test:
        long, short = test.deliver("orders", b"60"), test.deliver("orders", b"5")
        test.stop()
        # It is released there, and the next process waits for the rest.
        assert (long.outcome, long.retry_topic) == (Outcome.RELEASED, "orders.retry.1m")
        assert (short.outcome, short.retry_topic) == (Outcome.RELEASED, None)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    waits=st.lists(st.lists(st.floats(0.1, 2_000), min_size=1, max_size=3), min_size=1, max_size=6),
    delays=st.lists(st.integers(20, 600), min_size=1, max_size=4, unique=True).map(sorted),
)
def test_each_attempt_starts_when_it_is_due_whatever_the_waits_and_delays(
    waits: list[list[float]], delays: list[int]
) -> None:
    worker = Worker("shop", bootstrap_servers="localhost:1")
    started: dict[bytes, list[float]] = {}

    @worker.handler(
        "orders", retries=Backoff(times=9), retry_topics=RetryTopics("r", delays=delays), dead_letters="dead"
    )
    async def handle(value: bytes) -> None:
        times = started.setdefault(value, [])
        times.append(asyncio.get_running_loop().time())
        own = waits[int(value)]
        if current_attempt().number <= len(own):
            raise Retry(after=own[current_attempt().number - 1])

    with WorkerTestDriver(worker) as test:
        orders = [test.deliver("orders", b"%d" % number) for number in range(len(waits))]
        test.advance(sum(map(sum, waits)) + 1)
        assert {order.outcome for order in orders} == {Outcome.ACCEPTED}
    for value, times in started.items():
        spent = [after - before for before, after in pairwise(times)]
        assert spent == pytest.approx(waits[int(value)], abs=0.01), (value, spent)
