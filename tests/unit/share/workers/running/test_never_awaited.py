"""Coroutines that a handler drops fail the record of that attempt, and of no other."""

import asyncio
import gc
import re
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups import Attempt, Batch, NeverAwaitedError, ShareRecord, Worker, serdes
from kafka_groups.share.workers.running.handler_calls import CallContext, HandlerCalls
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.testing import WorkerTestDriver
from tests.unit.share.workers.running.test_handler_calls import entered, run_of

pytestmark = pytest.mark.filterwarnings("ignore:coroutine 'send' was never awaited:RuntimeWarning")

GOOD, BAD = b"good", b"bad"


async def send() -> None: ...


async def drops(value: bytes) -> None:
    if value == BAD:
        send()  # type: ignore[unused-coroutine]


async def drops_a_variable(value: bytes) -> None:
    await asyncio.sleep(0)
    if value == BAD:
        sending = send()  # noqa: F841 - it is dropped with the frame


async def drops_in_a_helper(value: bytes) -> None:
    await asyncio.sleep(0)
    await drops(value)


async def drops_beside_a_record(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
    await drops(record.raw_value or value)


def drops_in_a_thread(value: bytes) -> None:
    if value == BAD:
        send()  # type: ignore[unused-coroutine]


def runs_a_loop(value: bytes) -> None:
    asyncio.run(drops(value))


def runs_a_loop_beside_a_record(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
    asyncio.run(drops(record.raw_value or value))


def calls_of(function: Any, *middleware: Any) -> HandlerCalls:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("orders")(function)
    return HandlerCalls(worker.handlers[0], CallContext("g", "client", middleware))


def result_of(function: Any, *values: bytes, middleware: Any = ()) -> RunResult:
    """The result of a run in a thread or a task."""
    calls, run = calls_of(function, *middleware), run_of(*values)
    if asyncio.iscoroutinefunction(function):
        return asyncio.run(calls.in_task(run))
    found: list[RunResult] = []
    thread = threading.Thread(target=lambda: found.append(calls.in_thread(run)))
    thread.start()
    thread.join()
    return found[0]


def failed(result: RunResult) -> list[int]:
    """The positions of the records that failed, all of them by a dropped coroutine."""
    assert {type(each.error) for each in result.failures} <= {NeverAwaitedError}
    return [each.index for each in result.failures]


@pytest.mark.parametrize("middleware", [(), (entered,)], ids=["plain", "middleware"])
@pytest.mark.parametrize(
    "function",
    [drops, drops_a_variable, drops_in_a_helper, drops_beside_a_record, drops_in_a_thread, runs_a_loop,
     runs_a_loop_beside_a_record],
)  # fmt: skip
def test_the_record_of_an_attempt_that_drops_a_coroutine_fails(function: Any, middleware: Any) -> None:
    result = result_of(function, GOOD, BAD, GOOD, BAD, middleware=middleware)
    assert failed(result) == [1, 3]


def test_the_error_names_the_function_and_the_call() -> None:
    (failure,) = result_of(drops, BAD).failures
    place = rf"test_never_awaited\.py:{drops.__code__.co_firstlineno + 2}"
    text = rf"the handler has not awaited send \({place}\): its work is not done\. Write `await` before the call"
    assert re.fullmatch(text, str(failure.error))


def test_many_names_are_cut() -> None:
    assert "not awaited a, b, c and 2 more:" in str(NeverAwaitedError("abcde"))


@pytest.mark.parametrize("is_async", [True, False])
def test_a_whole_batch_fails(*, is_async: bool) -> None:
    def store(batch: Batch[bytes]) -> None:
        for value in batch:
            drops_in_a_thread(value)

    async def store_async(batch: Batch[bytes]) -> None:
        store(batch)

    worker = Worker("g", bootstrap_servers="x:1")
    worker.batch_handler("orders")(store_async if is_async else store)
    calls, run = HandlerCalls(worker.handlers[0], CallContext("g", "client")), run_of(GOOD, BAD, is_batch=True)
    result = asyncio.run(calls.in_task(run)) if is_async else calls.in_thread(run)
    assert isinstance(result.failed, NeverAwaitedError)


def test_attempts_on_the_same_loop_are_told_apart() -> None:
    async def handle(value: bytes) -> None:
        await asyncio.sleep(0)
        await drops(value)
        await asyncio.sleep(0)

    async def all_three() -> list[RunResult]:
        calls = calls_of(handle)
        return await asyncio.gather(*(asyncio.create_task(calls.in_task(run_of(value))) for value in (GOOD, BAD, GOOD)))

    assert [failed(each) for each in asyncio.run(all_three())] == [[], [0], []]


async def drops_in_a_cycle(value: bytes) -> None:
    if value == BAD:
        cycle: list[Any] = [send()]
        cycle.append(cycle)
        del cycle
    else:
        gc.collect()


async def drops_in_a_task(value: bytes) -> None:
    await asyncio.wait([asyncio.create_task(drops(value))])


async def closes(value: bytes) -> None:
    send().close()


def elsewhere() -> types.ModuleType:
    """A module of a library that drops a coroutine."""
    module = types.ModuleType("elsewhere")
    exec("def drop(make): make()", vars(module))
    return module


def drops_in_a_library(value: bytes) -> None:
    elsewhere().drop(send)


@pytest.mark.parametrize("function", [drops_in_a_cycle, drops_in_a_task, closes, drops_in_a_library])
def test_coroutines_that_others_drop_or_that_are_closed_fail_no_record(function: Any) -> None:
    gc.disable()
    try:
        assert not result_of(function, GOOD, BAD, GOOD).failures
    finally:
        gc.enable()


async def raises(value: bytes) -> None:
    if value == BAD:
        send()  # type: ignore[unused-coroutine]
        raise LookupError


def test_the_error_of_an_attempt_is_its_own_and_the_next_one_succeeds() -> None:
    for function in (raises, lambda value: asyncio.run(raises(value))):
        result = result_of(function, BAD, GOOD)
        assert [(each.index, type(each.error)) for each in result.failures] == [(0, LookupError)]


def test_middleware_sees_the_error() -> None:
    seen: list[type[BaseException] | None] = []

    class Noting:
        def __enter__(self) -> None: ...

        def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
            seen.append(kind)

    def noting(attempt: Attempt) -> Noting:
        return Noting()

    for function in (drops, drops_in_a_thread):
        result_of(function, BAD, GOOD, middleware=[noting])
    assert seen == [NeverAwaitedError, None] * 2


@pytest.mark.filterwarnings("always:coroutine 'send' was never awaited:RuntimeWarning")
@pytest.mark.parametrize("depth", [0, 1])
def test_python_warns_as_before(depth: int, recwarn: pytest.WarningsRecorder, track: Callable[[int], None]) -> None:
    calls_of(drops)
    track(depth)
    drops_in_a_thread(BAD)
    (told,) = recwarn
    assert str(told.message).startswith("coroutine 'send' was never awaited")
    assert ("Coroutine created at" in str(told.message)) == bool(depth)
    if not depth:
        assert (told.filename, told.lineno) == (__file__, drops_in_a_thread.__code__.co_firstlineno + 2)


@pytest.fixture
def track() -> Any:
    """Sets how much Python notes about where coroutines are made."""
    import sys  # noqa: PLC0415

    yield sys.set_coroutine_origin_tracking_depth
    sys.set_coroutine_origin_tracking_depth(0)


def test_tests_of_handlers_find_it() -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("orders", value=serdes.bytes_, name="drops")(drops)
    with WorkerTestDriver(worker) as test:
        record = test.deliver("orders", BAD)
    assert [type(error) for error in record.errors] == [NeverAwaitedError]
