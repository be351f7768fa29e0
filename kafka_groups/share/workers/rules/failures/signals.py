"""Exceptions with which a handler decides about its record, and those that the worker raises for it."""

from collections.abc import Sequence
from typing import Self

from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.errors.texts import text_of

__all__ = [
    "AttemptCancelledError",
    "AttemptTimeoutError",
    "HandlerResultError",
    "NeverAwaitedError",
    "OutputError",
    "ParseError",
    "Reject",
    "Retry",
    "WorkerStoppedError",
]

_MOST_NAMED = 3


class Reject(Exception):  # noqa: N818 - a decision of the handler, not a failure
    """Raised by a handler: the record is bad, so do not retry it.

    The worker copies it to the dead-letter topic if there is one, and rejects it.

    Args:
        reason: The reason, which the dead letter carries as a header.
    """

    reason: str = "rejected by the handler"  # of subclasses that do not call __init__, too

    def __init__(self, reason: str = "rejected by the handler") -> None:
        super().__init__(reason)
        self.reason = reason


class Retry(Exception):  # noqa: N818 - a decision of the handler, not a failure
    """Raised by a handler: try the record again later. It counts as one of the handler's retries.

    Args:
        reason: The reason, for the log and for a dead letter.
        after: Seconds to wait, at most an hour, and at most a week if the handler has `retry_topics`; None waits as
            `retries` of the handler says. A longer wait is shortened, and the worker warns once.

    Raises:
        ConfigurationError: `after` is not a number of seconds, 0 or more.
    """

    reason: str = "the handler asked for a retry"  # of subclasses that do not call __init__, too
    after: float | None = None

    def __init__(self, reason: str = "the handler asked for a retry", *, after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = None if after is None else _checked_wait(after)


def _checked_wait(after: object) -> float:
    # The negated comparison refuses NaN as well, for which every comparison is false.
    if isinstance(after, bool) or not isinstance(after, int | float) or not after >= 0:
        raise ConfigurationError(f"Retry(after={after!r}): give seconds, 0 or more, or None")
    return after


class ParseError(Exception):
    """The value of a record could not be parsed, so its handler was not called. It is not retried.

    Args:
        error: The error of the deserialiser.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"the value cannot be parsed: {text_of(error)}")
        self.error = error


class OutputError(KafkaGroupsError):
    """A result of a handler cannot be written to its output, so its record has failed.

    The serde of the output or the brokers refuse it, it is for a topic that is not an output of the handler, or it is
    too much: more than 10,000 records or 16 MB for one record. In `errors`, a rule for this class may say what happens.
    Without one, the rule for records that are given up decides at once (`exhausted`), as the handler would return the
    same again.
    """


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


class WorkerStoppedError(Exception):
    """The worker has stopped, and the attempt was cancelled after `shutdown_timeout`. Its record is released."""

    def __init__(self) -> None:
        super().__init__("the attempt was cancelled because the worker has stopped")


class NeverAwaitedError(Exception):
    """A handler has called an `async def` function without `await`, so that its work was not done.

    It counts as a failure.

    Args:
        functions: The names of the functions, with the places of the calls.
    """

    def __init__(self, functions: Sequence[str]) -> None:
        called = ", ".join(functions[:_MOST_NAMED])
        more = f" and {len(functions) - _MOST_NAMED} more" if len(functions) > _MOST_NAMED else ""
        super().__init__(
            f"the handler has not awaited {called}{more}: its work is not done. Write `await` before the call"
        )
        self.functions = functions

    def __reduce__(self) -> tuple[type[Self], tuple[Sequence[str]]]:  # a worker process may send it to its parent
        return type(self), (self.functions,)


class HandlerResultError(KafkaGroupsError):
    """A handler returned work that is not done, such as a coroutine or a generator, or it raised `SystemExit`.

    Or middleware returned the context manager of an earlier attempt, which serves only once. The worker stops, and
    raises this error.
    """
