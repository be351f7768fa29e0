"""Runs what a leader computes off the event loop, with a task assignor that may be anybody's code.

An assignor never runs twice at a time in one process, whatever rounds and members ask for it. Code on a thread cannot
be stopped: what does not return in time is given up, and until it returns, this process leads no other round with it.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Final, Protocol, TypeVar

from attrs import define, field, frozen

from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock

__all__ = ["ASSIGNORS", "BusyAssignors", "ComputationTimes", "Elsewhere", "LeaderComputation", "in_thread"]

T = TypeVar("T")

_STOOD_STILL_MS: Final = 1_000
"""A process whose timer comes so much too late has stood still: it was stopped, or its machine was paused."""


class Elsewhere(Protocol):
    """Runs a function where it does not hold up the member, such as `in_thread`."""

    async def __call__(self, function: Callable[[], T]) -> T:
        """Run a function, and return its result. If the caller is cancelled, the function may still run."""
        ...


async def in_thread(function: Callable[[], T]) -> T:
    """Run a function on a thread of its own, which does not keep the program from ending, and return its result."""
    result: Future[T] = Future()
    work = copy_context().run
    threading.Thread(
        target=_run, args=(result, lambda: work(function)), name="kafka-groups-task-assignor", daemon=True
    ).start()
    return await asyncio.wrap_future(result)


def _run(result: "Future[T]", function: Callable[[], T]) -> None:
    # The caller may have been cancelled before the thread began.
    if not result.set_running_or_notify_cancel():
        return
    try:
        returned = function()
    except BaseException as error:
        result.set_exception(error)
    else:
        result.set_result(returned)


# --------------------------------------------------------------------------------------- one at a time


@define(eq=False)
class _Computation:
    """One computation with an assignor.

    Attributes:
        assignor: The assignor.
        owner: The one that has asked for it.
        begun_ms: Since when it may be running.
        ended: Is done when it has returned, or will never begin.
        is_given_up: Whether its owner does not wait for it any more.
    """

    assignor: object
    owner: object
    begun_ms: int
    ended: "Future[None]" = field(factory=Future)
    is_given_up: bool = False
    _lock: threading.Lock = field(factory=threading.Lock)
    _has_begun: bool = False
    _is_abandoned: bool = False

    def __attrs_post_init__(self) -> None:
        # Those who wait for the end may be cancelled, which must not cancel it for others.
        self.ended.set_running_or_notify_cancel()

    def begin(self) -> bool:
        """Note that it begins, on its thread. Return False if it was abandoned before."""
        with self._lock:
            self._has_begun = not self._is_abandoned
            return self._has_begun

    def abandon(self) -> bool:
        """Let it not begin any more. Return False if it has begun."""
        with self._lock:
            self._is_abandoned = not self._has_begun
            return self._is_abandoned


class BusyAssignors:
    """The assignors that run in this process. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, _Computation] = {}

    def __repr__(self) -> str:
        return f"<BusyAssignors: {len(self._running)} running>"

    def enter(self, wanted: _Computation) -> _Computation:
        """Reserve an assignor for a computation. Return that, or the one for which it is reserved."""
        with self._lock:
            # By identity: an object of a user's class may have no hash. It lives as long as its computation.
            return self._running.setdefault(id(wanted.assignor), wanted)

    def leave(self, computation: _Computation) -> None:
        """Release the assignor of a computation that has ended, and let those who wait for it continue."""
        with self._lock:
            del self._running[id(computation.assignor)]
        computation.ended.set_result(None)


ASSIGNORS: Final = BusyAssignors()
"""Those of all members in this process, on whatever loops they are."""


# ------------------------------------------------------------------------------------------ one leader


@frozen(kw_only=True)
class ComputationTimes:
    """The times of a leader's computations, in milliseconds.

    Attributes:
        slow_ms: The time after which a warning tells that the assignor is slow (half of `session.timeout.ms`).
        limit_ms: How long it may take (half of `max.poll.interval.ms`).
        pause_ms: How long to wait for one that was given up before another member leads (`retry.backoff.max.ms`).
    """

    slow_ms: int
    limit_ms: int
    pause_ms: int


class LeaderComputation:
    """The computations of one leader.

    Args:
        elsewhere: Runs them off the event loop.
        clock: Time.
        times: How long they may take.
        warn: Takes a warning for the log.
        busy: The assignors that run in this process.
    """

    def __init__(
        self,
        elsewhere: Elsewhere,
        clock: Clock,
        times: ComputationTimes,
        warn: Callable[[str], None],
        busy: BusyAssignors = ASSIGNORS,
    ) -> None:
        self._elsewhere = elsewhere
        self._clock = clock
        self._times = times
        self._warn = warn
        self._busy = busy

    async def run(self, name: str, assignor: object, function: Callable[[], T]) -> T:
        """Run a function that calls an assignor, as soon as it runs nowhere else in this process.

        Args:
            name: The assignor's name, for texts.
            assignor: The assignor.
            function: The function.

        Raises:
            LeadingError: It has not returned in time.
            KafkaGroupsError: It runs for another member of this process, and does not return. Somebody else must lead.
            Exception: Whatever the function raises.
        """
        computation = await self._entered(name, assignor)
        try:
            result = await self._watched(name, computation, self._elsewhere(lambda: self._run(computation, function)))
        finally:
            if computation.abandon():
                self._busy.leave(computation)
        took_ms = self._clock.now_ms() - computation.begun_ms
        if took_ms >= self._times.slow_ms:
            self._warn(f"The task assignor {name} took {took_ms} ms. The group waits for it.")
        return result

    def _run(self, computation: _Computation, function: Callable[[], T]) -> T:
        if not computation.begin():
            raise asyncio.CancelledError
        try:
            return function()
        finally:
            self._busy.leave(computation)

    async def _entered(self, name: str, assignor: object) -> _Computation:
        while True:
            wanted = _Computation(assignor, self, self._clock.now_ms())
            found = self._busy.enter(wanted)
            if found is wanted:
                return wanted
            if found.owner is self:  # for a round that is over
                await self._watched(name, found, asyncio.wrap_future(found.ended))
            elif not await self._has_ended(found):
                ran_ms = self._clock.now_ms() - found.begun_ms
                raise KafkaGroupsError(
                    f"The task assignor {name} has been running in this process for {ran_ms} ms, for another member. "
                    "It does not run twice at a time, so this member cannot lead. Restart the process if it never "
                    "returns."
                )

    async def _has_ended(self, computation: _Computation) -> bool:
        """Wait for a computation of another member, and return whether it has ended in time."""
        until_ms = 0 if computation.is_given_up else computation.begun_ms + self._times.limit_ms
        # A member that is alone in its group would otherwise lead, and fail to, without a pause.
        until_ms = max(until_ms, self._clock.now_ms() + self._times.pause_ms)
        waiting = asyncio.wrap_future(computation.ended)
        try:
            return await self._is_done(waiting, until_ms)
        finally:
            waiting.cancel()

    async def _watched(self, name: str, computation: _Computation, awaited: Awaitable[T]) -> T:
        """Wait for a computation, or for its end. Warn if it is slow, and give it up when its time is over."""
        waiting = asyncio.ensure_future(awaited)
        try:
            # With a long session, the limit may come first.
            is_slow_first = self._times.slow_ms < self._times.limit_ms
            if is_slow_first and not await self._is_done(waiting, computation.begun_ms + self._times.slow_ms):
                self._warn(
                    f"The task assignor {name} has not returned for {self._clock.now_ms() - computation.begun_ms} ms. "
                    f"The group waits for it, at most for {self._times.limit_ms} ms (half of max.poll.interval.ms)."
                )
            if not await self._is_done(waiting, computation.begun_ms + self._times.limit_ms):
                computation.is_given_up = True
                raise LeadingError(
                    f"The task assignor {name} has not returned within {self._times.limit_ms} ms, which is half of "
                    "max.poll.interval.ms. It cannot be stopped, and does not run again in this process until it "
                    "returns. Make it faster, or raise max.poll.interval.ms."
                )
            return waiting.result()
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def _is_done(self, waiting: "asyncio.Future[T]", until_ms: int) -> bool:
        while True:
            left_ms = max(0, until_ms - self._clock.now_ms())
            done, _ = await asyncio.wait([waiting], timeout=left_ms / 1000)
            now_ms = self._clock.now_ms()
            if done or now_ms - until_ms < _STOOD_STILL_MS:
                return bool(done)
            # The process stood still, and the assignor with it. It may return any moment now.
            until_ms = now_ms + _STOOD_STILL_MS
