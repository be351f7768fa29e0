"""Let the handlers of a driver do what they can do at a time, and let time pass."""

from collections.abc import Callable, Sequence

from kafka_groups.errors import IllegalStateError
from kafka_groups.net.clock import Clock
from kafka_groups.share.workers.rules.failures.signals import HandlerResultError
from kafka_groups.testing.worker_driver.handler import DrivenHandler
from kafka_groups.testing.worker_driver.handler_loop import HandlerLoop

__all__ = ["WorkerTurns"]


class WorkerTurns:
    """The handlers of a driver in virtual time.

    Args:
        handlers: The handlers.
        loop: The loop of asynchronous handlers, which has the time.
        clock: The same time.

    Attributes:
        is_turning: Whether handlers run, so that a call comes from one of them.
        is_stopped: Whether the worker has stopped.
        stopped_by: The error for which a rule stopped it, or None.
    """

    def __init__(self, handlers: Sequence[DrivenHandler], loop: HandlerLoop, clock: Clock) -> None:
        self._handlers = handlers
        self._loop = loop
        self._clock = clock
        self.is_turning = self.is_stopped = False
        self.stopped_by: Exception | None = None

    def check_in_test(self, name: str) -> None:
        """Refuse the call of a method by a handler.

        Raises:
            IllegalStateError: Handlers run.
        """
        if self.is_turning:
            error = IllegalStateError(f"a handler called {name}() of the driver that runs it: call it from the test")
            self._loop.refused.append(error)
            raise error

    def raise_refused(self) -> None:
        """Raise the error of a handler that did what does not exist here, or returned work that is not done."""
        if self._loop.refused:
            raise self._loop.refused.pop(0)
        if isinstance(self.stopped_by, HandlerResultError):
            raise self.stopped_by

    # ---------------------------------------------------------------------------------------- one time

    def turn(self) -> None:
        """Do everything that can be done at this time."""
        for handler in self._handlers:
            handler.begin_turn()
        self.is_turning = True
        try:
            while self._pass():
                pass
        finally:
            self.is_turning = False
        self.raise_refused()

    def _pass(self) -> bool:
        now_ms = self._clock.now_ms()
        for handler in self._handlers:
            handler.look(now_ms)
        has_worked = self._loop.run_ready()
        for handler in self._handlers:
            has_worked |= handler.step(now_ms)
        self._follow_stop(now_ms)
        return self._loop.run_ready() or has_worked

    def _follow_stop(self, now_ms: int) -> None:
        """Stop all handlers if a rule of one stops the worker."""
        if self.stopped_by is not None:
            return
        errors = (handler.handling.outcomes.stopped_by for handler in self._handlers)
        self.stopped_by = next((error for error in errors if error is not None), None)
        if self.stopped_by is not None:
            self._begin_stop(now_ms, now_ms)

    def _begin_stop(self, now_ms: int, until_ms: int) -> None:
        self.is_stopped = True
        for handler in self._handlers:
            handler.stop(now_ms, until_ms)

    # --------------------------------------------------------------------------------------- later times

    def advance(self, seconds: float) -> None:
        """Let time pass, and do everything that is due."""
        end_s = self._loop.time() + seconds
        self.turn()
        self._run_until(end_s, lambda: False)
        self._loop.move_to(end_s)
        self.turn()

    def stop(self, grace_ms: int) -> None:
        """Run the held records for at most `grace_ms`, and release the rest."""
        now_ms = self._clock.now_ms()
        until_ms = now_ms + grace_ms
        self._begin_stop(now_ms, until_ms)
        self.turn()
        self._run_until(until_ms / 1000, self._is_done)
        if not self._is_done():
            self._loop.move_to(until_ms / 1000)
            self.turn()

    def _is_done(self) -> bool:
        return all(handler.handling.is_done for handler in self._handlers)

    def _run_until(self, end_s: float, is_done: Callable[[], bool]) -> None:
        while not is_done() and (next_s := self._next_s()) is not None and next_s <= end_s:
            self._loop.move_to(next_s)
            self.turn()

    def _next_s(self) -> float | None:
        now_ms = self._clock.now_ms()
        due_ms = [handler.next_ms(now_ms) for handler in self._handlers]
        times = [time_ms / 1000 for time_ms in due_ms if time_ms is not None]
        timer_s = self._loop.next_timer_s
        return min([*times, timer_s] if timer_s is not None else times, default=None)
