"""Calling handlers for the records of a run: middleware, attempts, and handlers that raise what ends programs."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.client.events import Events
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.serdes import int64, nullable, string
from kafka_groups.serdes.serde import Serde
from kafka_groups.share import Attempt, Batch, RecordOrigin, RetryTopics, ShareRecord, Worker, current_attempt
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.records import copied_record, delivery_of
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.failures.signals import (
    AttemptCancelledError,
    AttemptTimeoutError,
    HandlerResultError,
    ParseError,
)
from kafka_groups.share.workers.rules.retry_topics.retried_records import RetriedRecord
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.share.workers.rules.steps import InvokeHandler, OpenRecord
from kafka_groups.share.workers.running.handler_calls import CallContext, HandlerCalls
from kafka_groups.share.workers.running.slots import Mailbox, TaskSlots, ThreadSlots
from tests.unit.share.deliveries import acquired, decoded

AnyRecord = ShareRecord[Any, Any]


def records(*values: bytes | None) -> list[AnyRecord]:
    """Records of one delivery."""
    made = [NewRecord(key=b"k", value=value, offset_delta=number) for number, value in enumerate(values)]
    blob = build_batch(made, 0, BatchOptions(last_offset_delta=len(values) - 1))
    decoder = Decoder(
        check_crcs=True, key_deserializer=None, value_deserializer=None, raise_errors=False, events=Events()
    )
    (delivery,) = decoded(decoder, acquired((0, len(values) - 1)), blob)
    assert not isinstance(delivery, Exception)
    return list(delivery)


def run_of(*values: bytes | None, is_batch: bool = False) -> InvokeHandler[AnyRecord]:
    return InvokeHandler(records(*values), is_batch=is_batch)


def calls(worker: Worker, *middleware: Any) -> HandlerCalls:
    """The calls of the worker's only handler."""
    return HandlerCalls(worker.handlers[0], CallContext("g", "client", middleware))


@pytest.fixture
def worker() -> Worker:
    return Worker("g", bootstrap_servers="localhost:9092")


@contextmanager
def entered(attempt: Attempt) -> Iterator[None]:
    """Middleware that changes nothing."""
    yield


def test_failures_have_the_positions_of_their_records(worker: Worker) -> None:
    @worker.handler("orders", value=string)
    def handle(value: str) -> None:
        if value == "bad":
            raise ValueError(value)

    result = calls(worker).in_thread(run_of(b"good", b"bad", b"\xff", None, b"good"))
    assert [(failure.index, type(failure.error)) for failure in result.failures] == [
        (1, ValueError),
        (2, ParseError),
        (3, ParseError),
    ]


def test_null_values_are_for_handlers_that_expect_them(worker: Worker) -> None:
    seen: list[str | None] = []
    worker.handler("orders", value=nullable(string))(seen.append)
    assert not calls(worker).in_thread(run_of(None, b"a")).failures
    assert seen == [None, "a"]


def test_the_record_has_the_parsed_value(worker: Worker) -> None:
    seen: list[tuple[int, int | None, bytes | None, bytes | None]] = []

    @worker.handler("orders", value=int64)
    def handle(value: int, record: ShareRecord[bytes, int]) -> None:
        seen.append((value, record.value, record.key, record.raw_value))

    assert not calls(worker).in_thread(run_of((5).to_bytes(8, "big"))).failures
    assert seen == [(5, 5, b"k", (5).to_bytes(8, "big"))]


def test_an_attempt_names_the_origins_of_its_records(worker: Worker) -> None:
    seen: list[Attempt] = []
    worker.handler("orders")(lambda value: seen.append(current_attempt()))
    run = run_of(b"a", b"b")
    assert not calls(worker).in_thread(run).failures
    first, second = run.records
    assert [attempt.origin for attempt in seen] == [RecordOrigin.of(first), RecordOrigin.of(second)]
    assert seen[1].origin == RecordOrigin(second.topic, second.partition, 1, second.timestamp)


class TopicSerde(Serde[str]):
    """Values that say for which topic they were parsed."""

    def deserializer(self, topic: str, *, is_key: bool) -> Any:
        return lambda data, headers: f"{topic}: {data.decode()} {headers}"

    def serializer(self, topic: str, *, is_key: bool) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_retried_record_has_the_value_number_and_origin_of_the_first_one(worker: Worker, is_batch: bool) -> None:
    seen: list[tuple[object, Attempt]] = []
    topics = RetryTopics("orders.retry")
    if is_batch:
        declare: Any = worker.batch_handler(
            "orders", value=TopicSerde("of-topics", True), retry_topics=topics, dead_letters="dead"
        )
        declare(lambda batch: seen.append((batch[0], current_attempt())))
    else:
        declare = worker.handler(
            "orders", value=TopicSerde("of-topics", True), retry_topics=topics, dead_letters="dead", name="handle"
        )
        declare(lambda value: seen.append((value, current_attempt())))
    state = RetryState(
        group="g",
        handler="handle",
        origin=RecordOrigin("orders", 3, 1234, 17),
        attempts=2,
        retries=1,
        first_failure_ms=18,
        due_ms=19,
    )
    [plain] = records(b"a")
    raw = copied_record(plain).raw
    record: AnyRecord = RetriedRecord(evolve(raw, headers=[("own", b"1")]), delivery_of(plain), state)
    run = InvokeHandler([record], [OpenRecord(record, record_id(record), 1, attempts=2)], is_batch=is_batch)
    assert not calls(worker).in_thread(run).failures
    [(value, attempt)] = seen
    assert value == "orders: a [('own', b'1')]"
    assert (attempt.number, attempt.origin, attempt.origins) == (3, state.origin, (state.origin,))


def test_middleware_is_entered_around_each_attempt_the_first_outermost(worker: Worker) -> None:
    log: list[str] = []

    def named(name: str) -> Callable[[Attempt], Any]:
        @contextmanager
        def enter(attempt: Attempt) -> Iterator[None]:
            log.append(f"{name} {attempt.handler} {attempt.record.offset} {attempt.number}")
            try:
                yield
            except ValueError as error:
                log.append(f"{name} saw {error}")
                raise
            finally:
                log.append(f"{name} left")

        return enter

    @worker.handler("orders")
    def handle(value: bytes) -> None:
        log.append(f"handled {current_attempt().record.offset}")
        raise ValueError("no")

    result = calls(worker, named("a"), named("b")).in_thread(run_of(b"x"))
    assert [failure.index for failure in result.failures] == [0]
    assert log == ["a handle 0 1", "b handle 0 1", "handled 0", "b saw no", "b left", "a saw no", "a left"]


def test_the_attempt_counts_earlier_attempts_and_knows_lost_locks(worker: Worker) -> None:
    seen: list[tuple[int, bool, str]] = []

    @worker.handler("orders", name="named")
    def handle(value: bytes) -> None:
        attempt = current_attempt()
        seen.append((attempt.number, attempt.lock_lost, attempt.handler))

    (record,) = records(b"x")
    place = (record._delivery.topic_partition, 0)
    run = InvokeHandler([record], [OpenRecord(record, place, 1, attempts=2)])
    run.lost.add(place)
    calls(worker).in_thread(run)
    assert seen == [(3, True, "named")]


def test_a_handler_that_exits_stops_its_run_and_the_rest_is_not_started(worker: Worker) -> None:
    @worker.handler("orders")
    def handle(value: bytes) -> None:
        if value == b"exit":
            raise SystemExit(3)

    run = run_of(b"a", b"exit", b"b")
    result = calls(worker).in_thread(run)
    ((failure),) = result.failures
    assert (failure.index, run.unstarted) == (1, 1)
    assert isinstance(failure.error, HandlerResultError)
    assert "SystemExit" in str(failure.error)


async def test_asynchronous_handlers_too(worker: Worker) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def session(attempt: Attempt) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        log.append("entered")
        yield
        log.append("left")

    @worker.handler("orders")
    async def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        await asyncio.sleep(0)
        log.append(f"{value.decode()} {current_attempt().record.offset}")
        if value == b"exit":
            raise SystemExit(3)

    run = run_of(b"a", b"exit", b"b")
    result = await calls(worker, session).in_task(run)
    assert log == ["entered", "a 0", "left", "entered", "exit 1"]
    assert [failure.index for failure in result.failures] == [1]
    assert run.unstarted == 1


WORK = {
    "coroutine": lambda: asyncio.sleep(0),
    "task": lambda: asyncio.ensure_future(asyncio.sleep(0)),
    "future of a thread": Future,
    "generator": lambda: (each for each in [1]),
}


@pytest.mark.parametrize("middleware", [(), (entered,)], ids=["plain", "middleware"])
@pytest.mark.parametrize("made", WORK.values(), ids=WORK)
async def test_undone_work_of_asynchronous_handlers_is_refused(
    worker: Worker, made: Callable[[], object], middleware: tuple[Any, ...]
) -> None:
    work = made()

    @worker.handler("orders")
    async def handle(value: bytes) -> object:
        return work if value == b"undone" else True

    result = await calls(worker, *middleware).in_task(run_of(b"done", b"undone"))
    assert [(failure.index, type(failure.error)) for failure in result.failures] == [(1, HandlerResultError)]
    assert "its record would be accepted" in str(result.failures[0].error)
    if isinstance(work, asyncio.Task):
        await work


@pytest.mark.parametrize("made", WORK.values(), ids=WORK)
async def test_undone_work_of_asynchronous_batch_handlers_is_refused(
    worker: Worker, made: Callable[[], object]
) -> None:
    work = made()

    async def handle(batch: Batch[bytes]) -> object:
        return work

    any_function: Any = handle
    worker.batch_handler("orders")(any_function)
    result = await calls(worker).in_task(run_of(b"a", b"b", is_batch=True))
    assert isinstance(result.failed, HandlerResultError)
    if isinstance(work, asyncio.Task):
        await work


# ---------------------------------------------------------------------------------------------- cancellations


async def cancelled_elsewhere() -> None:
    """Wait for a task that somebody has cancelled, as handlers do that share one."""
    shared = asyncio.ensure_future(asyncio.sleep(60))
    shared.cancel()
    await shared


@pytest.mark.parametrize("middleware", [(), (entered,)], ids=["plain", "middleware"])
async def test_what_a_handler_awaits_may_be_cancelled(worker: Worker, middleware: tuple[Any, ...]) -> None:
    @worker.handler("orders")
    async def handle(value: bytes) -> None:
        if value == b"bad":
            await cancelled_elsewhere()

    run = run_of(b"a", b"bad", b"b")
    result = await calls(worker, *middleware).in_task(run)
    assert [(failure.index, type(failure.error)) for failure in result.failures] == [(1, AttemptCancelledError)]
    assert isinstance(result.failures[0].error.__cause__, asyncio.CancelledError)
    assert run.unstarted == 0


async def test_what_a_batch_handler_awaits_may_be_cancelled(worker: Worker) -> None:
    @worker.batch_handler("orders")
    async def handle(batch: Batch[bytes]) -> None:
        batch.reject(0)
        await cancelled_elsewhere()

    result = await calls(worker).in_task(run_of(b"a", b"b", is_batch=True))
    assert (type(result.failed), list(result.failures)) == (AttemptCancelledError, [])


@pytest.mark.parametrize("middleware", [(), (entered,)], ids=["plain", "middleware"])
def test_what_a_handler_in_a_thread_waits_for_may_be_cancelled(worker: Worker, middleware: tuple[Any, ...]) -> None:
    @worker.handler("orders")
    def handle(value: bytes) -> None:
        if value == b"bad":
            raise asyncio.CancelledError

    run = run_of(b"a", b"bad", b"b")
    result = calls(worker, *middleware).in_thread(run)
    assert [(failure.index, type(failure.error)) for failure in result.failures] == [(1, AttemptCancelledError)]
    assert run.unstarted == 0


def test_what_a_batch_handler_in_a_thread_waits_for_may_be_cancelled(worker: Worker) -> None:
    @worker.batch_handler("orders")
    def handle(batch: Batch[bytes]) -> None:
        raise asyncio.CancelledError

    result = calls(worker).in_thread(run_of(b"a", b"b", is_batch=True))
    assert isinstance(result.failed, AttemptCancelledError)


async def test_a_task_that_the_program_cancels_ends_its_run(worker: Worker) -> None:
    begun = asyncio.Event()

    @worker.handler("orders")
    async def handle(value: bytes) -> None:
        begun.set()
        await asyncio.Event().wait()

    run = run_of(b"a", b"b")
    task = asyncio.ensure_future(calls(worker).in_task(run))
    await begun.wait()
    task.cancel()
    result = await task
    assert [(failure.index, type(failure.error)) for failure in result.failures] == [(0, HandlerResultError)]
    assert run.unstarted == 1


async def test_a_cancellation_that_a_handler_ignores_is_not_that_of_the_next_record(worker: Worker) -> None:
    begun = asyncio.Event()

    @worker.handler("orders")
    async def handle(value: bytes) -> None:
        if value == b"slow":
            begun.set()
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        else:
            await cancelled_elsewhere()

    made = calls(worker)
    run = run_of(b"slow", b"next")
    task = asyncio.ensure_future(made.in_task(run))
    await begun.wait()
    made.cancellations.note(run, AttemptTimeoutError(2))
    task.cancel()
    result = await task
    assert [(failure.index, type(failure.error)) for failure in result.failures] == [(1, AttemptCancelledError)]
    assert task.cancelling() == 0


# --------------------------------------------------------------------------------------------------- batches


def test_batches_leave_out_what_cannot_be_parsed(worker: Worker) -> None:
    @worker.batch_handler("orders", value=string)
    def handle(batch: Batch[str]) -> None:
        assert list(batch) == ["a", "b", "c"]
        assert [record.offset for record in batch.records] == [0, 2, 3]
        batch.reject(1, "b is bad")
        batch.retry(2, KeyError("later"))

    result = calls(worker).in_thread(run_of(b"a", b"\xff", b"b", b"c", is_batch=True))
    assert result.failed is None
    assert [(failure.index, str(failure.error)) for failure in result.failures][1:] == [(2, "b is bad"), (3, "'later'")]
    assert isinstance(result.failures[0].error, ParseError)


def test_decisions_of_a_batch_that_raises_are_undone(worker: Worker) -> None:
    @worker.batch_handler("orders")
    def handle(batch: Batch[bytes]) -> None:
        batch.reject(0)
        raise OSError("disk full")

    result = calls(worker).in_thread(run_of(b"a", b"b", is_batch=True))
    assert (str(result.failed), list(result.failures)) == ("disk full", [])


# --------------------------------------------------------------------------------------------------- slots


async def test_threads_take_runs_and_put_results_into_the_mailbox(worker: Worker) -> None:
    woken = asyncio.Event()
    names: set[str] = set()

    @worker.handler("orders")
    def handle(value: bytes) -> None:
        names.add(threading.current_thread().name)

    mailbox = Mailbox(asyncio.get_running_loop(), woken.set)
    slots = ThreadSlots("w", 2, calls(worker))
    runs = [run_of(b"a"), run_of(b"b"), run_of(b"c")]
    for run in runs:
        slots.submit(run, mailbox)
    found: set[int] = set()
    while len(found) < 3:
        await asyncio.wait_for(woken.wait(), 10)
        woken.clear()
        while (result := mailbox.take()) is not None:
            found.add(runs.index(result.run))
    assert found == {0, 1, 2}
    assert names <= {"w-0", "w-1"}
    assert not slots.cancel(runs[0], ValueError())
    slots.close()


async def test_a_cancelled_attempt_fails_with_the_reason_and_its_run_goes_on(worker: Worker) -> None:
    woken = asyncio.Event()
    begun = asyncio.Event()

    @worker.handler("orders")
    async def handle(value: bytes) -> None:
        if value == b"slow":
            begun.set()
            await asyncio.Event().wait()

    mailbox = Mailbox(asyncio.get_running_loop(), woken.set)
    slots = TaskSlots(asyncio.get_running_loop(), calls(worker))
    run = run_of(b"slow", b"next")
    slots.submit(run, mailbox)
    await asyncio.wait_for(begun.wait(), 10)
    assert Path(__file__).name in slots.stack_of(run)
    assert slots.cancel(run, AttemptTimeoutError(2))
    await asyncio.wait_for(woken.wait(), 10)
    result = mailbox.take()
    assert result is not None
    assert [(failure.index, str(failure.error)) for failure in result.failures] == [
        (0, "the attempt took longer than timeout=2 s and was cancelled")
    ]
    assert run.unstarted == 0
