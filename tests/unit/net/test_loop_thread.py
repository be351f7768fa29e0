"""An event loop on its own thread: results, time-outs, stopping, fork."""

import asyncio
import gc
import os
import threading
from itertools import count

import pytest

from kafka_groups.errors import ClosedError, IllegalStateError
from kafka_groups.net.loop_thread import LoopThread
from tests.support.interrupting import interrupted_at

PATIENCE_S = 10.0

# An interrupt may strike before a coroutine has begun, and in functions that Python calls when it collects objects.
cut_short = pytest.mark.filterwarnings(r"ignore:Exception ignored in. <(coroutine|function) .*")


@pytest.fixture
def thread() -> LoopThread:
    return LoopThread("loop-under-test")


async def name_of_the_thread() -> str:
    return threading.current_thread().name


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def all_end(name: str) -> bool:
    threads = [thread for thread in threading.enumerate() if thread.name == name]
    for thread in threads:
        thread.join(PATIENCE_S)
    return not any(thread.is_alive() for thread in threads)


def test_coroutines_run_on_the_thread(thread: LoopThread) -> None:
    assert not thread.is_running
    thread.start()
    assert thread.run(name_of_the_thread()) == "loop-under-test"
    thread.stop()
    assert "loop-under-test" not in names()
    thread.stop()


def test_errors_and_timeouts_come_back_and_the_coroutine_is_cancelled(thread: LoopThread) -> None:
    ended = threading.Event()

    async def fails() -> None:
        raise ValueError("wrong")

    async def hangs() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    thread.start()
    with pytest.raises(ValueError, match="wrong"):
        thread.run(fails())
    with pytest.raises(TimeoutError):
        thread.run(hangs(), timeout_s=0.01)
    assert ended.wait(5)
    thread.stop()


def test_stop_cancels_what_still_runs(thread: LoopThread) -> None:
    started, cancelled = threading.Event(), threading.Event()
    background: list[asyncio.Task[None]] = []

    async def runs_on() -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()

    thread.start()
    thread.call_soon(lambda: background.append(asyncio.get_running_loop().create_task(runs_on())))
    assert started.wait(5)
    thread.stop()
    assert cancelled.is_set()


def test_last_coroutine_runs_on_the_thread_before_it_ends(thread: LoopThread) -> None:
    ran: list[str] = []

    async def last() -> None:
        ran.append(threading.current_thread().name)

    thread.start()
    thread.stop(last=last())
    thread.stop(last=last())  # is closed without being run
    assert ran == ["loop-under-test"]


def test_executor_threads_end_too(thread: LoopThread) -> None:
    before = set(threading.enumerate())
    thread.start()
    assert thread.run(asyncio.to_thread(lambda: 1)) == 1
    thread.stop()
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile


def test_use_before_start_and_after_stop_is_refused(thread: LoopThread) -> None:
    with pytest.raises(ClosedError):
        thread.run(name_of_the_thread())
    thread.start()
    with pytest.raises(IllegalStateError, match="is already started"):
        thread.start()
    thread.stop()
    with pytest.raises(ClosedError):
        thread.call_soon(print)


def test_stopping_ends_a_call_that_another_thread_waits_for(thread: LoopThread) -> None:
    async def is_stopped_meanwhile() -> None:
        threading.Thread(target=thread.stop).start()
        await asyncio.get_running_loop().create_future()

    thread.start()
    with pytest.raises(ClosedError, match="stopped during the call"):
        thread.run(is_stopped_meanwhile())


@cut_short
def test_ctrl_c_at_no_instant_of_a_call_spoils_the_next(thread: LoopThread) -> None:
    thread.start()
    for instant in count():
        if not interrupted_at(instant, lambda: thread.run(name_of_the_thread())):
            break
        assert thread.run(name_of_the_thread(), PATIENCE_S) == "loop-under-test", instant
    thread.stop()
    gc.collect()  # coroutines that were cut short
    assert instant > 20


@cut_short
def test_ctrl_c_at_no_instant_of_a_start_spoils_the_next(thread: LoopThread) -> None:
    for instant in count():
        # Not in `Thread.start`: there Python itself may leave the new thread waiting for ever, a daemon without a loop.
        was_struck = interrupted_at(instant, thread.start, spared="threading")
        if not thread.is_running:
            thread.start()
        assert thread.run(name_of_the_thread(), PATIENCE_S) == "loop-under-test", instant
        thread.stop()
        assert all_end("loop-under-test"), instant
        if not was_struck:
            break
    assert instant > 5


def test_blocking_call_on_the_loops_own_thread_is_refused(thread: LoopThread) -> None:
    async def waits_for_itself() -> None:
        thread.run(name_of_the_thread())

    thread.start()
    with pytest.raises(IllegalStateError, match="would deadlock"):
        thread.run(waits_for_itself())
    thread.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_child_of_a_fork_is_told_and_the_parent_goes_on(thread: LoopThread) -> None:
    thread.start()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            thread.run(name_of_the_thread())
        except IllegalStateError as error:
            thread.stop()
            status = 0 if "forked" in str(error) and not thread.is_running else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert thread.run(name_of_the_thread()) == "loop-under-test"
    thread.stop()
