"""Decide what happens to a record whose handler raised."""

import enum
import random
from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

from kafka_groups.errors import ClosedError, ConfigurationError, IllegalStateError
from kafka_groups.errors.texts import named, shown
from kafka_groups.share.workers.rules.failures.backoffs import LONGEST_WAIT_IN_PROCESS_S, Backoff
from kafka_groups.share.workers.rules.failures.signals import (
    AttemptTimeoutError,
    HandlerResultError,
    OutputError,
    ParseError,
    Reject,
    Retry,
)

__all__ = ["Again", "Decision", "FailureRules", "OnError", "tells_of_sink"]

_MISUSES = (ConfigurationError, IllegalStateError)
"""The errors of this package for calls that are wrong. A closed client is another case: an outage may have ended it."""


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
        longest_wait_s: The longest wait that the handler may ask for; a longer one is shortened.
    """

    retries: Backoff
    exhausted: OnError
    errors: Mapping[type[Exception], "OnError | Backoff"] = field(factory=lambda: MappingProxyType({}))
    outages: tuple[type[Exception], ...] = ()
    longest_wait_s: float = LONGEST_WAIT_IN_PROCESS_S

    def judge(self, error: Exception) -> Again | Decision:
        """Return what to do with a record whose handler raised this error."""
        # What the handler says itself comes first. It knows the record, and a rule for `Exception` in `errors` must not
        # turn a `Reject` into a retry.
        if isinstance(error, Reject):
            return Decision(OnError.DEAD_LETTER, shown(error.reason))
        if isinstance(error, Retry):
            return Again(self.retries, self._asked_ms(error))
        # The handler has not run, so a rule for its exceptions does not apply, even one for `ValueError`. The value
        # will not be readable the next time, either, so there is no retry.
        # Outputs that cannot be written would not be the next time, either, but are the handler's: a rule may apply.
        if isinstance(error, ParseError) or (isinstance(error, OutputError) and self._rule_of(error) is None):
            return Decision(self.exhausted, str(error))
        # Work that the handler has returned instead of doing it would be missing for every record: the code has to
        # change.
        if isinstance(error, HandlerResultError):
            return Decision(OnError.STOP, str(error))
        # Then the user's rules. They say that the error is the record's fault or that of one of many hosts, so it never
        # counts for the breaker.
        rule = self._rule_of(error)
        if isinstance(rule, OnError):
            return Decision(rule, named(error), is_by_class=True)
        if rule is not None:
            return Again(rule)
        if isinstance(error, _MISUSES) and not isinstance(error, ClosedError):
            return Again(self.retries)  # a mistake of the handler, such as batch.reject(10) of five, is no outage
        # Nobody has said anything about other errors, so they may mean that the sink is down.
        return Again(self.retries, is_counted=not self._is_outage(error), tells_of_sink=True)

    def _asked_ms(self, error: Retry) -> int | None:
        return None if error.after is None else round(1000 * min(error.after, self.longest_wait_s))

    def _rule_of(self, error: Exception) -> "OnError | Backoff | None":
        return next((self.errors[kind] for kind in type(error).__mro__ if kind in self.errors), None)

    def _is_outage(self, error: Exception) -> bool:
        """Return whether the error is the sink's fault. An exceeded timeout is a `TimeoutError`, but not the sink's."""
        if isinstance(error, AttemptTimeoutError):
            return AttemptTimeoutError in self.outages
        return isinstance(error, self.outages)

    def gives_up(self, error: Exception) -> Decision:
        """Return the decision about a record that has used all its retries."""
        reason = shown(error.reason) if isinstance(error, Retry) else named(error)
        return Decision(self.exhausted, reason)
