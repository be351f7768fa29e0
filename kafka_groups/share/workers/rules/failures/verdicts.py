"""Decide what happens to a record whose handler raised."""

import enum
import random
from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.named_errors import named
from kafka_groups.share.workers.rules.failures.signals import (
    AttemptTimeoutError,
    HandlerResultError,
    ParseError,
    Reject,
    Retry,
)

__all__ = ["Again", "Decision", "FailureRules", "OnError", "tells_of_sink"]


class OnError(enum.Enum):
    """The action for a record whose handler raised a certain error, or that failed too often."""

    ACCEPT = "accept"
    """Accept it: the error is harmless."""

    DEAD_LETTER = "dead_letter"
    """Copy it to the dead-letter topic, then reject it."""

    REJECT = "reject"
    """Reject it without a copy: it is gone, unless the group has a dead-letter topic of its own."""

    RELEASE = "release"
    """Release it: the broker redelivers it, to any member, which spends a delivery."""

    HOLD = "hold"
    """Keep it, renew its lock, and retry it at the longest wait until it succeeds."""

    STOP = "stop"
    """Stop the worker, which then raises the error. The record is released."""


@frozen
class Again:
    """Try the record again.

    Attributes:
        backoff: The waits; its `times` limits the retries.
        after_ms: The wait that the handler asked for, or None.
        is_counted: Whether it uses one of the retries.
        tells_of_sink: Whether the failure may mean that the sink is down, so that the breaker counts it.
    """

    backoff: Backoff
    after_ms: int | None = None
    is_counted: bool = True
    tells_of_sink: bool = False

    def wait_ms(self, failures: int, rng: random.Random) -> int:
        """Return how long to wait after this many failures, in ms, unless the handler asked for another wait."""
        return self.backoff.wait_ms(failures, rng) if self.after_ms is None else self.after_ms


@frozen
class Decision:
    """A final decision about a record.

    Attributes:
        on_error: What to do.
        reason: Why, for the dead letter's header and the log.
        is_by_class: Whether the rule for the class of the error has decided, and not that for records given up.
    """

    on_error: OnError
    reason: str
    is_by_class: bool = field(default=False, eq=False, kw_only=True)


def tells_of_sink(judged: Again | Decision | None) -> bool:
    """Return whether a failure that was judged like this may mean that the sink is down."""
    return isinstance(judged, Again) and judged.tells_of_sink


@frozen(kw_only=True)
class FailureRules:
    """The rules of one handler for errors.

    Attributes:
        retries: The waits between attempts.
        errors: Error class → what to do; the nearest class in the error's method resolution order wins.
        outages: Errors that are the sink's fault: they use no retry for an hour. `AttemptTimeoutError` is one only if
            it is named itself.
        exhausted: What happens to a record that failed too often, or whose value cannot be parsed.
    """

    retries: Backoff
    exhausted: OnError
    errors: Mapping[type[Exception], "OnError | Backoff"] = field(factory=lambda: MappingProxyType({}))
    outages: tuple[type[Exception], ...] = ()

    def judge(self, error: Exception) -> Again | Decision:
        """Return what to do with a record whose handler raised this error."""
        if isinstance(error, Reject):
            return Decision(OnError.DEAD_LETTER, error.reason)
        if isinstance(error, Retry):
            return Again(self.retries, error.after_ms)
        if isinstance(error, ParseError):
            return Decision(self.exhausted, str(error))
        if isinstance(error, HandlerResultError):
            return Decision(OnError.STOP, str(error))
        rule = self._rule_of(error)
        if isinstance(rule, OnError):
            return Decision(rule, named(error), is_by_class=True)
        if rule is not None:
            return Again(rule)
        return Again(self.retries, is_counted=not self._is_outage(error), tells_of_sink=True)

    def _rule_of(self, error: Exception) -> "OnError | Backoff | None":
        return next((self.errors[kind] for kind in type(error).__mro__ if kind in self.errors), None)

    def _is_outage(self, error: Exception) -> bool:
        """Return whether the error is the sink's fault. An exceeded timeout is a `TimeoutError`, but not the sink's."""
        if isinstance(error, AttemptTimeoutError):
            return AttemptTimeoutError in self.outages
        return isinstance(error, self.outages)

    def gives_up(self, error: Exception) -> Decision:
        """Return the decision about a record that has used all its retries."""
        reason = error.reason if isinstance(error, Retry) else named(error)
        return Decision(self.exhausted, reason)
