"""Acknowledgements and events that the rules of a handler have for its driver."""

import enum
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups.share.workers.rules.failures.verdicts import Decision
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords, OpenRecord
from kafka_groups.types import AcknowledgeType, RecordId

__all__ = ["EventKind", "HandlingEvent", "HandlingOutbox"]

R = TypeVar("R")


class EventKind(enum.Enum):
    """The kinds of events."""

    BREAKER_OPENED = "breaker opened"
    BREAKER_CLOSED = "breaker closed"
    PROBE_FAILED = "probe failed"
    RETRIED = "retried"
    GAVE_UP = "gave up"
    HOLDS = "holds"
    WRITE_FAILED = "copy failed"
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


class HandlingOutbox(Generic[R]):
    """Acknowledgements that the driver has to send, and events that it has to report.

    Args:
        rules: The rules of the handler.
        holdings: The records that wait, among which the next one of a key may go on when a record ends.

    Attributes:
        steps: The acknowledgements that the driver has not taken yet.
        unconfirmed: The number of acknowledgements, taken or not, that no broker has confirmed.
        events: What happened, oldest first. The driver takes them out.
    """

    def __init__(self, rules: HandlingRules[R], holdings: Holdings[R]) -> None:
        self._rules = rules
        self._holdings = holdings
        self.steps: deque[AcknowledgeRecords[R]] = deque()
        self._ended: list[R] = []
        self.unconfirmed = 0
        self.events: deque[HandlingEvent] = deque()

    def settle(
        self, records: Sequence[R], kind: AcknowledgeType, *, is_run: bool = False, has_moved: bool = False
    ) -> None:
        """Acknowledge records, if there are any."""
        if records:
            self.unconfirmed += 1
            self.steps.append(AcknowledgeRecords(records, kind, is_run=is_run, has_moved=has_moved))

    def end(self, opened: OpenRecord[R], kind: AcknowledgeType, now_ms: int, *, has_moved: bool = False) -> None:
        """Acknowledge a record, and let the next one of its key go on."""
        self._settle_one(opened.record, kind, has_moved=has_moved)
        self._holdings.leave(opened, now_ms)

    def _settle_one(self, record: R, kind: AcknowledgeType, *, has_moved: bool) -> None:
        # Records whose writes are confirmed together end one after the other. They share a step as long as the driver
        # has not taken it, so that little is done for each.
        last = self.steps[-1] if self.steps else None
        if last is not None and last.records is self._ended and last.kind is kind and last.has_moved is has_moved:
            self._ended.append(record)
            return
        self._ended = [record]
        self.settle(self._ended, kind, has_moved=has_moved)

    def settled(
        self, settle: AcknowledgeRecords[R], refused: Iterable[R] = (), *, refused_places: Iterable[RecordId] = ()
    ) -> None:
        """Take the result of an acknowledgement.

        Args:
            settle: The step. Its records are not read, so the driver may have dropped them.
            refused: The records that the broker refused. It redelivers them.
            refused_places: More of them, by partition and offset.
        """
        self.unconfirmed -= 1
        places = [*map(self._rules.record_id, refused), *refused_places]
        self.tell_lost(places)
        # The handler has succeeded, although the broker has given the record to someone else. If it comes back to this
        # process, it is accepted without a second run. A record whose RELEASE or REJECT was refused has to run again.
        if settle.kind == AcknowledgeType.ACCEPT:
            for place in places:
                self._holdings.lost.finished(place)

    # ---------------------------------------------------------------------------------------- events

    def tell(
        self,
        kind: EventKind,
        opened: OpenRecord[R] | None = None,
        error: Exception | None = None,
        text: str = "",
        decision: Decision | None = None,
    ) -> None:
        """Report an event, of a record if there is one."""
        place = None if opened is None else opened.place
        self.events.append(HandlingEvent(kind, place, text, error, decision))

    def tell_lost(self, places: Iterable[RecordId]) -> None:
        """Report records whose locks are lost."""
        self.events.extend(HandlingEvent(EventKind.LOST, place) for place in places)
