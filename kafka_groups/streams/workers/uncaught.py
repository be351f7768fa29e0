"""Errors that end a worker: the application's handler decides what happens, within limits."""

import logging
from collections.abc import Callable
from functools import partial

from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.errors.texts import named, represented, sentences
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.processes.slot import RestartRule
from kafka_groups.streams.errors import StreamsError, reason_of
from kafka_groups.streams.tasks.error_context import UncaughtErrorResponse

__all__ = ["UncaughtErrors", "worker_restarts"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

worker_restarts = partial(RestartRule, first_wait_ms=200, most_deaths=5)
"""The rule for workers that fail, and for worker processes that die: the sixth death in ten minutes ends all."""


class UncaughtErrors:
    """Asks the handler about the errors of one worker.

    Args:
        handler: Gets the error, and returns an `UncaughtErrorResponse`. None: every error shuts the client down.
        restarts: Limits how often the worker is replaced.
        clock: Tells the time between the errors.
    """

    def __init__(
        self,
        handler: Callable[..., object] | None,
        restarts: RestartRule | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._handler = handler
        self._restarts = restarts or worker_restarts()
        self._clock = clock or SystemClock()

    def __repr__(self) -> str:
        return f"<UncaughtErrors for {self._handler!r}, {self._restarts!r}>"

    def response(self, error: Exception) -> UncaughtErrorResponse:
        """Return what the handler says about an error that has ended the worker.

        Raises:
            StreamsError: The handler raised an exception, or returned something else.
        """
        if self._handler is None:
            return UncaughtErrorResponse.SHUTDOWN_CLIENT
        try:
            response = self._handler(error)
        except Exception as failure:  # the user's handler may raise anything; without an answer the application ends
            _log.exception("uncaught_exception_handler failed")
            text = f"uncaught_exception_handler failed: {named(failure)}"
            raise StreamsError(sentences(text, f"It was asked about {reason_of(error)}")) from error
        if not isinstance(response, UncaughtErrorResponse):
            text = (
                f"uncaught_exception_handler returned {represented(response)}. Return a member of "
                "UncaughtErrorResponse."
            )
            raise StreamsError(sentences(text, f"It was asked about {reason_of(error)}")) from error
        return response

    def replacement_wait_ms(self, error: Exception) -> int:
        """Return how long to wait before the worker is replaced, in ms.

        Raises:
            StreamsError: The worker has failed too often.
        """
        now_ms = self._clock.now_ms()
        start_ms = self._restarts.died(now_ms)
        if start_ms is None:
            raise StreamsError(
                f"The worker failed again and again and is not replaced any more: {reason_of(error)}"
            ) from error
        return start_ms - now_ms
