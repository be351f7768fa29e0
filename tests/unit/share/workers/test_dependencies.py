"""Dependencies are planned when a handler is declared, and what cannot be injected is refused there."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from unittest.mock import Mock

import pytest

from kafka_groups import Attempt, Batch, ShareRecord, Worker, inject
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.dependencies import Dependency
from kafka_groups.share.workers.handlers import HandlerSpec

SERVERS = "localhost:9092"


class Database:
    """What factories make."""


@contextmanager
def open_database() -> Iterator[Database]:
    yield Database()


@asynccontextmanager
async def open_async_database() -> AsyncIterator[Database]:
    yield Database()


def make_database(name: str = "main") -> Database:
    return Database()


async def make_async_database() -> Database:
    return Database()


def bare() -> Iterator[Database]:
    yield Database()


async def async_bare() -> AsyncIterator[Database]:
    yield Database()


class Maker:
    """Makes databases by other ways than functions."""

    def __call__(self) -> Database:
        return Database()

    def method(self) -> Database:
        return Database()


class AsyncMaker:
    async def __call__(self) -> Database:
        return Database()


class Unhashable(Maker):
    __hash__ = None  # type: ignore[assignment]


class Bare:
    def __call__(self) -> Iterator[Database]:
        yield Database()


@pytest.fixture
def worker() -> Worker:
    return Worker("g", bootstrap_servers=SERVERS)


def declared(function: Callable[..., Any], *, is_batch: bool = False) -> HandlerSpec:
    """Declare a function as a handler."""
    worker = Worker("g", bootstrap_servers=SERVERS)
    worker.batch_handler("orders")(function) if is_batch else worker.handler("orders")(function)
    return worker.handlers[0]


def names(planned: Any) -> list[str]:
    return [str(each) for each in planned]


# ------------------------------------------------------------------------------------------------ plans


def test_a_handler_without_dependencies_has_an_empty_plan() -> None:
    def invoice(order: bytes, retries: int = 3) -> None: ...

    plan = declared(invoice).dependencies
    assert (dict(plan.arguments), plan.process, plan.attempt, plan.factories) == ({}, (), (), set())


def test_what_is_injected_comes_after_what_it_injects_and_is_planned_once() -> None:
    def make_pool(db: Database = inject(open_database)) -> object: ...

    def make_cache(db: Database = inject(open_database), pool: object = inject(make_pool)) -> object: ...

    @contextmanager
    def transaction(pool: object = inject(make_pool)) -> Iterator[object]:
        yield pool

    def make_unit(open_now: object = inject(transaction, scope="attempt"), cache: object = inject(make_cache)) -> str:
        return ""

    def invoice(
        order: bytes,
        *,
        unit: str = inject(make_unit, scope="attempt"),
        now: object = inject(transaction, scope="attempt"),
        cache: object = inject(make_cache),
        limit: int = 5,
    ) -> None: ...

    plan = declared(invoice).dependencies
    local = "test_what_is_injected_comes_after_what_it_injects_and_is_planned_once.<locals>"
    assert names(plan.process) == ["open_database", f"{local}.make_pool", f"{local}.make_cache"]
    assert names(plan.attempt) == [f"{local}.transaction", f"{local}.make_unit"]
    assert list(plan.arguments) == ["unit", "now", "cache"]
    assert plan.factories == {open_database, make_pool, make_cache, transaction, make_unit}


def test_one_factory_may_have_both_scopes() -> None:
    def invoice(
        order: bytes, one: Database = inject(make_database), two: Database = inject(make_database, scope="attempt")
    ) -> None: ...

    plan = declared(invoice).dependencies
    assert (names(plan.process), names(plan.attempt)) == (["make_database"], ["make_database"])


@pytest.mark.parametrize(
    "factory",
    [open_database, make_database, functools.partial(make_database, "other"), Database, Maker(), Maker().method,
     lambda: 5, Mock(), functools.cache(make_database), int, print, dict],
)  # fmt: skip
def test_what_can_be_called_without_arguments_is_a_factory(factory: Any) -> None:
    def invoice(order: bytes, *, db: Any = inject(factory)) -> None: ...

    assert len(declared(invoice).dependencies.process) == 1


@pytest.mark.parametrize("factory", [open_async_database, make_async_database, AsyncMaker(), AsyncMaker().__call__])
def test_asynchronous_factories_are_for_asynchronous_handlers(factory: Any) -> None:
    def make_pool(db: Any = inject(factory)) -> object: ...

    async def pay(order: bytes, *, pool: Any = inject(make_pool, scope="attempt")) -> None: ...

    def invoice(order: bytes, *, pool: Any = inject(make_pool, scope="attempt")) -> None: ...

    assert len(declared(pay).dependencies.process) == 1
    message = r"handler .*invoice is a def, which runs in threads, and its dependency .*make_pool → .* is asynchronous"
    with pytest.raises(ConfigurationError, match=message):
        declared(invoice)
    batch = functools.partial(invoice)
    with pytest.raises(ConfigurationError, match="is asynchronous: declare the handler with async def"):
        declared(batch, is_batch=True)


# ------------------------------------------------------------------------------------- the worker's arguments


def test_an_injected_parameter_does_not_take_the_place_of_the_record() -> None:
    def one(order: bytes, db: Database = inject(open_database)) -> None: ...
    def two(order: bytes, record: ShareRecord[bytes, bytes], db: Database = inject(open_database)) -> None: ...
    def optional(order: bytes, db: Database = inject(open_database), record: Any = None) -> None: ...
    def many(*orders: bytes, db: Database = inject(open_database)) -> None: ...
    def batch(orders: Batch[bytes], db: Database = inject(open_database)) -> None: ...

    assert [declared(each).wants_record for each in (one, two, optional, many)] == [False, True, False, False]
    assert not declared(batch, is_batch=True).wants_record


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_handler_needs_a_place_for_the_value(is_batch: bool) -> None:
    def only(db: Database = inject(open_database)) -> None: ...
    def first(db: Database = inject(open_database), order: bytes = b"") -> None: ...
    def rest(db: Database = inject(open_database), *orders: bytes) -> None: ...

    with pytest.raises(ConfigurationError, match=r"only\(db: .*\) -> None: write a function of one "):
        declared(only, is_batch=is_batch)
    for wrong in (first, rest):
        with pytest.raises(ConfigurationError, match=rf"{wrong.__name__}\(db: .*: write what is injected behind one"):
            declared(wrong, is_batch=is_batch)


def test_a_handler_gets_what_is_injected_by_name(worker: Worker) -> None:
    def wrong(order: bytes, db: Database = inject(open_database), /) -> None: ...

    with pytest.raises(ConfigurationError, match=r"wrong\(.*db is injected, so write it after a \*, not before a /"):
        worker.handler("orders")(wrong)

    def factory(other: Database = inject(open_database), /) -> None: ...

    with pytest.raises(ConfigurationError, match=r"inject: .*factory\(.*other is injected, so write it after a \*"):
        inject(factory)


def test_a_wrapped_handler_gets_what_it_injects() -> None:
    def invoice(order: bytes, *, db: Database = inject(open_database)) -> None: ...

    @functools.wraps(invoice)
    def wrapper(*arguments: Any, **keywords: Any) -> None: ...

    assert list(declared(wrapper).dependencies.arguments) == ["db"]
    assert not declared(functools.partial(invoice, db=Database())).dependencies.arguments


# ------------------------------------------------------------------------------------------- bad input

WRONG: list[tuple[Any, str]] = [
    (5, r"inject: 5 is not callable: give a function that makes the dependency"),
    (open_database(), r"is a context manager already: give a function .*, without calling it"),
    (open_async_database(), r"is a context manager already"),
    (bare, r"inject: bare contains yield, but is not a context manager: decorate it with contextlib\.contextmanager"),
    (functools.partial(bare), r"contains yield"),
    (async_bare, r"inject: async_bare contains yield.*contextlib\.asynccontextmanager"),
    (Bare(), r"contains yield"),
    (Unhashable(), r"Unhashable object .* is not hashable"),
    (lambda url: url, r"<lambda>\(url\) needs an argument for url: inject it, give it a default value"),
    (lambda *, url: url, r"needs an argument for url"),
    (Maker.method, r"Maker\.method\(self\).* needs an argument for self.* or the method of an object"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_what_makes_no_dependency_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        inject(wrong)


def test_a_coroutine_is_refused_and_closed() -> None:
    coroutine: Any = make_async_database()
    with pytest.raises(ConfigurationError, match="is a coroutine already: give a function"):
        inject(coroutine)
    assert coroutine.cr_frame is None


@pytest.mark.parametrize("scope", ["run", "", None, "Process"])
def test_an_unknown_scope_is_refused(scope: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"inject: scope={scope!r}: give 'process' or 'attempt'"):
        inject(open_database, scope=scope)


def test_what_lives_with_the_process_injects_nothing_of_an_attempt() -> None:
    def session(db: Database = inject(make_database)) -> object: ...
    def cache(session: object = inject(session, scope="attempt")) -> object: ...
    def invoice(order: bytes, *, cache: object = inject(cache)) -> None: ...
    def fine(order: bytes, *, cache: object = inject(cache, scope="attempt")) -> None: ...

    message = r"handler .*invoice: .*cache is made once for the process, and injects .*session, which lives for one"
    with pytest.raises(ConfigurationError, match=message):
        declared(invoice)
    declared(fine)


def test_the_scope_is_checked_for_each_that_injects() -> None:
    """Also for a dependency that was planned before, for another one."""

    def session() -> object: ...
    def cache(session: object = inject(session, scope="attempt")) -> object: ...
    def invoice(order: bytes, one: object = inject(session, scope="attempt"), two: object = inject(cache)) -> None: ...

    with pytest.raises(ConfigurationError, match="is made once for the process, and injects"):
        declared(invoice)


def test_a_circle_is_refused_with_its_way() -> None:
    def first(other: object = None) -> object: ...
    def second(other: object = inject(first, scope="attempt")) -> object: ...
    def invoice(order: bytes, *, it: object = inject(second, scope="attempt")) -> None: ...

    first.__defaults__ = (inject(second, scope="attempt"),)
    message = r"in a circle: .*second → .*first → .*second\. One of them must not inject the next"
    with pytest.raises(ConfigurationError, match=message):
        declared(invoice)


def test_a_factory_that_injects_itself_with_another_scope_is_a_circle() -> None:
    def factory(other: object = None) -> object: ...
    def invoice(order: bytes, *, it: object = inject(factory, scope="attempt")) -> None: ...

    factory.__defaults__ = (inject(factory),)
    with pytest.raises(ConfigurationError, match=r"in a circle: .*factory → .*factory"):
        declared(invoice)


def test_middleware_and_lifespans_inject_nothing() -> None:
    @contextmanager
    def session(attempt: Attempt, db: Database = inject(open_database)) -> Iterator[None]:
        yield

    @contextmanager
    def connected(db: Database = inject(open_database)) -> Iterator[None]:
        yield

    message = r"middleware\[0\]=.*session\(.*injects db: only handlers and factories"
    with pytest.raises(ConfigurationError, match=message):
        Worker("g", bootstrap_servers=SERVERS, middleware=[session])
    with pytest.raises(ConfigurationError, match=r"lifespan=.*connected\(.*injects db"):
        Worker("g", bootstrap_servers=SERVERS, lifespan=connected)


def test_a_handler_that_is_called_without_its_dependency_says_so() -> None:
    def invoice(order: bytes, *, db: Any = inject(open_database)) -> None:
        db.insert(order)

    message = "'insert' of a dependency that was not injected, as only a worker injects: pass what open_database would"
    with pytest.raises(AttributeError, match=message):
        invoice(b"1")
    assert isinstance(inject(open_database), Dependency)
