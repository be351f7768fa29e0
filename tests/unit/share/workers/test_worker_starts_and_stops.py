"""Workers that are told to stop while they start, and calls in the wrong place."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafka_groups import inject
from kafka_groups.client.assembly import Environment
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.signal_handlers import signals_handled
from kafka_groups.share import Worker
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.kept_notes import NotesInDirectory
from kafka_groups.share.workers.processes.notes import RunningNotesLayout
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.worker import has_handled
from kafka_groups.types import TopicIdPartition
from tests.support.conditions import wait_until

SIGNALS = [signal.SIGTERM, signal.SIGINT]
FAR_S = 20
"""A start without brokers takes longer, as does a lifespan that nobody interrupts."""


def made(lifespan: Any = None, **options: Any) -> Worker:
    """A worker without brokers."""
    environment = Environment(MemoryNetwork())
    worker = Worker("g", bootstrap_servers="nobody:9092", environment=environment, lifespan=lifespan, **options)

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
    wait_until(lambda: set(threading.enumerate()) <= before)  # the last one has just told that it is done
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


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_dependency_that_waits_and_leaves_what_was_made_before(
    number: signal.Signals, *, is_async: bool
) -> None:
    events: list[str] = []

    @contextmanager
    def noted(name: str) -> Iterator[str]:
        events.append(f"{name} entered")
        try:
            yield name
        finally:
            events.append(f"{name} left")

    def blocking() -> None:
        with noted("second"):
            os.kill(os.getpid(), number)
            threading.Event().wait(FAR_S)

    async def waiting() -> None:
        with noted("second"):
            os.kill(os.getpid(), number)
            await asyncio.sleep(FAR_S)

    worker = made(partial(noted, "lifespan"))
    first, second = partial(noted, "first"), waiting if is_async else blocking

    @worker.handler("payments")
    async def pay(value: bytes, *, one: str = inject(first), two: Any = inject(second)) -> None: ...

    worker.run()
    made_before = ["first left", "lifespan left"]
    assert events == ["lifespan entered", "first entered", "second entered", "second left", *made_before]
    assert not has_handled(worker)


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


# ------------------------------------------------------------------------------------------- notes


def test_a_start_that_ends_leaves_its_notes_and_the_directory_to_the_next(tmp_path: Path) -> None:
    worker, orders = made(state_dir=tmp_path), TopicIdPartition(UUID(int=1), 0, "orders")
    layout, suspects = RunningNotesLayout.of(worker.handlers), (RunningRange(orders, 7, 7),)
    killed = NotesInDirectory(tmp_path, "g", layout, 1)
    killed.name(suspects)
    killed.close()
    with at_the_first_warning(worker.stop):
        worker.run()
    successor = NotesInDirectory(tmp_path, "g", layout, 1)
    assert successor.suspects == suspects
    successor.close()


def test_a_run_may_have_another_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    worker = made(state_dir=tmp_path / "file" / "own")
    with pytest.raises(
        ConfigurationError, match=f"state_dir='{tmp_path}/file/other': the worker cannot keep its notes"
    ):
        worker.run(state_dir=f"{tmp_path}/file/other")
    with pytest.raises(ConfigurationError, match=f"state_dir='{tmp_path}/file/own': the worker cannot keep"):
        worker.run()


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
