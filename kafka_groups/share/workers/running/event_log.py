"""The log of a handler: what happened to its records, and why."""

import logging

from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.errors.texts import counted, named, sentences, shown
from kafka_groups.net.rate_limited_log import RateLimitedLog
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.options.retry_option import longest_wait_s
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.failures.signals import (
    AttemptTimeoutError,
    NeverAwaitedError,
    Reject,
    Retry,
)
from kafka_groups.share.workers.rules.failures.verdicts import Decision, OnError
from kafka_groups.share.workers.rules.outbox import EventKind, HandlingEvent
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.types import RecordId

__all__ = ["HandlerLog"]

_LOG = logging.getLogger("kafka_groups.worker")
cut_tracebacks(_LOG)

_MOST_TRACED = 100
"""The most classes of errors that are logged with a traceback, as programs may make classes without end."""

_PROBE = "probe"


class HandlerLog:
    """Logs the events of one handler. Warnings of one kind about one class of errors repeat at growing intervals.

    Args:
        spec: The handler.
        rate_limited_log: Leaves out repeats.
        brokers_topic: Where the brokers copy what is rejected (Kafka 4.4); None if they don't.
    """

    def __init__(self, spec: HandlerSpec, rate_limited_log: RateLimitedLog, brokers_topic: str | None) -> None:
        self._spec = spec
        self._brokers_topic = brokers_topic
        self._log_limited = rate_limited_log
        self._traced: set[type[BaseException]] = set()
        self._has_warned_of_waits = False

    # ------------------------------------------------------------------------------------------ warnings

    def warn(
        self, subject: str, message: str, *arguments: object, kind: str = "", error: BaseException | None = None
    ) -> None:
        """Log a warning, unless one with the same subject, kind and class of error was logged recently.

        Args:
            subject: Identifies repeats of the warning.
            message: The text, with `%s` for the arguments.
            *arguments: The arguments.
            kind: Tells warnings of one subject apart.
            error: What a handler raised. The first of each class is logged with its traceback, unless it is expected.
        """
        trace = None if error is None or not self._is_worth_a_trace(error) else error
        is_logged = self._log_limited.warn(
            _LOG,
            self._subject(subject),
            f"Handler %s: {message}",
            self._spec.name,
            *arguments,
            kind=kind if error is None else f"{kind} {type(error).__qualname__}",
            trace=trace,
        )
        if is_logged and trace is not None:
            self._traced.add(type(trace))

    def _is_worth_a_trace(self, error: BaseException) -> bool:
        if type(error) in self._traced or len(self._traced) >= _MOST_TRACED:
            return False
        # These are expected, and their texts say all: where they were raised tells nothing more.
        return not isinstance(error, (Reject, Retry, AttemptTimeoutError, NeverAwaitedError, *self._spec.outages))

    def settled(self, subject: str) -> None:
        """Note that a problem is solved, so that the next warning about it is logged at once."""
        self._log_limited.settled(self._subject(subject))

    def _subject(self, subject: str) -> str:
        return f"{subject} {self._spec.name}"

    # ------------------------------------------------------------------------------------------ attempts

    def failures(self, result: RunResult) -> None:
        """Log the tracebacks of a run's failures at DEBUG."""
        if not (result.failures or result.failed) or not _LOG.isEnabledFor(logging.DEBUG):
            return
        records = result.run.records
        for each in result.failures:
            place = _text(record_id(records[each.index]))
            _LOG.debug("Handler %s: the attempt for %s failed", self._spec.name, place, exc_info=each.error)
        if result.failed is not None:
            first = _text(record_id(records[0]))
            message = "Handler %s: the attempt for %s from %s on failed"
            _LOG.debug(message, self._spec.name, counted(len(records), "record"), first, exc_info=result.failed)

    # -------------------------------------------------------------------------------------------- events

    def event(self, event: HandlingEvent) -> None:
        """Log an event of the rules."""
        place = "" if event.place is None else _text(event.place)
        if isinstance(event.error, Retry) and event.error.after is not None:
            self._check_wait(event.error.after, place)
        if event.kind is EventKind.BREAKER_OPENED:
            _LOG.error(
                "Handler %s: the breaker is open after failures of different records in a row. One record is tried at"
                " a time until one succeeds; the others are held. Last error: %s",
                self._spec.name,
                _last(event),
            )
        elif event.kind is EventKind.BREAKER_CLOSED:
            self.settled(_PROBE)
            _LOG.info("Handler %s: the breaker is closed, as a record has succeeded.", self._spec.name)
        elif event.kind is EventKind.PROBE_FAILED:
            message = "the breaker stays open, as %s failed: %s"
            self.warn(_PROBE, message, place, _last(event), error=event.error)
        elif event.kind is EventKind.STOPS:
            _LOG.error("Handler %s: the worker stops because of %s: %s", self._spec.name, place, event.text)
        elif event.kind is EventKind.RETRIED:
            self._retried(event, place)
        else:
            self._decided(event, place)

    def _retried(self, event: HandlingEvent, place: str) -> None:
        if event.text:
            message = "%s failed and waits in %s: %s"
            self.warn("retries", message, place, event.text, _last(event), kind="moved", error=event.error)
        else:
            message = "%s failed and is tried again: %s"
            self.warn("retries", message, place, _last(event), error=event.error)

    def _check_wait(self, after_s: float, place: str) -> None:
        """Warn once of a wait that is too long."""
        longest_s = longest_wait_s(self._spec.retry_topics)
        if after_s <= longest_s or self._has_warned_of_waits:
            return
        self._has_warned_of_waits = True
        remedy = (
            "raise Retry again, which uses another retry"
            if self._spec.retry_topics is not None
            else "set retry_topics of the handler, raise Retry again, which uses another retry"
        )
        message = (
            "Handler %s: Retry(after=%s) for %s waits for %g s, the longest wait. Longer waits of other records are"
            f" shortened, too. To wait for more time, {remedy}, or reject the record and send its dead letter again"
            " later"
        )
        _LOG.warning(message, self._spec.name, shown(after_s), place, longest_s)

    def _decided(self, event: HandlingEvent, place: str) -> None:
        decision = event.decision
        if decision is None or decision.on_error is OnError.STOP:  # the event STOPS says more
            return
        if decision.on_error is OnError.HOLD:
            self._holds(decision, place, event.error)
        else:
            fate = self._fate(decision.on_error, place)
            self.warn("gave up", "%s: %s", fate, decision.reason, kind=decision.on_error.value, error=event.error)

    def _fate(self, on_error: OnError, place: str) -> str:
        """Return what happens to a record that is not tried again."""
        if on_error is OnError.ACCEPT:
            return f"accepted {place} in spite of its error"
        if on_error is OnError.RELEASE:
            return f"gave up {place}, which is released"
        if on_error is OnError.DEAD_LETTER and self._spec.dead_letters is not None:
            return f"gave up {place}, which is copied to {self._spec.dead_letters} and rejected"
        if self._brokers_topic is not None:
            return f"gave up {place}, which is rejected, so that the brokers copy it to {self._brokers_topic}"
        return f"gave up {place}, which is rejected for good"

    def _holds(self, decision: Decision, place: str, error: Exception | None) -> None:
        remedy = ""
        if decision.is_by_class:
            why = "as errors of the handler says"
        elif self._spec.exhausted is OnError.HOLD:
            why = "as exhausted of the handler says"
        else:
            why = "because there is no topic for dead letters"
            remedy = "Set dead_letters, exhausted or errors of the handler"
        text = sentences(f"{place} keeps failing and is held, {why}: {decision.reason}", remedy)
        self.warn("holds", "%s", text, kind=why, error=error)

    # --------------------------------------------------------------------------------------------- the end

    def stopping(self, grace_ms: int) -> None:
        """Log that the handler stops."""
        if grace_ms > 0:
            message = "Handler %s: stops. It runs the records in hand for at most %g s, and releases the rest"
            _LOG.info(message, self._spec.name, grace_ms / 1000)
        else:
            _LOG.info("Handler %s: stops at once, and releases the records in hand", self._spec.name)

    def stopped(self, released: int) -> None:
        """Log that the handler has stopped, how many records it has released for that, and what was left out before."""
        self._log_limited.end()
        if released:
            message = "Handler %s: has stopped, and has released %s. Each of them has used a delivery"
            _LOG.warning(message, self._spec.name, counted(released, "record"))
        else:
            _LOG.info("Handler %s: has stopped", self._spec.name)


def _text(place: RecordId) -> str:
    return f"{place[0]}@{place[1]}"


def _last(event: HandlingEvent) -> str:
    """Return the class and the text of the error of an event about a failure, which always has one."""
    return "" if event.error is None else named(event.error)
