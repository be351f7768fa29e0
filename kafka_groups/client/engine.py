"""The main loop of a client: it asks request managers what to send, sends it, and passes the responses back.

It runs as callbacks on an event loop, not as a task, so every response starts a turn directly, without a task switch.
The timer is set to the earliest time that a manager named.
"""

import asyncio
from collections.abc import Callable, Sequence

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.loggers import REQUESTS_LOG
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, RequestManager
from kafka_groups.client.router import Router
from kafka_groups.errors import ClientFailureError, KafkaGroupsError
from kafka_groups.errors.texts import named
from kafka_groups.net.clock import Clock
from kafka_groups.net.loop_clock import LoopClock

__all__ = ["ClientEngine"]


class ClientEngine:
    """Drives request managers on one event loop.

    Args:
        managers: The request managers, in the order in which each turn asks them.
        router: Sends requests to the brokers.
        clock: The clock. Each turn reads it once. A `LoopClock` hears at its pulse that the event loop runs.
        errors: Receives errors that no caller is waiting for.
        on_turn: Called after every turn, to wake callers whose condition now holds.
    """

    def __init__(
        self,
        managers: Sequence[RequestManager],
        router: Router,
        clock: Clock,
        *,
        errors: BackgroundErrors,
        on_turn: Callable[[], None],
    ) -> None:
        self._managers = tuple(managers)
        self._router = router
        self._clock = clock
        self._loop_clock = clock if isinstance(clock, LoopClock) else None
        self._longest_wait_ms = NEVER_MS if self._loop_clock is None else self._loop_clock.pulse_ms
        self._errors = errors
        self._on_turn = on_turn
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._in_turn = False
        self._again = False

    @property
    def is_running(self) -> bool:
        """True if the engine was started and not stopped."""
        return self._loop is not None

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop of the engine, or None while it is not running."""
        return self._loop

    def start(self) -> None:
        """Start on the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._note_that_loop_runs()
        self.turn()

    async def stop(self) -> None:
        """Stop sending and close all connections."""
        self._loop = None
        self._cancel_timer()
        await self._router.close()

    def turn(self) -> None:
        """Ask every manager what to send. Call this on the event loop after any change.

        Synchronous code that blocks the loop may call it, too, on the loop's thread: requests are written to the
        sockets at once, as far as their buffers have room. Responses are read, and connections opened, once the loop
        runs again.
        """
        # A manager that is being asked may cause another turn, by a callback. It comes after this one, because managers
        # are not made to be asked while they answer.
        if self._in_turn:
            self._again = True
            return
        if self._loop is None:
            return
        self._in_turn = True
        try:
            self._set_timer(self._turn_until_quiet())
        except Exception as error:  # a bug in a manager: without an end, the client would stand still in silence
            self._broken(error)
        finally:
            self._in_turn = False
        self._on_turn()

    def _turn_until_quiet(self) -> int:
        while True:
            self._again = False
            wait_ms = self._poll_managers(self._clock.now_ms())
            if not self._again:
                return wait_ms

    def _poll_managers(self, now_ms: int) -> int:
        if self._router.refusal is not None:
            self._errors.report_fatal(self._router.refusal)
        self._report_unreachable(now_ms)
        wait_ms = NEVER_MS
        for manager in self._managers:
            result = manager.poll(now_ms)
            wait_ms = min(wait_ms, result.wait_ms)
            for request in result.requests:
                self._send(manager, request)
        remaining_ms = self._router.reachability.remaining_ms(now_ms)  # last, as sending begins the first attempt
        return wait_ms if remaining_ms is None else min(wait_ms, remaining_ms)

    def _send(self, manager: RequestManager, request: OutgoingRequest) -> None:
        self._router.send(
            request,
            lambda answer: self._answered(manager, request, answer),
            lambda error: self._failed(manager, request, error),
        )

    def _answered(self, manager: RequestManager, request: OutgoingRequest, answer: ClientResponse) -> None:
        try:
            manager.on_response(request, answer, self._clock.now_ms())
        except Exception as error:  # a bug in a manager: without an end, the client would stand still in silence
            self._broken(error)
        self.turn()

    def _failed(self, manager: RequestManager, request: OutgoingRequest, failure: Exception) -> None:
        REQUESTS_LOG.debug("%s failed: %s", request.api.name, failure)
        try:
            # All errors of brokers and networks are KafkaGroupsErrors. Anything else is a bug, and ends the client
            # below.
            if not isinstance(failure, KafkaGroupsError):
                raise failure
            manager.on_failure(request, failure, self._clock.now_ms())
        except Exception as error:  # a bug in a manager: without an end, the client would stand still in silence
            self._broken(error)
        self.turn()

    def _broken(self, error: Exception) -> None:
        REQUESTS_LOG.error("The client failed because of a bug in kafka_groups and cannot continue", exc_info=error)
        fatal = ClientFailureError(
            f"The client failed because of a bug in kafka_groups and cannot continue: {named(error)}"
        )
        fatal.__cause__ = error
        self._errors.report_fatal(fatal)

    def _report_unreachable(self, now_ms: int) -> None:
        if self._router.reachability.may_report:
            error = self._router.take_error(now_ms)
            if error is not None:
                self._errors.report(error)

    def _set_timer(self, wait_ms: int) -> None:
        """Make sure that the next turn starts after this time at the latest. An early turn does no harm.

        A timer that is early enough therefore stays as it is, and most turns set no timer.
        """
        wait_ms = min(wait_ms, self._longest_wait_ms)
        if self._loop is None or wait_ms >= NEVER_MS:
            return
        when_s = self._loop.time() + wait_ms / 1000
        if self._timer is None or self._timer.when() > when_s:
            self._cancel_timer()
            self._timer = self._loop.call_at(when_s, self._time_for_turn)

    def _time_for_turn(self) -> None:
        self._timer = None
        self._note_that_loop_runs()
        self.turn()

    def _note_that_loop_runs(self) -> None:
        if self._loop_clock is not None:
            self._loop_clock.loop_runs()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
