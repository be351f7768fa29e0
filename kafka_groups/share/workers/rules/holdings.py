"""The records that a handler has in hand and that do not run now, by what they wait for."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.failures.signals import ParseError
from kafka_groups.share.workers.rules.in_hand import FreshRecords, WaitingRecords
from kafka_groups.share.workers.rules.keys import KeyOrder, OrderKeyError
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.lost import LostRecords
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayTurn, deaths_of
from kafka_groups.share.workers.rules.retry_topics.delayed_records import DelayedRecords
from kafka_groups.share.workers.rules.steps import OpenRecord, WritePurpose
from kafka_groups.share.workers.rules.suspects import SuspectRecords
from kafka_groups.types import RecordId

__all__ = ["Holdings"]

R = TypeVar("R")

MOST_DELAYED = 1_000
"""The most records that wait for a retry, a key or a write; with more, nothing is fetched."""


class Holdings(Generic[R]):
    """Everything in hand that waits.

    Args:
        rules: The rules of the handler.

    Attributes:
        fresh: Records of a first delivery, without an order to keep.
        ready: Other records that may run.
        suspects: Records that were delivered before.
        waiting: Records whose attempt failed, until their retry is due.
        copies: Records whose dead letter is due to be written.
        writes: Records for which something else is due to be written: a retry, or outputs.
        keys: Records that wait for others with their key.
        lost: Records whose locks were lost while they ran.
        finished: Redelivered records that this process has processed already: to be accepted.
        halves: Parts of a failed batch, each to run as a batch.
        unordered: Records whose key or retry headers are not known, until they are asked for again.
        early: Records of a topic with a delay, until their time has come.
        forwarded: Those that move to another topic instead of waiting here, until the rules write them.
    """

    def __init__(self, rules: HandlingRules[R]) -> None:
        self._rules = rules
        self.fresh: FreshRecords[R] = FreshRecords()
        self.ready: deque[OpenRecord[R]] = deque()
        self.suspects: SuspectRecords[R] = SuspectRecords(rules.policy)
        self.waiting: WaitingRecords[R] = WaitingRecords()
        self.copies: WaitingRecords[R] = WaitingRecords()
        self.writes: WaitingRecords[R] = WaitingRecords()
        self.keys: KeyOrder[OpenRecord[R]] = KeyOrder()
        self.lost: LostRecords[R] = LostRecords()
        self.finished: list[OpenRecord[R]] = []
        self.halves: deque[list[OpenRecord[R]]] = deque()
        self.unordered: WaitingRecords[R] = WaitingRecords()
        self.early: DelayedRecords[OpenRecord[R]] = DelayedRecords()
        self.forwarded: deque[OpenRecord[R]] = deque()

    @property
    def held(self) -> int:
        """Records that could run now."""
        return len(self.fresh) + len(self.ready) + len(self.suspects) + sum(map(len, self.halves))

    @property
    def delayed(self) -> int:
        """Records that cannot run now."""
        retries, writes = len(self.waiting) + len(self.unordered), len(self.copies) + len(self.writes)
        return retries + writes + len(self.keys) + len(self.early) + len(self.forwarded)

    @property
    def is_full(self) -> bool:
        """True if too many records wait to fetch more."""
        return self.delayed >= MOST_DELAYED

    def failing(self) -> Mapping[str, int]:
        """Count the waiting records by the class of their last error."""
        return Counter(type(opened.error).__name__ for opened in self.waiting)

    # ---------------------------------------------------------------------------------------- arriving

    def arrive(self, records: Sequence[R], counts: Sequence[int], now_ms: int) -> None:
        """Take the records of one delivery, in order of their offsets."""
        # The common case: first deliveries without keys, of which none ran in a process that was killed. Such records
        # get a state of their own only if they fail.
        if self._may_be_fresh and not self.suspects.named and max(counts, default=0) <= 1:
            self.fresh.add(records, len(records))
            return
        fresh: list[R] = []
        suspects: list[OpenRecord[R]] = []
        for record, delivery_count in zip(records, counts, strict=True):
            # A count of 1 does not prove that a record was never delivered: brokers do not keep exact counts (KIP-932,
            # "In-flight records"), as they do not persist an acquisition on its own. A record that is known to have run
            # in a killed process is a suspect anyway.
            if delivery_count <= 1 and self._may_be_fresh and not self._is_named(record):
                fresh.append(record)
            elif (opened := self._entered(record, delivery_count, now_ms)) is not None:
                self._sort_in(opened, suspects, now_ms)
        self.fresh.add(fresh, len(fresh))
        self.suspects.add(suspects)

    def arrive_lazily(self, records: Iterable[R], size: int) -> bool:
        """Take records of a first delivery without reading them. Returns whether that is possible now."""
        if not self._may_be_fresh:
            return False
        self.fresh.add(records, size)
        return True

    @property
    def _may_be_fresh(self) -> bool:
        """True if records of a first delivery need no state of their own."""
        # While a handler runs on without its lock, each arriving record is compared with those that it runs, as its
        # redelivery may have any count. With an order of keys, each record has a place in the queue of its key. In a
        # topic with a delay, each has a time.
        return self._rules.key_of is None and self._rules.delay is None and not self.lost

    def _is_named(self, record: R) -> bool:
        named = self.suspects.named
        return bool(named) and self._rules.record_id(record) in named

    def _entered(self, record: R, delivery_count: int, now_ms: int) -> OpenRecord[R] | None:
        opened = OpenRecord(record, self._rules.record_id(record), delivery_count, due_ms=now_ms)
        # The record is not settled here. It is due at once, so the next step decides about it in the same way as for a
        # record that has been held without a key for a while.
        if not (self._knows_state(opened) and self._knows_key(opened)):
            self.unordered.add(opened)
            return None
        self._note_fetched(opened, now_ms)
        return opened if self._has_turn(opened, now_ms) else None

    def _knows_state(self, opened: OpenRecord[R]) -> bool:
        """Read the retry headers of a record. Returns False, and notes the error, if they are not this handler's."""
        rules, policy = self._rules.delay, self._rules.policy
        opened.deaths = deaths_of(opened.delivery_count, policy, was_running=opened.place in self.suspects.named)
        if rules is None or rules.state_of is None:
            return True
        try:
            opened.state = rules.state_of(opened.record)
        except ValueError as error:
            opened.error = ParseError(error)
            return False
        opened.deaths += 0 if opened.state is None else opened.state.deaths
        return True

    def _note_fetched(self, opened: OpenRecord[R], now_ms: int) -> None:
        """Tell the sizes of fetches whether the delay of a record was over when it came."""
        if (rules := self._rules.delay) is not None:
            is_over = rules.is_over(opened.record, opened.state, self.early.wall_ms(now_ms))
            self.early.fetches.arrived(opened.place[0], is_ready=is_over)

    def _knows_key(self, opened: OpenRecord[R]) -> bool:
        """Ask for the key of a record. Returns False, and notes the error, if the user's function raises."""
        try:
            opened.key = None if self._rules.key_of is None else self._rules.key_of(opened.record)
            # The queues of keys are in a dict. A key that cannot be hashed, such as a list, is the same error of the
            # user's function as an exception.
            hash(opened.key)
        except Exception as error:  # a function of the user's may fail in any way
            opened.key, opened.error = None, OrderKeyError(error)
            return False
        return True

    def _has_turn(self, opened: OpenRecord[R], now_ms: int) -> bool:
        if opened.key is None or self.keys.enters(opened.key, opened):
            return True
        self._copy_aside(opened, now_ms)
        return False

    def orders(self, opened: OpenRecord[R], now_ms: int) -> bool:
        """Ask again for the key of a record that was held without one. Returns whether the key is known now."""
        if not (self._knows_state(opened) and self._knows_key(opened)):
            return False
        if self._has_turn(opened, now_ms):
            self.admit([opened], now_ms)
        return True

    def hold_unordered(self, opened: OpenRecord[R], now_ms: int) -> None:
        """Hold a record whose key is not known until its time."""
        self._copy_aside(opened, now_ms)
        self.unordered.add(opened)

    def _sort_in(self, opened: OpenRecord[R], suspects: list[OpenRecord[R]], now_ms: int) -> None:
        # There are three cases. First, this process has finished the record, but its acceptance did not reach the
        # broker: it is accepted without running again. A count of 1 is taken for a reset of the group's offsets, which
        # asks for a second run. A copy that is due is dropped, as the record has not failed.
        if opened.delivery_count > 1 and self.lost.was_finished(opened.place):
            self.copies.remove(lambda other: other is opened)
            self.finished.append(opened)
        # Second, the handler of its earlier delivery still runs in this process. A second one at the same time would
        # break the promise that a record never has two running handlers in a process.
        elif self.lost.holds_back(opened):
            self._copy_aside(opened, now_ms)
        # Third, it may run, as soon as it is copied or its turn as a suspect has come.
        else:
            self._admit(opened, suspects, now_ms)

    def _is_at_risk(self, opened: OpenRecord[R]) -> bool:
        """Return whether this may be the last delivery of a record, and it is not copied yet."""
        # Without a dead-letter topic of the worker there is nothing to copy to. In a group with a queue of its own, the
        # brokers copy a record when they archive it.
        if self._rules.dead_letter is None or opened.is_copied:
            return False
        return opened.risk_count >= self._rules.policy.copy_from

    def _copy_before(self, opened: OpenRecord[R], now_ms: int) -> None:
        opened.purpose, opened.reason, opened.due_ms = WritePurpose.BEFORE_PROCESSING, "before processing", now_ms
        self.copies.add(opened)

    def _copy_aside(self, opened: OpenRecord[R], now_ms: int) -> None:
        """Copy a record at risk that has to wait. If the process dies, records that wait lose their delivery, too."""
        if self._is_at_risk(opened) and not opened.is_aside:
            opened.is_aside = True
            self._copy_before(opened, now_ms)

    def _admit(self, opened: OpenRecord[R], suspects: list[OpenRecord[R]], now_ms: int) -> None:
        # It must not run before its copy is confirmed, as it may be what ends the process. If the copy was begun while
        # the record waited, it is not written a second time: clearing `is_aside` makes the record go on when it is
        # confirmed.
        if self._is_at_risk(opened):
            if not opened.is_aside:
                self._copy_before(opened, now_ms)
            opened.is_aside = False
        # A redelivered record that waits for its time has most likely waited before, too. It is no suspect until it may
        # run.
        elif self._has_to_wait(opened, now_ms):
            pass
        # One of the records that were delivered before may have ended the process that ran it, so they run apart from
        # others.
        elif self._is_suspect(opened):
            suspects.append(opened)
        else:
            self.ready.append(opened)

    def _has_to_wait(self, opened: OpenRecord[R], now_ms: int) -> bool:
        """Put a record aside whose time has not come. Returns False if it may run."""
        rules = self._rules.delay
        if rules is None:
            return False
        wall_ms = self.early.wall_ms(now_ms)
        verdict = rules.judge(opened.record, opened.state, opened.delivery_count, wall_ms)
        if verdict.turn is DelayTurn.FORWARD:
            self.forwarded.append(opened)
        elif verdict.turn is not DelayTurn.RUN:
            waits_in = opened.place[0] if verdict.turn is DelayTurn.WAIT else None
            self.early.add(opened, verdict.at_ms, waits_in=waits_in)
        return verdict.turn is not DelayTurn.RUN

    def early_due_ms(self, opened: OpenRecord[R]) -> int:
        """Return when the first attempt of an early record is due."""
        rules = self._rules.delay
        assert rules is not None  # noqa: S101 - without them, no record is early
        return rules.due_ms(opened.record, opened.state) - self.early.wall_ahead_ms

    def go_on_early(self, now_ms: int) -> None:
        """Let the records of a topic with a delay go on whose time has come."""
        while (opened := self.early.take_due(now_ms)) is not None:
            self.admit([opened], now_ms)

    def _is_suspect(self, opened: OpenRecord[R]) -> bool:
        return opened.risk_count > 1 or opened.place in self.suspects.named

    def admit(self, several: Sequence[OpenRecord[R]], now_ms: int) -> None:
        """Continue with records that waited for a key, an earlier handler, or their dead letter."""
        suspects: list[OpenRecord[R]] = []
        for opened in several:
            self._sort_in(opened, suspects, now_ms)
        self.suspects.add(suspects)

    def put_back(self, rest: Sequence[OpenRecord[R]]) -> None:
        """Put back what a run did not start, before all others."""
        # A record with an attempt behind it has not ended the process, so it does not need to be kept apart again.
        suspects = [each for each in rest if each.attempts == 0 and self._is_suspect(each)]
        if suspects:
            self.suspects.put_back(suspects)
        self.ready.extendleft(each for each in reversed(rest) if each not in suspects)

    def leave(self, opened: OpenRecord[R], now_ms: int) -> None:
        """Note that a record has ended, so that the next of its key may go on."""
        if opened.key is not None and (following := self.keys.leaves(opened.key)) is not None:
            self.admit([following], now_ms)

    # ---------------------------------------------------------------------------------------- removing

    def remove(self, matches: Callable[[R], bool], now_ms: int) -> list[OpenRecord[R]]:
        """Remove the records that match: their locks are lost, or they are released. Returns those that are gone."""

        def opened_matches(opened: OpenRecord[R]) -> bool:
            return matches(opened.record)

        # These hold no key: fresh records have none, and the others wait for theirs, or it is not known.
        gone = [self.opened(record) for record in self.fresh.remove(matches)]
        gone += self._blocked_gone(opened_matches) + self.unordered.remove(opened_matches)
        # These hold their key, so the next record of it goes on.
        ends = self._ready_gone(opened_matches)
        for part in (self.suspects, self.waiting, self.copies, self.writes, self.early):
            # A record that is copied aside is in two places. It is counted where it waits, and only its copy is removed
            # here.
            ends += (opened for opened in part.remove(opened_matches) if not opened.is_aside)
        ends += filter(opened_matches, self.forwarded)
        self.forwarded = deque(opened for opened in self.forwarded if not opened_matches(opened))
        ends += [opened for opened in self.lost.held_back() if opened_matches(opened) and self.lost.drop(opened)]
        for opened in ends:
            self.leave(opened, now_ms)
        return gone + ends

    def remove_waiting(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        """Remove the records that match, and that wait for a retry or are held without a known key."""
        return [opened for part in (self.waiting, self.unordered) for opened in part.remove(matches)]

    def opened(self, record: R) -> OpenRecord[R]:
        """Return the state of a record of a first delivery."""
        return OpenRecord(record, self._rules.record_id(record), 1)

    def _blocked_gone(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        return [o for o in self.keys.all_blocked() if matches(o) and self.keys.remove(o.key, o)]

    def _ready_gone(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        gone = [opened for opened in (*self.ready, *(o for half in self.halves for o in half)) if matches(opened)]
        if gone:
            self.ready = deque(opened for opened in self.ready if not matches(opened))
            halves = ([opened for opened in half if not matches(opened)] for half in self.halves)
            self.halves = deque(half for half in halves if half)
        return gone

    # ---------------------------------------------------------------------------------------- the window

    def oldest_places(self) -> Iterator[RecordId]:
        """Return places among which are the oldest of each partition."""
        # Fresh records are in the order of their offsets within a delivery, so the first of each is enough. All others
        # may be in any order.
        yield from map(self._rules.record_id, self.fresh.firsts())
        halves = (opened for half in self.halves for opened in half)
        several = (self.ready, self.suspects, self.waiting, self.copies, self.writes, halves)
        blocked = (self.keys.all_blocked(), self.lost.held_back(), self.unordered, self.early, self.forwarded)
        yield from (opened.place for opened in chain.from_iterable((*several, *blocked)))
