"""Middleware, lifespans and methods are checked when they are given, and what middleware returns when it is called."""

import functools
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from kafka_groups import Attempt, Batch, HandlerResultError, Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.testing import Outcome, WorkerTestDriver

SERVERS = "localhost:9092"


@contextmanager
def session(attempt: Attempt) -> Iterator[None]:
    yield


@asynccontextmanager
async def async_session(attempt: Attempt) -> AsyncIterator[None]:
    yield


@contextmanager
def connected() -> Iterator[None]:
    yield


def plain(attempt: Attempt | None = None) -> Iterator[None]:
    yield


async def plain_async(attempt: Attempt | None = None) -> AsyncIterator[None]:
    yield


async def coroutine(attempt: Attempt | None = None) -> None: ...


class Transaction:
    """Middleware: an object for each attempt."""

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class AsyncTransaction:
    def __init__(self, *_: object) -> None: ...

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


class Maker:
    """Makes context managers."""

    def __call__(self, *_: object) -> Transaction:
        return Transaction()

    def method(self, attempt: Attempt) -> Transaction:
        return Transaction()

    @contextmanager
    def of_a_class(self) -> Iterator[None]:
        yield

    def handle(self, value: bytes) -> None: ...


class Idle:
    def __call__(self, *_: object) -> Iterator[None]:
        yield


def handle(value: bytes) -> None: ...


@pytest.mark.parametrize(
    "middleware",
    [session, async_session, Transaction, AsyncTransaction, Maker(), Maker().method, functools.partial(session),
     lambda _: Transaction(), nullcontext],
)  # fmt: skip
def test_functions_of_an_attempt_are_middleware(middleware: Any) -> None:
    Worker("g", bootstrap_servers=SERVERS, middleware=[middleware])


@pytest.mark.parametrize("lifespan", [None, connected, Transaction, Maker(), Maker().of_a_class, nullcontext])
def test_functions_without_arguments_are_lifespans(lifespan: Any) -> None:
    Worker("g", bootstrap_servers=SERVERS, lifespan=lifespan)


WRONG: list[tuple[Any, str]] = [
    (5, r"=5: give a function"),
    (connected(), r"is a context manager already: give a function .*, without calling it"),
    (plain, r"=plain contains yield, but is not a context manager: decorate it with contextlib\.contextmanager"),
    (functools.partial(plain), r"contains yield"),
    (plain_async, r"=plain_async contains yield.*contextlib\.asynccontextmanager"),
    (coroutine, r"=coroutine is declared with async def, and calling it returns a coroutine"),
    (Idle(), r"contains yield"),
    (Maker, r"=Maker is a class without __enter__"),
    (lambda one, two: Transaction(), r"\(one, two\): give a function"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_what_makes_no_context_managers_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"middleware\[1\].*{message}"):
        Worker("g", bootstrap_servers=SERVERS, middleware=[session, wrong])
    with pytest.raises(ConfigurationError, match=f"lifespan.*{message}"):
        Worker("g", bootstrap_servers=SERVERS, lifespan=wrong)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"middleware": "session"}, r"middleware='session': give a list"),
        ({"middleware": session}, r"middleware=<function session .*: give a list"),
        ({"middleware": [connected]}, r"middleware\[0\]=connected\(\).*too many positional arguments"),
        (
            {"middleware": [Maker.of_a_class]},
            r"Maker\.of_a_class\(self\).* is a method of a class: give ",
        ),
        ({"lifespan": session}, r"lifespan=session\(attempt: .*missing a required argument: 'attempt'"),
        ({"lifespan": Maker.of_a_class}, r"Maker\.of_a_class\(self\).* is a method of a class"),
    ],
)
def test_functions_that_do_not_fit_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Worker("g", bootstrap_servers=SERVERS, **keywords)


def test_a_method_of_a_class_is_no_handler() -> None:
    worker = Worker("g", bootstrap_servers=SERVERS)
    with pytest.raises(
        ConfigurationError, match=r"Maker\.handle\(self, value: bytes\).* is a method of a class.*\(shop\.sell"
    ):
        worker.handler("orders")(Maker.handle)  # type: ignore[call-overload]
    worker.handler("orders")(Maker().handle)


@pytest.mark.parametrize("middleware", [async_session, AsyncTransaction])
def test_asynchronous_middleware_is_refused_around_handlers_in_threads(middleware: Any) -> None:
    worker = Worker("g", bootstrap_servers=SERVERS, middleware=[middleware])
    worker.handler("orders")(handle)
    message = r"ession is asynchronous|AsyncTransaction is asynchronous.* the handler handle runs in threads"
    with pytest.raises(ConfigurationError, match=message), worker:
        pass


async def async_handle(value: bytes) -> None: ...


@pytest.mark.parametrize(
    ("function", "made", "message"),
    [
        (handle, lambda _: None, "middleware .*<lambda> returned None: return a context manager"),
        (async_handle, lambda _: None, "middleware .*<lambda> returned None: return a context manager"),
        (handle, lambda _: AsyncTransaction(), "<lambda> is asynchronous, and the handler runs in a thread"),
    ],
)
def test_middleware_that_returns_something_else_is_named(
    function: Callable[..., Any], made: Callable[..., Any], message: str
) -> None:
    worker = Worker("g", bootstrap_servers=SERVERS, middleware=[made])
    worker.handler("orders")(function)
    with WorkerTestDriver(worker) as test:
        delivered = test.deliver("orders", b"1")
    with pytest.raises(TypeError, match=message):
        raise delivered.errors[0]


@contextmanager
def shared() -> Iterator[None]:
    yield


@asynccontextmanager
async def async_shared() -> AsyncIterator[None]:
    yield


def handle_batch(batch: Batch[bytes]) -> None: ...


@pytest.mark.parametrize(
    ("function", "make"),
    [(handle, shared), (async_handle, shared), (async_handle, async_shared), (handle_batch, shared)],
)
def test_middleware_that_returns_one_manager_that_serves_once_stops_the_worker(
    function: Callable[..., Any], make: Callable[[], Any]
) -> None:
    manager = make()

    def session_of_all(attempt: Attempt) -> Any:
        return manager

    worker = Worker("g", bootstrap_servers=SERVERS, middleware=[session_of_all])
    declare: Any = (
        worker.batch_handler("orders", max_records=1) if function is handle_batch else worker.handler("orders")
    )
    declare(function)
    message = r"middleware .*session_of_all returned the same context manager again.* for each attempt$"
    with WorkerTestDriver(worker) as test:
        assert test.deliver("orders", b"1").outcome is Outcome.ACCEPTED
        with pytest.raises(HandlerResultError, match=message):
            test.deliver("orders", b"2")


class Tracker:
    """Counts what is in progress, for all attempts or runs."""

    def __init__(self) -> None:
        self.entered = 0

    def __enter__(self) -> None:
        self.entered += 1

    def __exit__(self, *_: object) -> None: ...


def test_managers_that_may_be_entered_again_may_be_shared() -> None:
    lock, tracker, nothing = threading.Lock(), Tracker(), nullcontext()
    worker = Worker(
        "g", bootstrap_servers=SERVERS, lifespan=lambda: tracker,
        middleware=[lambda _: lock, lambda _: tracker, lambda _: nothing],
    )  # fmt: skip
    worker.handler("orders")(handle)
    for _ in range(2):
        with WorkerTestDriver(worker) as test:
            assert test.deliver("orders", b"1").outcome is Outcome.ACCEPTED
    assert tracker.entered == 4


def test_functions_that_make_a_new_manager_each_time_serve_for_all_runs() -> None:
    worker = Worker("g", bootstrap_servers=SERVERS, lifespan=connected, middleware=[session])
    worker.handler("orders")(handle)
    for _ in range(2):
        with WorkerTestDriver(worker) as test:
            assert [test.deliver("orders", b"1").outcome for _ in range(2)] == 2 * [Outcome.ACCEPTED]


@pytest.mark.parametrize("given", ["", b"/var/lib/shop", 7, True, object()])
def test_a_state_directory_that_is_no_path_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^state_dir=.*: give the path of a directory, such as"):
        Worker("g", bootstrap_servers=SERVERS, state_dir=given)


def test_a_state_directory_needs_a_platform_with_posix_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    Worker("g", bootstrap_servers=SERVERS, state_dir=Path("/var/lib/shop"))
    monkeypatch.setattr(sys, "platform", "win32")
    Worker("g", bootstrap_servers=SERVERS)
    with pytest.raises(ConfigurationError, match=r"^state_dir='/var/lib/shop' is not supported on Windows"):
        Worker("g", bootstrap_servers=SERVERS, state_dir="/var/lib/shop")
