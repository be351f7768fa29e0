"""Events of the rules, for the driver's log and figures."""

import enum

from attrs import frozen

from kafka_groups.share.workers.rules.failures.verdicts import Decision
from kafka_groups.types import RecordId

__all__ = ["EventKind", "HandlingEvent"]


class EventKind(enum.Enum):
    """The kinds of events."""

    BREAKER_OPENED = "breaker opened"
    BREAKER_CLOSED = "breaker closed"
    PROBE_FAILED = "probe failed"
    RETRIED = "retried"
    GAVE_UP = "gave up"
    HOLDS = "holds"
    COPY_FAILED = "copy failed"
    STOPS = "stops"
    LOST = "lost"


@frozen
class HandlingEvent:
    """Something that a log or a counter should show.

    Attributes:
        kind: What happened.
        place: The record, or None.
        text: The reason.
        error: The error behind it, or None.
        decision: What was decided about the record, or None.
    """

    kind: EventKind
    place: RecordId | None = None
    text: str = ""
    error: Exception | None = None
    decision: Decision | None = None
