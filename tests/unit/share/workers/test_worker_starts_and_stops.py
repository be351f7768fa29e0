"""Workers that are told to stop while they start, and calls in the wrong place."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from kafka_groups.client.assembly import Environment
from kafka_groups.errors import IllegalStateError
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.signal_handlers import signals_handled
from kafka_groups.share import Worker
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.worker import has_handled

SIGNALS = [signal.SIGTERM, signal.SIGINT]
FAR_S = 20
"""A start without brokers takes longer, as does a lifespan that nobody interrupts."""


def made(lifespan: Any = None) -> Worker:
    """A worker without brokers."""
    worker = Worker("g", bootstrap_servers="nobody:9092", environment=Environment(MemoryNetwork()), lifespan=lifespan)

    @worker.handler("orders")
    def handle(value: bytes) -> None: ...

    return worker


class OnWarning(logging.Handler):
    """Calls a function at the first warning about brokers, which is one of the start."""

    def __init__(self, function: Callable[[], object]) -> None:
        super().__init__(logging.WARNING)
        self._function = function
        self._was_called = False

    def emit(self, record: logging.LogRecord) -> None:
        """Call the function, at the first time."""
        if not self._was_called:
            self._was_called = True
            self._function()


@contextmanager
def at_the_first_warning(function: Callable[[], object]) -> Iterator[None]:
    """Call a function when the start has found no broker."""
    handler, log = OnWarning(function), logging.getLogger("kafka_groups.network")
    log.addHandler(handler)
    yield
    log.removeHandler(handler)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """The threads of a worker end, its signals are as before, and all of it is soon."""
    clock = SystemClock()
    before, begun_ms = set(threading.enumerate()), clock.now_ms()
    handlers = [signal.getsignal(number) for number in SIGNALS]
    yield
    assert clock.now_ms() - begun_ms < 1000 * FAR_S
    assert set(threading.enumerate()) <= before
    assert [signal.getsignal(number) for number in SIGNALS] == handlers


# ------------------------------------------------------------------------------------------- signals


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_no_broker_answers_ends_the_start_and_leaves_the_lifespan(number: signal.Signals) -> None:
    events: list[str] = []

    @contextmanager
    def lifespan() -> Iterator[None]:
        events.append("entered")
        yield
        events.append("left")

    worker = made(lifespan)
    with at_the_first_warning(lambda: os.kill(os.getpid(), number)):
        worker.run()
    assert events == ["entered", "left"]
    assert not has_handled(worker)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_program_has_its_own_signal_handlers_again(number: signal.Signals) -> None:
    came: list[int] = []
    with signals_handled(SIGNALS, lambda number, _: came.append(number)):
        with at_the_first_warning(lambda: os.kill(os.getpid(), number)):
            made().run()
        assert came == []
        for each in SIGNALS:
            os.kill(os.getpid(), each)
        assert came == SIGNALS


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_lifespan_that_blocks(number: signal.Signals) -> None:
    events: list[str] = []

    @contextmanager
    def lifespan() -> Iterator[None]:
        try:
            os.kill(os.getpid(), number)
            threading.Event().wait(FAR_S)
            yield
        finally:
            events.append("left")

    made(lifespan).run()
    assert events == ["left"]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_an_asynchronous_lifespan_that_waits(number: signal.Signals) -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(FAR_S)
            yield
        finally:
            await asyncio.sleep(0)
            events.append("left")

    made(lifespan).run()
    assert events == ["left"]


def test_a_cancellation_of_a_lifespan_itself_is_no_signal() -> None:
    def cancel() -> None:
        raise asyncio.CancelledError

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        cancel()
        yield

    with pytest.raises(asyncio.CancelledError):
        made(lifespan).run()


# ------------------------------------------------------------------------------------------- embedded


def test_stop_ends_a_start() -> None:
    worker = made()
    assert worker.health().reasons == ("the worker is not running",)
    seen: list[Health] = []

    def stop() -> None:
        seen.append(worker.health())
        worker.stop()

    with at_the_first_warning(stop), worker:
        seen.append(worker.health())
    assert [each.reasons for each in seen] == [("the worker is starting",), ("the worker has stopped",)]
    assert not any(each.is_ready for each in seen)


def test_stop_before_a_start_is_not_lost() -> None:
    @contextmanager
    def lifespan() -> Iterator[None]:
        worker.stop()
        yield

    worker = made(lifespan)
    worker.run()


async def test_a_start_that_is_cancelled_ends_before_its_lifespan() -> None:
    events: list[object] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        try:
            yield
        finally:
            events.append([each.name for each in threading.enumerate() if each.name == "worker-g"])

    worker = made(lifespan)
    loop, warned = asyncio.get_running_loop(), asyncio.Event()

    async def enter() -> None:
        async with worker:
            pytest.fail("it has started")

    with at_the_first_warning(lambda: loop.call_soon_threadsafe(warned.set)):
        entering = asyncio.create_task(enter())
        await warned.wait()
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
    assert events == [[]]
    await loop.shutdown_default_executor()


# ------------------------------------------------------------------------------------------- the wrong place


@pytest.mark.filterwarnings("error")
async def test_blocking_methods_are_refused_on_a_loop() -> None:
    worker = made()
    with pytest.raises(IllegalStateError, match=r"worker\.run\(\) blocks.*use `async with worker`"):
        worker.run()
    with pytest.raises(IllegalStateError, match=r"worker\.run\(\) blocks"):
        worker.run(processes=2)
    with pytest.raises(IllegalStateError, match=r"worker\.check\(\) blocks.*asyncio\.to_thread\(worker\.check\)"):
        worker.check()
