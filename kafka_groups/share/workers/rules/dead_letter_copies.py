"""Dead letters of a handler: which record is copied next, and what follows its copy."""

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.failures.outages import Waits
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.outbox import EventKind, HandlingOutbox
from kafka_groups.share.workers.rules.steps import OpenRecord, WriteDeadLetter
from kafka_groups.types import AcknowledgeType, RecordId

__all__ = ["DeadLetterCopies"]

R = TypeVar("R")

# A copy is written while its record is locked, so another try costs no delivery, as with probes.
_COPY_WAITS = Waits.of_tries_in_hand(30_000)


class DeadLetterCopies(Generic[R]):
    """Copies records to the topic for dead letters: when they are given up, or before their last deliveries run.

    A copy that fails is tried again later.

    Args:
        rules: The rules of the handler.
        holdings: The records that wait, also for their copy.
        outbox: Gets the records that end.
        rng: For the jitter of waits.
    """

    def __init__(
        self, rules: HandlingRules[R], holdings: Holdings[R], outbox: HandlingOutbox[R], rng: random.Random
    ) -> None:
        self._rules = rules
        self._holdings = holdings
        self._outbox = outbox
        self._rng = rng
        self._under_way: dict[RecordId, OpenRecord[R]] = {}

    def __iter__(self) -> Iterator[OpenRecord[R]]:
        """Iterate over the records whose dead letters are not confirmed, in no order."""
        return chain(self._holdings.copies, self._under_way.values())

    @property
    def under_way(self) -> Iterable[RecordId]:
        """The places of the records whose copies are being written."""
        return self._under_way

    @property
    def has_records_at_risk(self) -> bool:
        """True while records on one of their last deliveries are being copied for the first time.

        A copy that has failed holds up nothing: the topic for dead letters may be unavailable for long.
        """
        if not self._under_way and not self._holdings.copies:
            return False
        return any(each.is_before and not each.failed_copies for each in self)

    # ---------------------------------------------------------------------------------------- copying

    def write_dead_letter(self, opened: OpenRecord[R], reason: str, now_ms: int) -> None:
        """Reject a record once its dead letter is confirmed."""
        # There are two cases without a copy. One was written before the record was processed. Or the worker has no
        # topic for copies: the brokers copy what is rejected if the group has a queue of its own.
        if opened.is_copied or not self._rules.copies:
            self._outbox.end(opened, AcknowledgeType.REJECT, now_ms)
            return
        # Otherwise the copy comes first and the rejection when it is confirmed: a record that is rejected before would
        # be lost if the write failed or the process ended.
        opened.reason, opened.is_before, opened.due_ms = reason, False, now_ms
        self._holdings.copies.add(opened)

    def next(self, now_ms: int) -> WriteDeadLetter[R] | None:
        """Return the next copy to write; None if none is due."""
        due = self._holdings.copies.take_due(now_ms)
        if due is None:
            return None
        self._under_way[due.place] = due
        return WriteDeadLetter(due)

    def copied(self, copy: WriteDeadLetter[R], error: Exception | None, now_ms: int) -> None:
        """Take the result of writing a dead letter."""
        opened = copy.opened
        if self._under_way.get(opened.place) is not opened:
            return  # its lock was lost during the write, and it may have been redelivered
        del self._under_way[opened.place]
        if error is None:
            opened.is_copied = True
            self._go_on(opened, now_ms)
            return
        # Without its copy, the record is neither run nor rejected. It stays locked, and the handler is not ready
        # meanwhile.
        self._outbox.tell(EventKind.COPY_FAILED, opened, error)
        opened.failed_copies += 1
        opened.due_ms = now_ms + _COPY_WAITS.after(opened.failed_copies, self._rng)
        self._holdings.copies.add(opened)

    def _go_on(self, opened: OpenRecord[R], now_ms: int) -> None:
        # There are three cases. A record that waits for its key or its earlier handler goes on waiting, now with a
        # copy. One that was copied before processing may run. One that was given up is rejected.
        if opened.is_aside:
            opened.is_before = opened.is_aside = False
        elif opened.is_before:
            opened.is_before = False
            self._holdings.admit([opened], now_ms)
        else:
            self._outbox.end(opened, AcknowledgeType.REJECT, now_ms)

    # ---------------------------------------------------------------------------------------- forgetting

    def forget(self, opened: OpenRecord[R]) -> None:
        """Forget the copy of a record that has ended, if one is being written."""
        if self._under_way.get(opened.place) is opened:
            del self._under_way[opened.place]

    def lose(self, matches: Callable[[R], bool], now_ms: int) -> list[RecordId]:
        """Forget the records that match and whose copies are being written. Returns their places."""
        # The write cannot be stopped. Its result is ignored (see `copied`), since the record may be redelivered, and
        # the process that gets it then has to wait for a copy of its own.
        gone = [each for each in self._under_way.values() if matches(each.record)]
        for opened in gone:
            del self._under_way[opened.place]
            self._holdings.leave(opened, now_ms)
        return [opened.place for opened in gone]

    def lose_aside(self, matches: Callable[[R], bool]) -> None:
        """Forget the copies that are being written of records that match and wait for something else, too."""
        for opened in [each for each in self._under_way.values() if each.is_aside and matches(each.record)]:
            del self._under_way[opened.place]
