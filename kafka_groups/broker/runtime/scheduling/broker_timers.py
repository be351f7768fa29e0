"""The timers of one broker, which end with it."""

import asyncio
import logging
from collections.abc import Callable

from kafka_groups.errors.log_tracebacks import cut_tracebacks

__all__ = ["BrokerTimers"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)


class BrokerTimers:
    """Calls functions later.

    Args:
        on_failure: Called with an error that such a function raised.
    """

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self._timers: dict[asyncio.TimerHandle, None] = {}
        self._has_stopped = False

    def __len__(self) -> int:
        """Number of functions that are still to be called."""
        return len(self._timers)

    def later(self, delay_ms: int, call: Callable[[], None]) -> None:
        """Call a function after so many milliseconds, unless the broker has stopped by then."""
        if self._has_stopped:
            return
        timer: asyncio.TimerHandle

        def fire() -> None:
            del self._timers[timer]
            try:
                call()
            except Exception as error:  # a bug, which the loop would only log; the test or program learns of it
                _log.exception("a timer of a broker failed")
                self._on_failure(error)

        timer = asyncio.get_running_loop().call_later(delay_ms / 1000, fire)
        self._timers[timer] = None

    def stop(self) -> None:
        """Call nothing any more."""
        self._has_stopped = True
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
