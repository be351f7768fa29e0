"""The result of a run, and the errors of handlers that return undone work, or raise what is not an `Exception`."""

import asyncio
import reprlib
import threading
from collections.abc import Sequence
from typing import Any

from attrs import field, frozen

from kafka_groups.errors.texts import text_of
from kafka_groups.functions import undone_work
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.failures.signals import AttemptCancelledError, HandlerResultError
from kafka_groups.share.workers.rules.runs import NO_OUTPUTS, Outputs
from kafka_groups.share.workers.rules.steps import FailedRecord, InvokeHandler

__all__ = ["RunResult", "check_done", "handler_cancelled", "handler_exit"]


@frozen(eq=False)
class RunResult:
    """The result of a run.

    Attributes:
        run: The run.
        failures: The records whose attempts failed.
        failed: The error of a whole batch, or None.
        busy_s: How long it took, in seconds.
        outputs: What to write for the records at these positions before they are accepted.
    """

    run: InvokeHandler[AnyRecord]
    failures: Sequence[FailedRecord[AnyRecord]] = ()
    failed: Exception | None = None
    busy_s: float = field(default=0.0, kw_only=True)
    outputs: Outputs = field(default=NO_OUTPUTS, kw_only=True)


def check_done(result: Any) -> None:
    """Refuse a result that is work which nobody will do.

    Raises:
        HandlerResultError: It is a coroutine, another awaitable, a generator or another iterator, or a future.
    """
    if (problem := undone_work(result)) is not None:
        raise HandlerResultError(
            f"the handler returned {reprlib.repr(result)}{problem}: its record would be accepted although the work is"
            " not done. Return when the work is done"
        )


def handler_exit(error: BaseException) -> HandlerResultError:
    """Return the error for a handler that raised an exception that ends programs. It stops the worker.

    The record is not lost: the thread of a slot reports it instead of ending silently. Ctrl-C in the main
    thread is not the handler's, and is raised.
    """
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        raise error
    stop = HandlerResultError(f"the handler raised {type(error).__name__}, which ends programs: {text_of(error)}")
    stop.__cause__ = error
    return stop


def handler_cancelled(error: asyncio.CancelledError) -> AttemptCancelledError:
    """Return the error for a handler that raised CancelledError by itself. Its record failed; the worker continues."""
    failed = AttemptCancelledError(
        "the handler raised CancelledError, but the worker did not cancel it: something that the handler waited for was"
        " cancelled, such as a task that it shares with others"
    )
    failed.__cause__ = error
    return failed
