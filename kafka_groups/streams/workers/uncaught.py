"""Errors that end a worker: the application's handler decides what happens, within limits."""

import logging
from collections.abc import Callable

from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.tasks.error_context import UncaughtErrorResponse
from kafka_groups.streams.workers.replacing import Replacements

__all__ = ["UncaughtErrors"]

_log = logging.getLogger(__name__)


class UncaughtErrors:
    """Asks the handler about the errors of one worker.

    Args:
        handler: Gets the error, and returns an `UncaughtErrorResponse`. None: every error shuts the client down.
        replacements: Limits how often the worker is replaced.
        clock: Tells the time between the errors.
    """

    def __init__(
        self,
        handler: Callable[..., object] | None,
        replacements: Replacements | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._handler = handler
        self._replacements = replacements or Replacements()
        self._clock = clock or SystemClock()

    def __repr__(self) -> str:
        return f"<UncaughtErrors for {self._handler!r}, {self._replacements!r}>"

    def response(self, error: Exception) -> UncaughtErrorResponse:
        """Return what the handler says about an error that has ended the worker.

        Raises:
            StreamsError: The handler raised an exception, or returned something else.
        """
        if self._handler is None:
            return UncaughtErrorResponse.SHUTDOWN_CLIENT
        try:
            response = self._handler(error)
        except Exception as failure:
            _log.exception("uncaught_exception_handler failed")
            raise StreamsError(
                f"uncaught_exception_handler raised {failure!r}, when it was asked about this error: {error}"
            ) from error
        if not isinstance(response, UncaughtErrorResponse):
            raise StreamsError(
                f"uncaught_exception_handler returned {response!r}, when it was asked about this error: {error}. "
                "Return a member of UncaughtErrorResponse."
            ) from error
        return response

    def replacement_wait_ms(self, error: Exception) -> int:
        """Return how long to wait before the worker is replaced, in ms.

        Raises:
            StreamsError: The worker has failed too often.
        """
        now_ms = self._clock.now_ms()
        start_ms = self._replacements.died(now_ms)
        if start_ms is None:
            raise StreamsError(f"The worker failed again and again and is not replaced any more: {error}") from error
        return start_ms - now_ms
