"""What happens when an error ends a worker, by the application's handler."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, cast

import pytest

from kafka_groups.errors import ApplicationShutdownError
from kafka_groups.streams import GroupMembershipOperation, StreamsError, StreamsState, UncaughtErrorResponse
from kafka_groups.streams.workers.application_state import ApplicationLife
from kafka_groups.streams.workers.uncaught import UncaughtErrors, worker_restarts
from kafka_groups.streams.workers.worker_thread import RunningWorker, WorkerThread
from kafka_groups.testing.clock import ManualClock

REPLACE, CLIENT, APPLICATION = UncaughtErrorResponse


class StubWorker:
    """A worker and its plane. It runs for one turn, and then raises an error, if it has one."""

    is_running = True
    is_paused = False
    tasks: ClassVar[dict[str, object]] = {}
    global_engine = None

    def __init__(self, error: BaseException | None, calls: list[str]) -> None:
        self.error, self.calls = error, calls
        self.heard = iter((False, True))

    async def start(self) -> None:
        self.calls.append("start")

    async def turn(self) -> int:
        if self.error is not None:
            raise self.error
        return 1

    def open_files(self) -> tuple[()]:
        return ()

    async def wait(self, _timeout_ms: int) -> None: ...

    async def request_shutdown(self) -> None:
        self.calls.append("request_shutdown")

    async def hears_of_shutdown(self) -> bool:
        return next(self.heard)

    async def close(self, *_: object, is_clean: bool = True, **__: object) -> None:
        self.calls.append("close" if is_clean else "abandon")


class Scene:
    """The thread of workers, of which each fails with the next one of the errors."""

    def __init__(self, handler: Callable[..., object] | None, *errors: BaseException) -> None:
        self.calls: list[str] = []
        self.errors: Iterator[BaseException] = iter(errors)
        self.life = ApplicationLife(None)
        uncaught = UncaughtErrors(handler, worker_restarts(first_wait_ms=1))
        self.thread = WorkerThread(self.make, self.life, "worker", uncaught)
        self.life.enter(StreamsState.REBALANCING)
        self.thread.start()

    def make(self) -> RunningWorker:
        stub = cast("Any", StubWorker(next(self.errors, None), self.calls))
        return RunningWorker(stub, stub, "thread", dict)

    def ended(self) -> tuple[StreamsState, str | None]:
        assert self.life.wait_for(lambda _: self.life.has_ended, 60)
        return self.life.state, None if self.life.error is None else str(self.life.error)


@pytest.mark.parametrize("handler", [None, lambda _: CLIENT])
def test_errors_end_the_application_without_a_handler_or_if_it_says_so(handler: Callable[..., object] | None) -> None:
    scene = Scene(handler, ValueError("bad"))
    assert scene.ended() == (StreamsState.ERROR, "bad")
    assert scene.calls == ["start", "abandon"]


def test_a_worker_is_replaced_and_the_next_one_runs() -> None:
    asked: list[Exception] = []

    def note(error: Exception) -> UncaughtErrorResponse:
        asked.append(error)
        return REPLACE

    scene = Scene(note, ValueError("first"), ValueError("second"))
    assert scene.life.wait_for(lambda state: state is StreamsState.RUNNING, 60)
    assert scene.thread.stop(60, GroupMembershipOperation.DEFAULT)
    assert scene.ended() == (StreamsState.NOT_RUNNING, None)
    assert list(map(str, asked)) == ["first", "second"]
    assert scene.calls == ["start", "abandon", "start", "abandon", "start", "close"]
    assert scene.thread.counts == (0, 2)


def test_a_worker_that_fails_again_and_again_is_given_up() -> None:
    errors = [ValueError(f"bad {number}") for number in range(9)]
    scene = Scene(lambda _: REPLACE, *errors)
    assert scene.ended() == (
        StreamsState.ERROR,
        "The worker failed again and again and is not replaced any more: ValueError: bad 5",
    )
    assert scene.life.error is not None
    assert scene.life.error.__cause__ is errors[5]
    assert scene.calls == ["start", "abandon"] * 6
    assert scene.thread.counts[1] == 6


def test_an_application_can_be_closed_while_it_waits_to_replace_its_worker() -> None:
    has_scene = threading.Event()

    def close_first(_error: Exception) -> UncaughtErrorResponse:
        assert has_scene.wait(60)
        scene.thread.tell_to_stop(None, GroupMembershipOperation.DEFAULT)
        return REPLACE

    scene = Scene(close_first, OSError())
    has_scene.set()
    assert scene.ended() == (StreamsState.NOT_RUNNING, None)
    assert scene.calls == ["start", "abandon"]


def test_the_group_is_asked_to_shut_down_before_the_worker_leaves_it() -> None:
    scene = Scene(lambda _: APPLICATION, ValueError("bad"))
    assert scene.ended() == (StreamsState.ERROR, "bad")
    assert scene.calls == ["start", "request_shutdown", "abandon"]


def test_the_handler_is_not_asked_about_a_request_to_shut_down_or_an_exit() -> None:
    scene = Scene(lambda _: pytest.fail("it was asked"), ApplicationShutdownError("all"))
    assert scene.ended() == (StreamsState.NOT_RUNNING, None)
    scene = Scene(lambda _: pytest.fail("it was asked"), SystemExit(3))
    assert scene.ended() == (StreamsState.ERROR, "3")


def test_a_handler_that_fails_or_returns_something_else_ends_the_application() -> None:
    scene = Scene(lambda _: "REPLACE", ValueError("bad"))
    state, said = scene.ended()
    assert (state, scene.calls) == (StreamsState.ERROR, ["start", "abandon"])
    assert said == (
        "uncaught_exception_handler returned 'REPLACE'. Return a member of UncaughtErrorResponse. It was asked about "
        "ValueError: bad."
    )
    scene = Scene(lambda _: 1 / 0, ValueError("bad"))
    state, said = scene.ended()
    assert (state, scene.calls) == (StreamsState.ERROR, ["start", "abandon"])
    assert said is not None
    assert "uncaught_exception_handler failed: ZeroDivisionError: division by zero. It was asked about" in said
    assert said.endswith("ValueError: bad.")


def test_a_worker_is_replaced_later_with_each_error() -> None:
    clock = ManualClock()
    uncaught = UncaughtErrors(lambda _: REPLACE, clock=clock)
    error = ValueError("bad")
    assert [uncaught.replacement_wait_ms(error) for _ in range(5)] == [200, 400, 800, 1_600, 3_200]
    with pytest.raises(StreamsError, match="not replaced any more: ValueError: bad"):
        uncaught.replacement_wait_ms(error)
    clock.advance(600_001)
    assert uncaught.replacement_wait_ms(error) == 200
