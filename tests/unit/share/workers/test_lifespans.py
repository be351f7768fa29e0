"""What a lifespan returns is checked when it is entered, and left at the end of the run."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import pytest

from kafka_groups import Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.lifespans import enter_lifespan
from kafka_groups.testing import WorkerTestDriver

SERVERS = "localhost:9092"


@contextmanager
def shared() -> Iterator[None]:
    yield


@asynccontextmanager
async def async_shared() -> AsyncIterator[None]:
    yield


def handle(value: bytes) -> None: ...


@pytest.mark.parametrize("kind", [contextmanager, asynccontextmanager])
async def test_a_lifespan_is_left_with_the_stack(kind: Callable[..., Any]) -> None:
    steps: list[str] = []

    def plain() -> Iterator[None]:
        steps.append("entered")
        yield
        steps.append("left")

    async def asynchronous() -> AsyncIterator[None]:
        steps.append("entered")
        yield
        steps.append("left")

    async with AsyncExitStack() as stack:
        await enter_lifespan(stack, kind(plain if kind is contextmanager else asynchronous))
        assert steps == ["entered"]
    assert steps == ["entered", "left"]


async def test_a_worker_without_lifespan_enters_nothing() -> None:
    async with AsyncExitStack() as stack:
        await enter_lifespan(stack, None)


def test_a_lifespan_that_returns_something_else_is_named() -> None:
    worker = Worker("g", bootstrap_servers=SERVERS, lifespan=lambda: 5)  # type: ignore[arg-type, return-value]
    worker.handler("orders")(handle)
    with pytest.raises(ConfigurationError, match=r"lifespan=.*<lambda> returned 5: return a context manager"), worker:
        pass


@pytest.mark.parametrize("make", [shared, async_shared])
def test_a_lifespan_that_returns_one_manager_that_serves_once_is_refused(make: Callable[[], Any]) -> None:
    manager = make()
    worker = Worker("g", bootstrap_servers=SERVERS, lifespan=lambda: manager)
    worker.handler("orders")(handle)
    with WorkerTestDriver(worker):
        pass
    message = r"^lifespan=.*<lambda> returned the same context manager again.* for each run$"
    with pytest.raises(ConfigurationError, match=message), WorkerTestDriver(worker):
        pass
