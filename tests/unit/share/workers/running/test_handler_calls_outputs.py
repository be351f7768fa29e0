"""Handlers with outputs: what the result of a run has to write, and what is dropped."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.share import (
    Attempt,
    AttemptTimeoutError,
    Batch,
    HandlerResultError,
    Output,
    OutputError,
    ProducerRecord,
    Worker,
    current_attempt,
)
from kafka_groups.share.workers.rules.failures.signals import ParseError, Reject, Retry
from kafka_groups.share.workers.rules.steps import InvokeHandler
from kafka_groups.share.workers.running.results import RunResult
from tests.unit.share.workers.running.test_handler_calls import AnyRecord, calls, run_of

TEXTS = Output("invoices", value=serdes.string)


@pytest.fixture
def worker() -> Worker:
    return Worker("g", bootstrap_servers="localhost:9092")


def ran(worker: Worker, run: InvokeHandler[AnyRecord], *middleware: Any) -> RunResult:
    """The result of a run of the only handler, in a thread or in a task."""
    made = calls(worker, *middleware)
    return asyncio.run(made.in_task(run)) if worker.handlers[0].is_async else made.in_thread(run)


def values(result: RunResult) -> Mapping[int, Sequence[bytes | None]]:
    return {index: [record.value for record in records] for index, records in result.outputs.items()}


def failures(result: RunResult) -> list[tuple[int, type[Exception]]]:
    return [(failure.index, type(failure.error)) for failure in result.failures]


def doubled(value: str) -> list[str] | None:
    if value == "bad":
        raise ValueError(value)
    return None if value == "none" else [value, value]


async def doubled_async(value: str) -> list[str] | None:
    return doubled(value)


def each(value: str) -> Iterator[str]:
    yield value
    if value == "bad":
        raise ValueError(value)
    yield value


async def each_async(value: str) -> AsyncIterator[str]:
    yield value
    await asyncio.sleep(0)
    if value == "bad":
        raise ValueError(value)
    yield value


@contextmanager
def plain(attempt: Attempt) -> Iterator[None]:
    yield


@pytest.mark.parametrize("middleware", [(), (plain,)], ids=["without middleware", "with middleware"])
@pytest.mark.parametrize("function", [doubled, doubled_async, each, each_async])
def test_each_record_that_succeeds_has_its_results(worker: Worker, function: Any, middleware: Any) -> None:
    worker.handler("orders", value=serdes.string, output=TEXTS)(function)
    result = ran(worker, run_of(b"a", b"bad", b"b", b"\xff"), *middleware)
    assert values(result) == {0: [b"a", b"a"], 2: [b"b", b"b"]}
    assert failures(result) == [(1, ValueError), (3, ParseError)]


def test_none_writes_nothing(worker: Worker) -> None:
    worker.handler("orders", value=serdes.string, output=TEXTS)(doubled)
    assert values(ran(worker, run_of(b"none", b"a"))) == {1: [b"a", b"a"]}


def test_without_an_output_results_are_ignored(worker: Worker) -> None:
    worker.handler("orders", value=serdes.string)(doubled)
    result = ran(worker, run_of(b"a"))
    assert (result.outputs, result.failures) == ({}, [])


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
def test_a_result_that_cannot_be_written_fails_its_record(worker: Worker, *, is_async: bool) -> None:
    def number(value: str) -> Any:
        return int(value) if value.isdigit() else value

    async def number_async(value: str) -> Any:
        return number(value)

    worker.handler("orders", value=serdes.string, output=TEXTS)(number_async if is_async else number)
    result = ran(worker, run_of(b"a", b"5", b"b"))
    assert (values(result), failures(result)) == ({0: [b"a"], 2: [b"b"]}, [(1, OutputError)])


def test_middleware_sees_the_error_of_a_result_and_may_fail_after_it(worker: Worker) -> None:
    seen: list[str] = []

    @contextmanager
    def commit(attempt: Attempt) -> Iterator[None]:
        try:
            yield
        except OutputError as error:
            seen.append(str(error))
            raise
        if attempt.record.value == b"late":
            raise ConnectionError("the commit failed")

    @worker.handler("orders", output="invoices")
    def handle(value: bytes) -> Any:
        return value if value != b"bad" else 5

    result = ran(worker, run_of(b"a", b"bad", b"late"), commit)
    assert values(result) == {0: [b"a"]}
    assert failures(result) == [(1, OutputError), (2, ConnectionError)]
    assert len(seen) == 1


def test_a_coroutine_that_a_generator_forgets_fails_its_attempt(worker: Worker) -> None:
    async def work() -> None: ...

    @worker.handler("orders", output="invoices")
    def handle(value: bytes) -> Iterator[bytes]:
        work()  # type: ignore[unused-coroutine]
        yield value

    with pytest.warns(RuntimeWarning, match="never awaited"):
        result = ran(worker, run_of(b"a"))
    assert (result.outputs, [type(failure.error).__name__ for failure in result.failures]) == (
        {},
        ["NeverAwaitedError"],
    )


def test_an_asynchronous_generator_that_a_decorator_has_made_a_function(worker: Worker) -> None:
    import functools  # noqa: PLC0415 - of this test alone

    @functools.wraps(each_async)
    async def collected(value: str) -> list[str]:
        return [each async for each in each_async(value)]

    worker.handler("orders", value=serdes.string, output=TEXTS)(collected)
    assert values(ran(worker, run_of(b"a"))) == {0: [b"a", b"a"]}


# ---------------------------------------------------------------------------------------------- batches


def store(batch: Batch[str]) -> None:
    for index, value in enumerate(batch):
        batch.output(index, value, None, ProducerRecord(value, key=None))
        if value == "reject":
            batch.reject(index)
        if value == "retry":
            batch.retry(index)
        if value == "wrong":
            batch.output(index, 5)
        if value == "all":
            raise ValueError(value)


async def store_async(batch: Batch[str]) -> None:
    store(batch)


@pytest.mark.parametrize("function", [store, store_async])
def test_a_batch_writes_for_the_records_that_it_accepts(worker: Worker, function: Any) -> None:
    worker.batch_handler("orders", value=serdes.string, output=TEXTS)(function)
    result = ran(worker, run_of(b"\xff", b"reject", b"a", b"retry", b"wrong", is_batch=True))
    assert values(result) == {2: [b"a", b"a"]}
    assert [record.key for record in result.outputs[2]] == [b"k", None]
    assert failures(result) == [(0, ParseError), (1, Reject), (3, Retry), (4, OutputError)]
    assert result.failed is None


@pytest.mark.parametrize("function", [store, store_async])
def test_a_batch_that_raises_writes_nothing(worker: Worker, function: Any) -> None:
    worker.batch_handler("orders", value=serdes.string, output=TEXTS)(function)
    result = ran(worker, run_of(b"a", b"all", is_batch=True))
    assert (result.outputs, type(result.failed)) == ({}, ValueError)


def test_results_of_a_batch_handler_are_refused_if_it_has_an_output(worker: Worker) -> None:
    @worker.batch_handler("orders", value=serdes.string, output=TEXTS)  # type: ignore[arg-type]
    def handle(batch: Batch[str]) -> list[str]:
        return list(batch)

    result = ran(worker, run_of(b"a", is_batch=True))
    assert isinstance(result.failed, HandlerResultError)
    assert str(result.failed).endswith("write its outputs with batch.output(index, ...)")


def test_a_batch_handler_without_an_output_cannot_write(worker: Worker) -> None:
    worker.batch_handler("orders", value=serdes.string)(store)
    result = ran(worker, run_of(b"a", is_batch=True))
    assert isinstance(result.failed, ConfigurationError)
    assert "the handler has no output" in str(result.failed)


# ---------------------------------------------------------------------------------------------- cancellations


@pytest.mark.parametrize("middleware", [(), (plain,)], ids=["without middleware", "with middleware"])
async def test_an_asynchronous_generator_is_cancelled_where_it_waits(worker: Worker, middleware: Any) -> None:
    waiting, ended = asyncio.Event(), []

    @worker.handler("orders", output="invoices")
    async def handle(value: bytes) -> AsyncIterator[bytes]:
        yield value
        if value == b"slow":
            try:
                waiting.set()
                await asyncio.Event().wait()
            finally:
                ended.append(current_attempt().record.offset)
        yield value

    made, run = calls(worker, *middleware), run_of(b"a", b"slow", b"b")
    task = asyncio.create_task(made.in_task(run))
    await waiting.wait()
    made.cancellations.note(run, AttemptTimeoutError(2))
    task.cancel()
    result = await task
    assert ended == [1]
    assert values(result) == {0: [b"a", b"a"], 2: [b"b", b"b"]}
    assert failures(result) == [(1, AttemptTimeoutError)]
