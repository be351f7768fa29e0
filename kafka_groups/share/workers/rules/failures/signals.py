"""Exceptions with which a handler decides about its record, and those that the worker raises for it."""

from typing import Self

from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.share.workers.rules.failures.named_errors import text_of

__all__ = ["AttemptCancelledError", "AttemptTimeoutError", "HandlerResultError", "ParseError", "Reject", "Retry"]

_LONGEST_RETRY_S = 3_600.0


class Reject(Exception):  # noqa: N818 - a decision of the handler, not a failure
    """Raised by a handler: the record is bad, so do not retry it.

    The worker copies it to the dead-letter topic if there is one, and rejects it.

    Args:
        reason: The reason, which the dead letter carries as a header.
    """

    def __init__(self, reason: str = "rejected by the handler") -> None:
        super().__init__(reason)
        self.reason = reason


class Retry(Exception):  # noqa: N818 - a decision of the handler, not a failure
    """Raised by a handler: try the record again later. It counts as one of the handler's retries.

    Args:
        reason: The reason, for the log and for a dead letter.
        after: Seconds to wait, at most an hour; None waits as `retries` of the handler says.

    Raises:
        ConfigurationError: `after` is not a number of seconds from 0 to 3600.
    """

    def __init__(self, reason: str = "the handler asked for a retry", *, after: float | None = None) -> None:
        if after is not None and not 0 <= after <= _LONGEST_RETRY_S:
            raise ConfigurationError(f"Retry(after={after!r}): give 0 to {_LONGEST_RETRY_S:.0f} seconds, or None")
        super().__init__(reason)
        self.reason = reason
        self.after_ms = None if after is None else round(after * 1000)


class ParseError(Exception):
    """The value of a record could not be parsed, so its handler was not called. It is not retried.

    Args:
        error: The error of the deserialiser.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"the value cannot be parsed: {text_of(error)}")
        self.error = error


class AttemptTimeoutError(TimeoutError):
    """An attempt of an `async def` handler took longer than the handler's `timeout`, and was cancelled.

    It counts as a failure. In `errors`, rules for this class and for `TimeoutError` match it. In `outages`, only this
    class does: by default an exceeded `timeout` is not the fault of another system, and it uses a retry.

    Args:
        seconds: The timeout.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the attempt took longer than timeout={seconds:g} s and was cancelled")
        self.seconds = seconds

    def __reduce__(self) -> tuple[type[Self], tuple[float]]:  # a worker process may send it to its parent
        return type(self), (self.seconds,)


class AttemptCancelledError(Exception):
    """A handler raised `asyncio.CancelledError`, although the worker did not cancel the attempt.

    Something that the handler waited for was cancelled, such as a task that it shares with others. It counts as a
    failure.
    """


class HandlerResultError(KafkaGroupsError):
    """A handler returned work that is not done, such as a coroutine or a generator, or it raised `SystemExit`.

    The worker stops, and raises this error.
    """
