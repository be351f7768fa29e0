"""Tests put other factories in the place of those that a worker's handlers inject."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from kafka_groups import Attempt, Backoff, Batch, Worker, current_attempt, inject, serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.testing import Outcome, WorkerTestDriver, WorkerTestError
from kafka_groups.testing.worker_driver.overrides import DependencyOverrides

LOG: list[str] = []


@pytest.fixture(autouse=True)
def log() -> list[str]:
    LOG.clear()
    return LOG


class Database:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


@contextmanager
def opened(name: str) -> Iterator[Database]:
    LOG.append(f"open {name}")
    yield Database(name)
    LOG.append(f"close {name}")


def read_url() -> str:
    raise AssertionError("tests have no environment")


@contextmanager
def open_database(url: str = inject(read_url)) -> Iterator[Database]:
    with opened(url) as database:
        yield database


@contextmanager
def begin(db: Database = inject(open_database)) -> Iterator[Database]:
    with opened(f"transaction of {db}") as transaction:
        yield transaction


@contextmanager
def open_fake() -> Iterator[Database]:
    with opened("fake") as database:
        yield database


def fake_clock() -> str:
    return "noon"


@contextmanager
def open_other_fake(clock: str = inject(fake_clock)) -> Iterator[Database]:
    with opened(f"fake at {clock}") as database:
        yield database


@asynccontextmanager
async def open_async_fake() -> AsyncIterator[Database]:
    await asyncio.sleep(60)
    yield Database("fake")


@pytest.fixture
def worker() -> Worker:
    @contextmanager
    def connected() -> Iterator[None]:
        LOG.append("lifespan begins")
        yield
        LOG.append("lifespan ends")

    worker = Worker("invoices", bootstrap_servers="localhost:9092", lifespan=connected)

    @worker.handler("orders", value=serdes.string, retries=Backoff(first=1, most=1, times=1))
    def invoice(order: str, *, transaction: Database = inject(begin, scope="attempt")) -> None:
        LOG.append(f"{order} in {transaction}, attempt {current_attempt().number}")
        if order == "bad":
            raise ValueError(order)

    return worker


def test_a_fake_is_made_in_the_place_of_the_original_and_its_dependencies(worker: Worker, log: list[str]) -> None:
    with WorkerTestDriver(worker, overrides={open_database: open_fake}) as test:
        assert log == ["lifespan begins", "open fake"]
        assert test.deliver("orders", "1").outcome is Outcome.ACCEPTED
        assert test.deliver("orders", "2").outcome is Outcome.ACCEPTED
    transaction = "transaction of fake"
    assert log == [
        "lifespan begins", "open fake",
        f"open {transaction}", f"1 in {transaction}, attempt 1", f"close {transaction}",
        f"open {transaction}", f"2 in {transaction}, attempt 1", f"close {transaction}",
        "close fake", "lifespan ends",
    ]  # fmt: skip


def test_a_fake_injects_what_its_own_parameters_say(worker: Worker, log: list[str]) -> None:
    with WorkerTestDriver(worker, overrides={open_database: open_other_fake}) as test:
        test.deliver("orders", "1")
    assert "1 in transaction of fake at noon, attempt 1" in log


def test_dependencies_of_a_fake_may_be_replaced_and_those_of_the_original_as_well(
    worker: Worker, log: list[str]
) -> None:
    both: DependencyOverrides = {
        open_database: open_other_fake,
        fake_clock: lambda: "midnight",
        read_url: lambda: "unused",
    }
    with WorkerTestDriver(worker, overrides=both) as test:
        test.deliver("orders", "1")
    assert "1 in transaction of fake at midnight, attempt 1" in log
    with WorkerTestDriver(worker, overrides={read_url: lambda: "memory"}) as test:
        test.deliver("orders", "2")
    assert "2 in transaction of memory, attempt 1" in log


def test_each_attempt_gets_its_own(worker: Worker, log: list[str]) -> None:
    with WorkerTestDriver(worker, overrides={open_database: open_fake}) as test:
        bad = test.deliver("orders", "bad")
        test.advance(1)
        assert bad.attempts == 2
    assert log.count("open transaction of fake") == 2
    assert "bad in transaction of fake, attempt 2" in log


def test_a_failure_of_a_dependency_is_one_of_the_attempt(worker: Worker) -> None:
    fails = [True]

    def flaky() -> Database:
        if fails.pop():
            raise ConnectionError("no database")
        return Database("fake")

    fails.insert(0, False)
    with WorkerTestDriver(worker, overrides={begin: flaky}) as test:
        order = test.deliver("orders", "1")
        assert (order.outcome, [repr(error) for error in order.errors]) == (None, ["ConnectionError('no database')"])
        test.advance(1)
        assert (order.outcome, order.attempts) == (Outcome.ACCEPTED, 2)


def test_a_start_that_fails_leaves_what_was_entered(worker: Worker, log: list[str]) -> None:
    with pytest.raises(AssertionError, match="tests have no environment"), WorkerTestDriver(worker):
        raise ValueError("it was entered")
    assert log == ["lifespan begins"]


def test_batches_and_asynchronous_handlers_get_theirs(log: list[str]) -> None:
    worker = Worker("invoices", bootstrap_servers="localhost:9092")

    @worker.batch_handler("events", max_wait=1)
    def store(batch: Batch[bytes], db: Database = inject(open_database, scope="attempt")) -> None:
        log.append(f"{list(batch)} in {db}")

    @worker.handler("orders")
    async def pay(order: bytes, *, db: Database = inject(open_database)) -> None:
        log.append(f"{order!r} in {db}")

    with WorkerTestDriver(worker, overrides={open_database: open_fake}) as test:
        event = test.deliver("events", b"1")
        test.advance(1)
        assert (event.outcome, test.deliver("orders", b"2").outcome) == (Outcome.ACCEPTED, Outcome.ACCEPTED)
    assert log == ["open fake", "open fake", "[b'1'] in fake", "close fake", "b'2' in fake", "close fake"]


def test_asynchronous_fakes_are_for_asynchronous_handlers_and_take_virtual_time(worker: Worker, log: list[str]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"dependency begin → open_database \(replaced by open_async_fake\) is"
    ):
        WorkerTestDriver(worker, overrides={open_database: open_async_fake})
    other = Worker("invoices", bootstrap_servers="localhost:9092")

    @other.handler("orders")
    async def pay(order: bytes, *, db: Database = inject(open_database)) -> None:
        log.append(f"{order!r} in {db}")

    with WorkerTestDriver(other, overrides={open_database: open_async_fake}) as test:
        assert test.deliver("orders", b"2").outcome is Outcome.ACCEPTED
    assert log == ["b'2' in fake"]


def test_a_dependency_that_waits_forever_is_refused() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    worker = Worker("invoices", bootstrap_servers="localhost:9092")

    @worker.handler("orders")
    async def pay(order: bytes, *, it: None = inject(never)) -> None: ...

    with pytest.raises(WorkerTestError, match="lifespan or a dependency waits for something"), WorkerTestDriver(worker):
        raise AssertionError("it was entered")


def test_middleware_is_around_the_dependencies_of_an_attempt(log: list[str]) -> None:
    @contextmanager
    def traced(attempt: Attempt) -> Iterator[None]:
        log.append("begin")
        yield
        log.append("end")

    worker = Worker("invoices", bootstrap_servers="localhost:9092", middleware=[traced])

    @worker.handler("orders")
    def invoice(order: bytes, *, db: Database = inject(open_fake, scope="attempt")) -> None: ...

    with WorkerTestDriver(worker) as test:
        test.deliver("orders", b"1")
    assert log == ["begin", "open fake", "close fake", "end"]


def test_the_declared_worker_keeps_its_own_factories(worker: Worker) -> None:
    before = worker.handlers[0].dependencies
    with WorkerTestDriver(worker, overrides={open_database: open_fake}):
        assert worker.handlers[0].dependencies is before


# ------------------------------------------------------------------------------------------- bad input


def bare() -> Iterator[Database]:
    yield Database("fake")


@contextmanager
def wraps_the_original(db: Database = inject(open_database)) -> Iterator[Database]:
    yield db


def of_an_attempt(db: Database = inject(open_fake, scope="attempt")) -> Database:
    return db


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (open_fake, r"overrides=<function open_fake .*: give a dictionary from factories to their replacements"),
        ({open_fake: open_fake}, r"no handler injects open_fake, nor does .*\. Injected are: begin, open_data"),
        ({"open_database": open_fake}, r"no handler injects 'open_database', nor does another dependency"),
        ({open_database: Database("fake")}, r"overrides\[open_database\]: fake is not callable: give a function that"),
        ({open_database: open_fake()}, r"overrides\[open_database\]: .* is a context manager already"),
        ({open_database: bare}, r"overrides\[open_database\]: bare contains yield"),
        ({open_database: Database}, r"overrides\[open_database\]: Database\(name: str\).* needs an argument for name"),
        ({open_database: wraps_the_original}, r"in a circle: begin → open_database \(replaced by wraps_the_original\)"),
        ({open_database: of_an_attempt}, r"open_database \(replaced by of_an_attempt\) is made once for the process"),
    ],
)  # fmt: skip
def test_overrides_that_do_not_fit_are_refused(worker: Worker, overrides: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        WorkerTestDriver(worker, overrides=overrides)


def test_a_worker_without_dependencies_has_nothing_to_replace() -> None:
    worker = Worker("invoices", bootstrap_servers="localhost:9092")
    worker.handler("orders")(print)
    none: Mapping[Any, Any] = {}
    WorkerTestDriver(worker, overrides=none)
    with pytest.raises(ConfigurationError, match="Injected are: none"):
        WorkerTestDriver(worker, overrides={open_database: open_fake})
