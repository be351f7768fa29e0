"""Dependencies are made in order, shared by their scope, and left in reverse, whatever fails."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any

import pytest

from kafka_groups import Attempt, Batch, ShareRecord, Worker, current_attempt, inject
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.failures.signals import AttemptTimeoutError, HandlerResultError
from kafka_groups.share.workers.running.handler_calls import CallContext, HandlerCalls
from kafka_groups.share.workers.running.opened_dependencies import open_dependencies
from kafka_groups.share.workers.running.results import RunResult
from tests.unit.share.workers.running.test_handler_calls import run_of

SERVERS = "localhost:9092"


class Log:
    """Remembers what happens, and makes factories that write into it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.made = 0

    def number(self) -> int:
        self.made += 1
        return self.made

    def manager(self, name: str, needs: Any = None) -> Callable[..., Any]:
        """A factory of a context manager that yields its name with a number."""

        @contextmanager
        def opened(other: Any = needs) -> Iterator[str]:
            value = f"{name}{self.number()}" if needs is None else f"{name}{self.number()}({other})"
            self.lines.append(f"open {value}")
            try:
                yield value
            except BaseException as error:
                self.lines.append(f"{value} saw {type(error).__name__}")
                raise
            finally:
                self.lines.append(f"close {value}")

        return opened

    def async_manager(self, name: str, needs: Any = None) -> Callable[..., Any]:
        manager = self.manager(name, needs)

        @asynccontextmanager
        async def opened(other: Any = needs) -> AsyncIterator[str]:
            await asyncio.sleep(0)
            with manager(other) as value:
                yield value
                await asyncio.sleep(0)

        return opened


def hidden(factory: Callable[[], Any]) -> Callable[[], Any]:
    """A function that does not show what kind of factory it calls, as a lambda does not."""

    def call() -> Any:
        return factory()

    return call


@pytest.fixture
def log() -> Log:
    return Log()


def worker_of(*functions: Callable[..., Any], is_batch: bool = False, **options: Any) -> Worker:
    worker = Worker("g", bootstrap_servers=SERVERS)
    for number, function in enumerate(functions):
        declare = worker.batch_handler if is_batch else worker.handler
        declare(f"orders-{number}", name=f"handler-{number}", **options)(function)
    return worker


async def ran(worker: Worker, *values: bytes, middleware: Any = ()) -> list[RunResult]:
    """Run the values with each handler, with what the process makes for them."""
    async with AsyncExitStack() as stack:
        opened = await open_dependencies(stack, worker.handlers)
        return [await called(spec, opened, *values, middleware=middleware) for spec in worker.handlers]


async def called(spec: HandlerSpec, opened: Any, *values: bytes, middleware: Any = ()) -> RunResult:
    calls = HandlerCalls(spec, CallContext("g", "client", middleware, opened=opened))
    run = run_of(*values, is_batch=spec.batch is not None)
    return await calls.in_task(run) if spec.is_async else calls.in_thread(run)


def errors(result: RunResult) -> list[str]:
    return [repr(failure.error) for failure in result.failures]


# ------------------------------------------------------------------------------------------------ scopes


async def test_a_process_makes_each_factory_once_and_leaves_them_in_reverse(log: Log) -> None:
    database = log.manager("db")
    pool = log.manager("pool", inject(database))

    def one(order: bytes, *, pool: str = inject(pool)) -> None:
        log.lines.append(f"one {pool}")

    async def two(order: bytes, record: Any, *, db: str = inject(database), pool: str = inject(pool)) -> None:
        log.lines.append(f"two {db} {pool}")

    await ran(worker_of(one, two), b"a", b"b")
    assert log.lines == [
        "open db1", "open pool2(db1)",
        "one pool2(db1)", "one pool2(db1)", "two db1 pool2(db1)", "two db1 pool2(db1)",
        "close pool2(db1)", "close db1",
    ]  # fmt: skip


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
async def test_an_attempt_makes_its_own_inside_the_middleware(log: Log, is_batch: bool, is_async: bool) -> None:
    database, make = log.manager("db"), log.async_manager if is_async else log.manager
    session = make("session", inject(database))
    cursor = make("cursor", inject(session, scope="attempt"))

    @contextmanager
    def around(attempt: Attempt) -> Iterator[None]:
        log.lines.append(f"begin {attempt.record.offset}")
        yield
        log.lines.append("end")

    def handle(
        order: Any,
        cursor: str = inject(cursor, scope="attempt"),
        session: str = inject(session, scope="attempt"),
        db: str = inject(database),
    ) -> None:
        log.lines.append(f"{cursor} {session} {db}")

    async def async_handle(
        order: Any,
        *,
        cursor: str = inject(cursor, scope="attempt"),
        session: str = inject(session, scope="attempt"),
        db: str = inject(database),
    ) -> None:
        handle(order, cursor, session, db)

    (result,) = await ran(worker_of(async_handle if is_async else handle, is_batch=is_batch), b"a", middleware=[around])
    assert errors(result) == []
    cursor_text = "cursor3(session2(db1))"
    assert log.lines == [
        "open db1", "begin 0", "open session2(db1)", f"open {cursor_text}",
        f"{cursor_text} session2(db1) db1",
        f"close {cursor_text}", "close session2(db1)", "end", "close db1",
    ]  # fmt: skip


async def test_plain_factories_are_injected_as_they_are(log: Log) -> None:
    class Lock:
        """A context manager that a worker must not enter."""

        def __enter__(self) -> None:
            raise AssertionError("it was entered")

        def __exit__(self, *_: object) -> None: ...

    async def limit() -> int:
        return 5

    async def handle(
        order: bytes,
        record: ShareRecord[bytes, bytes],
        *,
        lock: Lock = inject(Lock),
        one: Lock = inject(Lock, scope="attempt"),
        limit: int = inject(limit),
        now: int = inject(limit, scope="attempt"),
        number: int = inject(log.number, scope="attempt"),
        offset: int = inject(lambda: current_attempt().record.offset, scope="attempt"),
    ) -> None:
        assert isinstance(lock, Lock)
        assert one is not lock
        log.lines.append(f"{limit} {now} {number} {offset}")

    (result,) = await ran(worker_of(handle), b"a", b"b")
    assert (errors(result), log.lines) == ([], ["5 5 1 0", "5 5 2 1"])


async def test_lambdas_may_return_context_managers(log: Log) -> None:
    database, other = log.manager("db"), log.async_manager("other")

    async def handle(
        order: bytes,
        *,
        db: str = inject(hidden(database)),
        other: str = inject(hidden(other), scope="attempt"),
    ) -> None:
        log.lines.append(f"{db} {other}")

    await ran(worker_of(handle), b"a")
    assert log.lines == ["open db1", "open other2", "db1 other2", "close other2", "close db1"]


async def test_handlers_without_dependencies_of_an_attempt_keep_their_short_way(log: Log) -> None:
    """What the process has made is bound when the handler begins, so that a record costs no look-up."""

    def handle(order: bytes, *, number: int = inject(log.number)) -> None:
        # The frame below is that of the loop for functions of the value alone.
        frame = inspect.currentframe()
        assert frame is not None
        assert frame.f_back is not None
        log.lines.append(f"{number} {frame.f_back.f_code.co_name}")

    await ran(worker_of(handle), b"a", b"b")
    assert log.lines == ["1 _plain", "1 _plain"]
    spec = worker_of(lambda order: None).handlers[0]
    assert HandlerCalls(spec, CallContext("g", "client"))._function is spec.function


# ------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
async def test_dependencies_of_an_attempt_see_the_errors_of_the_handler(
    log: Log, is_batch: bool, is_async: bool
) -> None:
    session = log.async_manager("s") if is_async else log.manager("s")

    def handle(order: Any, *, session: str = inject(session, scope="attempt")) -> None:
        raise ValueError("no")

    async def async_handle(order: Any, *, session: str = inject(session, scope="attempt")) -> None:
        raise ValueError("no")

    (result,) = await ran(worker_of(async_handle if is_async else handle, is_batch=is_batch), b"a")
    assert errors(result) == ([] if is_batch else ["ValueError('no')"])
    assert repr(result.failed) == ("ValueError('no')" if is_batch else "None")
    assert log.lines == ["open s1", "s1 saw ValueError", "close s1"]


async def test_a_dependency_may_swallow_an_error_or_replace_it() -> None:
    @contextmanager
    def quiet() -> Iterator[None]:
        with suppress(ValueError):
            yield

    @contextmanager
    def loud() -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise LookupError("replaced") from error

    def one(order: bytes, *, it: None = inject(quiet, scope="attempt")) -> None:
        raise ValueError

    def two(order: bytes, *, it: None = inject(loud, scope="attempt")) -> None:
        raise ValueError

    first, second = await ran(worker_of(one, two), b"a")
    assert (errors(first), errors(second)) == ([], ["LookupError('replaced')"])


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_dependency_that_fails_in_an_attempt_fails_that_attempt_alone(log: Log, is_async: bool) -> None:
    session = log.manager("session")

    def cursor(session: str = inject(session, scope="attempt")) -> str:
        if log.made == 1:
            raise ConnectionError("no cursor")
        return session

    def handle(order: bytes, *, cursor: str = inject(cursor, scope="attempt")) -> None:
        log.lines.append(f"{order.decode()} {cursor}")

    async def async_handle(order: bytes, *, cursor: str = inject(cursor, scope="attempt")) -> None:
        handle(order, cursor=cursor)

    (result,) = await ran(worker_of(async_handle if is_async else handle), b"a", b"b")
    assert [failure.index for failure in result.failures] == [0]
    assert errors(result) == ["ConnectionError('no cursor')"]
    assert log.lines == [
        "open session1", "session1 saw ConnectionError", "close session1",
        "open session2", "b session2", "close session2",
    ]  # fmt: skip


async def test_a_dependency_that_fails_at_the_start_ends_it_and_names_itself(log: Log) -> None:
    database = log.manager("db")

    def pool(db: str = inject(database)) -> str:
        raise ConnectionError("no pool")

    def handle(order: bytes, *, pool: str = inject(pool)) -> None: ...

    with pytest.raises(ConnectionError, match="no pool") as caught:
        await ran(worker_of(handle), b"a")
    (note,) = caught.value.__notes__
    assert note.startswith("while the worker made the dependency test_a_dependency_that_fails_at_the_start")
    assert note.endswith(".pool, before it handled records")
    assert log.lines == ["open db1", "db1 saw ConnectionError", "close db1"]


async def test_an_attempt_that_is_cancelled_leaves_its_dependencies(log: Log) -> None:
    begun = asyncio.Event()

    async def handle(order: bytes, *, session: str = inject(log.async_manager("s"), scope="attempt")) -> None:
        begun.set()
        await asyncio.Event().wait()

    (spec,) = worker_of(handle).handlers
    calls, run = HandlerCalls(spec, CallContext("g", "client")), run_of(b"a")
    task = asyncio.create_task(calls.in_task(run))
    await begun.wait()
    calls.cancellations.note(run, AttemptTimeoutError(1))
    task.cancel()
    result = await task
    assert [type(failure.error) for failure in result.failures] == [AttemptTimeoutError]
    assert log.lines == ["open s1", "s1 saw CancelledError", "close s1"]


async def test_a_manager_that_serves_once_must_be_made_each_time(log: Log) -> None:
    once = log.manager("db")()
    again = log.manager("db")()

    def handle(order: bytes, *, it: str = inject(lambda: once, scope="attempt")) -> None: ...
    def other(order: bytes, *, it: str = inject(lambda: again)) -> None: ...

    (result,) = await ran(worker_of(handle), b"a", b"b")
    assert [type(failure.error) for failure in result.failures] == [HandlerResultError]
    assert "returned the same context manager again" in errors(result)[0]
    worker = worker_of(other)
    await ran(worker, b"a")
    with pytest.raises(ConfigurationError, match=r"returned the same context manager again.* for each run"):
        await ran(worker, b"a")


@pytest.mark.parametrize("scope", ["process", "attempt"])
async def test_what_hides_that_it_is_asynchronous_is_refused_for_threads(log: Log, scope: Any) -> None:
    async def limit() -> int:
        return 5

    manager = log.async_manager("db")

    for factory in (hidden(limit), hidden(manager)):

        def handle(order: bytes, *, it: Any = inject(factory, scope=scope)) -> None:
            raise AssertionError("it was called")

        async def fine(order: bytes, *, it: Any = inject(factory, scope=scope)) -> None: ...

        message = r"which is asynchronous, and a handler that injects it runs in a thread"
        if scope == "process":
            with pytest.raises(ConfigurationError, match=message):
                await ran(worker_of(fine, handle), b"a")
        else:
            fine_result, result = await ran(worker_of(fine, handle), b"a")
            assert (errors(fine_result), len(result.failures)) == ([], 1)
            with pytest.raises(TypeError, match=message):
                raise result.failures[0].error


async def test_a_generator_without_its_decorator_is_refused_however_it_is_hidden() -> None:
    def rows() -> Iterator[int]:
        yield 5

    made = hidden(rows)

    def handle(order: bytes, *, it: Any = inject(made, scope="attempt")) -> None: ...
    def other(order: bytes, *, it: Any = inject(made)) -> None: ...

    (result,) = await ran(worker_of(handle), b"a")
    assert "decorate the function with yield as contextmanager" in errors(result)[0]
    with pytest.raises(ConfigurationError, match="decorate the function with yield"):
        await ran(worker_of(other), b"a")


async def test_batches_get_dependencies_of_the_process(log: Log) -> None:
    def handle(orders: Batch[bytes], *, number: int = inject(log.number)) -> None:
        log.lines.append(f"{list(orders)} {number}")

    await ran(worker_of(handle, is_batch=True), b"a", b"b")
    assert log.lines == ["[b'a', b'b'] 1"]
