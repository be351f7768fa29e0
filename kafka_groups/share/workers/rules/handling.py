"""The rules of a handler worker for the records in hand, without I/O.

A record that arrives is held until a slot is free, runs, and is settled. If its handler raises, it waits for a retry,
or it is given up: copied to the dead-letter topic and rejected. All that time the consumer renews its lock. The driver
asks for the next step, does it, and reports the result.
"""

import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.choosing import RunChoice
from kafka_groups.share.workers.rules.events import EventKind, HandlingEvent
from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.failures.outages import Outage, Waits
from kafka_groups.share.workers.rules.failures.stops import WorkerStoppedError
from kafka_groups.share.workers.rules.failures.verdicts import Again, Decision, OnError, tells_of_sink
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.pace import HandlerPace
from kafka_groups.share.workers.rules.steps import (
    CopyLetters,
    FailedRecord,
    OpenRecord,
    RecordRun,
    SettleRecords,
    WorkerStep,
)
from kafka_groups.share.workers.rules.window import NOT_READY_AT, FullWindow, RecordWindows
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition

__all__ = ["RecordHandling"]

R = TypeVar("R")

MOST_DELAYED = 1_000
"""The most records that wait for a retry, a key or a dead letter; with more, nothing is fetched."""
_SHARE_OF_WINDOWS = 4
"""The buffer takes this part of the partitions' windows, which hold running and unconfirmed records, too."""
_SLOW_RUN_MS = 20
"""A run that takes longer gives back the records that it has not started."""
_OUTAGE_MS = 3_600_000
"""For this long after a record's first failure, errors of the sink use none of its retries."""
_LONGEST_PROBE_WAIT_MS = 30_000
_COPY_WAITS = Waits.of_tries_in_hand(30_000)

_KINDS = {
    OnError.ACCEPT: AcknowledgeType.ACCEPT,
    OnError.REJECT: AcknowledgeType.REJECT,
    OnError.RELEASE: AcknowledgeType.RELEASE,
    OnError.STOP: AcknowledgeType.RELEASE,
}


class RecordHandling(Generic[R]):
    """The state of one handler: the records that it has in hand, and what to do with them next.

    Args:
        rules: The rules of the handler.
        rng: For the jitter of waits.

    Attributes:
        breaker: Whether the sink is considered down.
        windows: How much of each partition's window is in use.
        pace: The measured pace of the handler.
        events: What happened, oldest first. The driver takes them out.
        stopped_by: The error for which a rule stops the worker; None otherwise.
    """

    def __init__(self, rules: HandlingRules[R], rng: random.Random) -> None:
        self._rules = rules
        self._rng = rng
        self.breaker = Breaker(Outage(Waits.of_tries_in_hand(_LONGEST_PROBE_WAIT_MS), rng))
        self.windows = RecordWindows(rules.record_locks)
        self.pace = HandlerPace()
        self.events: deque[HandlingEvent] = deque()
        self.stopped_by: Exception | None = None
        self._holdings: Holdings[R] = Holdings(rules)
        self._choice = RunChoice(rules, self._holdings, self.breaker, self.pace)
        self._runs: dict[RecordRun[R], int] = {}
        self._steps: deque[SettleRecords[R]] = deque()
        self._settling = 0
        self._copying: dict[RecordId, OpenRecord[R]] = {}
        self._stop_ms: int | None = None
        self._asked_ms = -1

    # ---------------------------------------------------------------------------------------- fetching

    def arrived(
        self, partition: TopicIdPartition, records: Sequence[R], counts: Sequence[int], last_offset: int, now_ms: int
    ) -> None:
        """Take the records of one delivery.

        Args:
            partition: Their partition.
            records: The records, by offset.
            counts: The delivery count of each.
            last_offset: The last offset acquired, with or without a record.
            now_ms: The time.
        """
        self.windows.acquired(partition, last_offset)
        self._forget_earlier(records, counts, now_ms)
        self._holdings.arrive(records, counts, now_ms)
        if self._is_over(now_ms):
            self._release_held(now_ms)

    def _forget_earlier(self, records: Sequence[R], counts: Sequence[int], now_ms: int) -> None:
        """Forget earlier deliveries of redelivered records: their locks are lost, even if nothing has shown it yet."""
        place_of = self._rules.place_of
        again = {place_of(record) for record, count in zip(records, counts, strict=True) if count > 1}
        if again:
            self.lost(lambda record: place_of(record) in again, now_ms)

    def arrived_first(self, partition: TopicIdPartition, records: Collection[R], last_offset: int, now_ms: int) -> None:
        """Take the records of one delivery, which is the first for all of them. They are read as they are run."""
        if self._is_over(now_ms) or not self._holdings.arrive_lazily(records, len(records)):
            listed = list(records)
            self.arrived(partition, listed, [1] * len(listed), last_offset, now_ms)
        else:
            self.windows.acquired(partition, last_offset)

    def suspect(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what a process of this worker was running when it was killed. Such records will run alone."""
        self._holdings.suspects.name(ranges)

    def suspects_any(self, partition: TopicIdPartition, first_offset: int, last_offset: int) -> bool:
        """Return whether one of these records was running when a process was killed. If so, call `arrived` for them."""
        return self._holdings.suspects.named.covers(partition, first_offset, last_offset)

    def wanted(self, now_ms: int) -> int:
        """Return how many records to acquire now; 0 for none."""
        if self._stop_ms is not None or self._holdings.delayed >= MOST_DELAYED:
            return 0
        held = self._holdings.held
        if self.breaker.is_open:
            return int(held == 0)  # one more for each probe, as it may be the one that succeeds
        if self._holdings.suspects.is_alone(now_ms, is_quiet=self._is_quiet):
            return 0
        size = self.buffer
        return size - held if held * 2 < size else 0

    @property
    def buffer(self) -> int:
        """The number of records to acquire ahead."""
        rules = self._rules
        if rules.buffer is not None:
            return rules.buffer
        least = rules.concurrency * (rules.batch.max_records if rules.batch else 1)
        return max(least, min(self.pace.buffer(rules.concurrency), self.windows.room // _SHARE_OF_WINDOWS))

    # ---------------------------------------------------------------------------------------- steps

    def next(self, now_ms: int) -> WorkerStep[R] | None:
        """Return what to do next; None if there is nothing to do before `wakes_ms`, or before a result comes."""
        self._asked_ms = now_ms
        self._accept_finished(now_ms)
        if self._steps:
            return self._steps.popleft()
        if self._is_over(now_ms):
            self._release_held(now_ms)
            return self._steps.popleft() if self._steps else None
        while (unordered := self._holdings.unordered.take_due(now_ms)) is not None:
            self._order(unordered, now_ms)
        if self._steps:
            return self._steps.popleft()
        if (due := self._holdings.copies.take_due(now_ms)) is not None:
            self._copying[due.place] = due
            return CopyLetters(due)
        if self._has_records_at_risk:
            self._holdings.suspects.begin_anew(now_ms)
            return None
        return self._next_run(now_ms) if len(self._runs) < self._most_runs else None

    @property
    def _has_records_at_risk(self) -> bool:
        """True while records on one of their last deliveries are being copied for the first time.

        Any record that runs may end the process, and one of these would then be lost for good. A copy that has failed
        holds up nothing: the topic for dead letters may be unavailable for long.
        """
        if not self._copying and not self._holdings.copies:
            return False
        return any(each.is_before and not each.failed_copies for each in self.copying)

    def _next_run(self, now_ms: int) -> RecordRun[R] | None:
        probes = any(run.is_probe for run in self._runs)
        run = self._choice.next_run(len(self._runs), now_ms, is_quiet=self._is_quiet, probes=probes)
        if run is not None:
            self._runs[run] = now_ms
        return run

    @property
    def _most_runs(self) -> int:
        """The most runs at a time. A fast handler has some ready in the queue of its threads, so that none waits."""
        concurrency = self._rules.concurrency
        return concurrency + (self._rules.queued if self.pace.is_fast and not self.breaker.is_open else 0)

    @property
    def _is_quiet(self) -> bool:
        return not self._runs and not self._settling and not self._steps

    def wakes_ms(self) -> int | None:
        """Return when to ask for the next step without a result; None for never.

        What has been due before the last `next` cannot start before a result comes.
        """
        holdings = self._holdings
        times = [holdings.copies.next_due_ms, self._stop_ms, holdings.suspects.others_resume_ms]
        times += [part.due_after(self._asked_ms) for part in (holdings.waiting, holdings.unordered)]
        times.append(self._choice.batch_due_ms)
        if self.breaker.is_open and (holdings.held or holdings.waiting):
            times.append(self.breaker.next_probe_ms)
        return min((time for time in times if time is not None and time > self._asked_ms), default=None)

    def stretched(self, now_ms: int) -> None:
        """Take back what slow runs have not started, so that other slots can run it."""
        for run, since_ms in self._runs.items():
            if run.unstarted and not run.is_batch and now_ms - since_ms >= _SLOW_RUN_MS:
                self._put_back(run)

    def _put_back(self, run: RecordRun[R]) -> None:
        opened = run.opened
        rest = run.take_back()
        if opened is None:
            self._holdings.fresh.put_back(rest)
        else:
            self._holdings.put_back(opened[len(opened) - len(rest) :])

    # ---------------------------------------------------------------------------------------- results

    def ran(
        self, run: RecordRun[R], failures: Sequence[FailedRecord[R]], now_ms: int, *, failed: Exception | None = None
    ) -> None:
        """Take the result of a run.

        Args:
            run: The run. Records that were taken back are not part of it any more.
            failures: The records that failed; all others have succeeded.
            now_ms: The time.
            failed: The error of a whole batch: all records but those of `failures` have failed together.
        """
        del self._runs[run]
        if run.unstarted:  # the handler ended its thread, or its task was cancelled
            self._put_back(run)
        if not run.records:
            return  # all were taken back, which shows nothing about the sink
        errors = {failure.index: failure.error for failure in failures}
        if failed is not None:
            self._batch_failed(run, failed, errors, now_ms)
            return
        if not failures and run.opened is None and not run.lost:
            self._worked()
            self._settle(run.records, AcknowledgeType.ACCEPT, is_run=not run.is_batch)
            return
        self._sort_out(run, errors, now_ms)

    def _sort_out(self, run: RecordRun[R], errors: Mapping[int, Exception], now_ms: int) -> None:
        """Settle what has succeeded, and judge what has failed, in order: a success ends a row of failures."""
        kept: list[OpenRecord[R]] = []
        for index, each in enumerate(self._opened(run)):
            error = errors.get(index)
            if error is None:
                self._worked()
            if self._was_lost(run, each, now_ms, has_succeeded=error is None):
                continue
            if error is None:
                kept.append(each)
            else:
                self._failed(each, error, now_ms, is_probe=run.is_probe)
        self._settle([each.record for each in kept], AcknowledgeType.ACCEPT)
        for each in kept:
            self._holdings.leave(each, now_ms)

    def _opened(self, run: RecordRun[R]) -> Sequence[OpenRecord[R]]:
        if run.opened is not None:
            return run.opened
        return [OpenRecord(record, self._rules.place_of(record), 1) for record in run.records]

    def _was_lost(self, run: RecordRun[R], opened: OpenRecord[R], now_ms: int, *, has_succeeded: bool) -> bool:
        if opened.place not in run.lost:
            return False
        waited = self._holdings.lost.ended(opened.place, has_succeeded=has_succeeded)
        self._holdings.leave(opened, now_ms)
        self._holdings.admit(waited, now_ms)
        return True

    def _worked(self) -> None:
        """Note a success, which shows that the sink works."""
        if self.breaker.succeeded():
            self._tell(EventKind.BREAKER_CLOSED)

    def _batch_failed(self, run: RecordRun[R], error: Exception, errors: Mapping[int, Exception], now_ms: int) -> None:
        """Halve a batch that failed, to find the bad record. Rules that decide at once decide about all its records."""
        opened = self._opened(run)
        rest = [each for index, each in enumerate(opened) if index not in errors]
        kept = [each for each in rest if not self._was_lost(run, each, now_ms, has_succeeded=False)]
        for index, own_error in errors.items():
            if not self._was_lost(run, opened[index], now_ms, has_succeeded=False):
                self._failed(opened[index], own_error, now_ms, is_probe=run.is_probe)
        is_decided = isinstance(error, WorkerStoppedError) or isinstance(self._rules.failures.judge(error), Decision)
        if len(kept) == 1 or is_decided:
            for each in kept:
                self._failed(each, error, now_ms, is_probe=run.is_probe)
        elif kept:
            self._tried(kept[0], error, now_ms, is_probe=run.is_probe)
            for each in kept:
                each.attempts += 1
                each.halvings += 1
            half = (len(kept) + 1) // 2
            self._holdings.halves.extendleft((list(kept[half:]), list(kept[:half])))

    def _tried(self, opened: OpenRecord[R], error: Exception, now_ms: int, *, is_probe: bool) -> None:
        self._note_failure(opened, now_ms)
        if tells_of_sink(self._rules.failures.judge(error)) and not self._is_bad(opened):
            self._suspect_sink(opened, error, now_ms, is_probe=is_probe)

    # ---------------------------------------------------------------------------------------- failures

    def _failed(self, opened: OpenRecord[R], error: Exception, now_ms: int, *, is_probe: bool = False) -> None:
        if isinstance(error, WorkerStoppedError):
            self._end(opened, AcknowledgeType.RELEASE, now_ms)
            return
        opened.attempts += 1
        opened.error = error
        self._note_failure(opened, now_ms)
        judged = self._rules.failures.judge(error)
        if is_probe and not tells_of_sink(judged):
            self.breaker.proved_nothing(now_ms)
        if isinstance(judged, Decision):
            self._decide(opened, judged, now_ms)
        else:
            self._try_again(opened, judged, error, now_ms, is_probe=is_probe)

    def _try_again(self, opened: OpenRecord[R], again: Again, error: Exception, now_ms: int, *, is_probe: bool) -> None:
        if again.tells_of_sink and not self._is_bad(opened):
            self._suspect_sink(opened, error, now_ms, is_probe=is_probe)
        if again.tells_of_sink and self.breaker.is_open:
            self._wait(opened, 0, now_ms)  # the breaker says when, and no retry is used
        elif not self._uses_retry(opened, again, now_ms):
            self._wait(opened, again.wait_ms(opened.attempts - opened.halvings, self._rng), now_ms)
        elif opened.retries >= again.backoff.times:
            self._decide(opened, self._rules.failures.gives_up(error), now_ms)
        else:
            opened.retries += 1
            self._wait(opened, again.wait_ms(opened.retries, self._rng), now_ms)

    def _order(self, opened: OpenRecord[R], now_ms: int) -> None:
        """Ask for the key of a record again. Without one it ends, as if its value could not be parsed."""
        if self._holdings.orders(opened, now_ms):
            return
        decision = Decision(self._rules.failures.exhausted, str(opened.error))
        if decision.on_error is OnError.HOLD:
            self._tell(EventKind.HOLDS, opened, opened.error, decision.reason, decision)
            opened.due_ms = now_ms + round(1000 * self._rules.failures.retries.most)
            self._holdings.hold_unordered(opened, now_ms)
        else:
            self._decide(opened, decision, now_ms)

    def _note_failure(self, opened: OpenRecord[R], now_ms: int) -> None:
        if opened.failing_since_ms is None:
            opened.failing_since_ms = now_ms
            opened.successes_before = self.breaker.successes

    def _is_bad(self, opened: OpenRecord[R]) -> bool:
        """Return whether a record failed before and after a success of others: this says nothing about the sink.

        If such failures counted, a few remaining bad records would open the breaker, and be held until others arrive.
        """
        return not self.breaker.is_open and opened.successes_before < self.breaker.successes

    def _uses_retry(self, opened: OpenRecord[R], again: Again, now_ms: int) -> bool:
        if self.breaker.is_open:
            return False
        since_ms = now_ms if opened.failing_since_ms is None else opened.failing_since_ms
        return again.is_counted or now_ms - since_ms >= _OUTAGE_MS

    def _suspect_sink(self, opened: OpenRecord[R], error: Exception, now_ms: int, *, is_probe: bool) -> None:
        if self.breaker.failed(opened.place, now_ms, is_probe=is_probe):
            self._tell(EventKind.BREAKER_OPENED, opened, error)
        elif self.breaker.is_open and is_probe:
            self._tell(EventKind.PROBE_FAILED, opened, error)

    def _wait(self, opened: OpenRecord[R], wait_ms: int, now_ms: int) -> None:
        opened.due_ms = now_ms + wait_ms
        self._holdings.waiting.add(opened)
        self._tell(EventKind.RETRIED, opened, opened.error)
        if self._stop_ms is not None:
            self._release_delayed(now_ms)

    # ---------------------------------------------------------------------------------------- decisions

    def _decide(self, opened: OpenRecord[R], decision: Decision, now_ms: int) -> None:
        on_error = decision.on_error
        if on_error is OnError.HOLD:
            self._tell(EventKind.HOLDS, opened, opened.error, decision.reason, decision)
            self._wait(opened, round(1000 * self._rules.failures.retries.most), now_ms)
            return
        self._tell(EventKind.GAVE_UP, opened, opened.error, decision.reason, decision)
        if on_error is OnError.STOP:
            self.stopped_by = self.stopped_by or opened.error
            self._tell(EventKind.STOPS, opened, opened.error, decision.reason)
        if on_error is OnError.DEAD_LETTER:
            self._bury(opened, decision.reason, now_ms)
        else:
            self._end(opened, _KINDS[on_error], now_ms)

    def _bury(self, opened: OpenRecord[R], reason: str, now_ms: int) -> None:
        """Reject a record once its dead letter is confirmed."""
        if opened.is_copied or not self._rules.copies:
            self._end(opened, AcknowledgeType.REJECT, now_ms)
            return
        opened.reason, opened.is_before, opened.due_ms = reason, False, now_ms
        self._holdings.copies.add(opened)

    def copied(self, copy: CopyLetters[R], error: Exception | None, now_ms: int) -> None:
        """Take the result of writing a dead letter."""
        opened = copy.opened
        if self._copying.get(opened.place) is not opened:
            return  # its lock was lost during the write, and it may have been redelivered
        del self._copying[opened.place]
        if error is None:
            opened.is_copied = True
            self._go_on(opened, now_ms)
            return
        self._tell(EventKind.COPY_FAILED, opened, error)
        opened.failed_copies += 1
        opened.due_ms = now_ms + _COPY_WAITS.after(opened.failed_copies, self._rng)
        self._holdings.copies.add(opened)

    def _go_on(self, opened: OpenRecord[R], now_ms: int) -> None:
        if opened.is_aside:
            opened.is_before = opened.is_aside = False
        elif opened.is_before:
            opened.is_before = False
            self._holdings.admit([opened], now_ms)
        else:
            self._end(opened, AcknowledgeType.REJECT, now_ms)

    def _end(self, opened: OpenRecord[R], kind: AcknowledgeType, now_ms: int) -> None:
        self._settle([opened.record], kind)
        self._holdings.leave(opened, now_ms)

    # ---------------------------------------------------------------------------------------- settling

    def _settle(self, records: Sequence[R], kind: AcknowledgeType, *, is_run: bool = False) -> None:
        if records:
            self._settling += 1
            self._steps.append(SettleRecords(records, kind, is_run=is_run))

    def _accept_finished(self, now_ms: int) -> None:
        while self._holdings.finished:
            opened = self._holdings.finished.pop()
            if self._copying.get(opened.place) is opened:
                del self._copying[opened.place]
            self._end(opened, AcknowledgeType.ACCEPT, now_ms)

    def settled(
        self, settle: SettleRecords[R], refused: Iterable[R] = (), *, refused_places: Iterable[RecordId] = ()
    ) -> None:
        """Take the result of an acknowledgement.

        Args:
            settle: The step. Its records are not read, so the driver may have dropped them.
            refused: The records that the broker refused. It redelivers them.
            refused_places: More of them, by partition and offset.
        """
        self._settling -= 1
        places = [*map(self._rules.place_of, refused), *refused_places]
        self._tell_lost(places)
        if settle.kind == AcknowledgeType.ACCEPT:
            for place in places:
                self._holdings.lost.finished(place)

    # ---------------------------------------------------------------------------------------- lost locks

    def lost(self, matches: Callable[[R], bool], now_ms: int) -> int:
        """Forget the records that match: their locks are lost. Returns their number.

        Handlers that run for such records continue, but their results no longer count. Until they end, this process
        starts no second handler for these records.
        """
        gone = [opened.place for opened in self._removed(matches, now_ms)]
        for run in list(self._runs):
            gone += self._lost_of(run, matches, now_ms)
        for opened in [each for each in self._copying.values() if matches(each.record)]:
            del self._copying[opened.place]
            self._holdings.leave(opened, now_ms)
            gone.append(opened.place)
        self._tell_lost(gone)
        return len(gone)

    def _removed(self, matches: Callable[[R], bool], now_ms: int) -> list[OpenRecord[R]]:
        """Remove the records that match and wait for something, and forget their copies that are being written."""
        for opened in [each for each in self._copying.values() if each.is_aside and matches(each.record)]:
            del self._copying[opened.place]
        return self._holdings.remove(matches, now_ms)

    def _lost_of(self, run: RecordRun[R], matches: Callable[[R], bool], now_ms: int) -> list[RecordId]:
        place_of = self._rules.place_of
        if not any(matches(record) and place_of(record) not in run.lost for record in run.records):
            return []
        gone = [] if run.is_batch else self._put_back_kept(run, matches, now_ms)
        places = {place_of(record) for record in run.records if matches(record)} - run.lost
        run.lost |= places
        for place in places:
            self._holdings.lost.lost_while_running(place)
        return [*gone, *places]

    def _put_back_kept(self, run: RecordRun[R], matches: Callable[[R], bool], now_ms: int) -> list[RecordId]:
        """Take back what the run has not started, and drop what is lost of it. Returns the latter's places."""
        opened = self._opened(run)
        rest = opened[len(opened) - len(run.take_back()) :]
        kept = [each for each in rest if not matches(each.record)]
        if run.opened is None:
            self._holdings.fresh.put_back([each.record for each in kept])
        else:
            self._holdings.put_back(kept)
        gone = [each for each in rest if matches(each.record)]
        for each in gone:
            self._holdings.leave(each, now_ms)
        return [each.place for each in gone]

    def _tell_lost(self, places: Iterable[RecordId]) -> None:
        self.events.extend(HandlingEvent(EventKind.LOST, place) for place in places)

    def release(self, matches: Callable[[R], bool], now_ms: int) -> int:
        """Release the records that match and do not run, for example because their locks cannot be renewed."""
        gone = self._removed(matches, now_ms)
        self._settle([opened.record for opened in gone], AcknowledgeType.RELEASE)
        return len(gone)

    # ---------------------------------------------------------------------------------------- the window

    def measure_windows(self, now_ms: int) -> None:
        """Measure how full the partitions' windows are. Gives up records that fill one, if the handler says so."""
        running = (self._rules.place_of(record) for run in self._runs for record in run.oldest)
        oldest = (*self._holdings.oldest_places(), *running, *self._copying)
        self.windows.measure(oldest, now_ms, wants=self.wanted(now_ms) > 0)
        for use in self.windows.uses.values():
            if use.is_held_back(NOT_READY_AT) and self._rules.on_blocked is not None:
                self._unblock((use.partition, use.oldest), self._rules.on_blocked, now_ms)

    def _unblock(self, place: RecordId, on_blocked: OnError, now_ms: int) -> None:
        reason = str(FullWindow(f"it has held back {place[0]} for too long"))
        for opened in self._holdings.remove_waiting(lambda each: each.place == place and not each.is_aside):
            self._decide(opened, Decision(on_blocked, reason), now_ms)

    # ---------------------------------------------------------------------------------------- stopping

    def stop(self, now_ms: int, until_ms: int) -> None:
        """Stop fetching. Records that can run continue until a time; those that wait for a retry are released now.

        Another call may shorten the time.
        """
        self._stop_ms = until_ms if self._stop_ms is None else min(self._stop_ms, until_ms)
        self._choice.is_stopping = True
        self._holdings.suspects.run_last_deliveries_first()
        self._release_delayed(now_ms)

    def _release_delayed(self, now_ms: int) -> None:
        for opened in self._holdings.remove_waiting(lambda _: True):
            self._end(opened, AcknowledgeType.RELEASE, now_ms)

    def _is_over(self, now_ms: int) -> bool:
        return self.is_past_grace(now_ms) or (self._stop_ms is not None and self.breaker.is_open)

    def _release_held(self, now_ms: int) -> None:
        for run in list(self._runs):
            if not run.is_batch:
                self._put_back(run)
        while gone := self._removed(lambda _: True, now_ms):
            self._settle([opened.record for opened in gone], AcknowledgeType.RELEASE)

    @property
    def is_done(self) -> bool:
        """True once nothing is in hand: no record runs, waits or needs a confirmation."""
        return self.has_only_runs and not self._runs

    @property
    def has_only_runs(self) -> bool:
        """True once only records that run are in hand."""
        holdings = self._holdings
        is_empty = holdings.held == 0 and holdings.delayed == 0 and not holdings.finished and not self._copying
        return is_empty and not self._settling and not self._steps

    def is_past_grace(self, now_ms: int) -> bool:
        """Return whether the records in hand have had their time to end after a stop."""
        return self._stop_ms is not None and now_ms >= self._stop_ms

    # ---------------------------------------------------------------------------------------- figures

    @property
    def in_hand(self) -> Mapping[str, int]:
        """The number of records in each state."""
        holdings = self._holdings
        return {
            "held": holdings.held + len(holdings.keys),
            "running": sum(len(run.records) for run in self._runs),
            "waiting": len(holdings.waiting) + len(holdings.unordered),
            "copying": sum(not opened.is_aside for opened in self.copying),
        }

    @property
    def running(self) -> Mapping[RecordRun[R], int]:
        """The runs under way, with the times when they began."""
        return self._runs

    @property
    def waiting(self) -> Iterable[OpenRecord[R]]:
        """The records that wait for a retry, in no order."""
        return self._holdings.waiting

    @property
    def copying(self) -> Iterable[OpenRecord[R]]:
        """The records whose dead letters are not confirmed, in no order."""
        return chain(self._holdings.copies, self._copying.values())

    @property
    def is_full(self) -> bool:
        """True if too many records wait to fetch more."""
        return self._holdings.delayed >= MOST_DELAYED

    def failing(self) -> Mapping[str, int]:
        """Count the waiting records by the class of their last error."""
        return Counter(type(opened.error).__name__ for opened in self._holdings.waiting)

    def _tell(
        self,
        kind: EventKind,
        opened: OpenRecord[R] | None = None,
        error: Exception | None = None,
        text: str = "",
        decision: Decision | None = None,
    ) -> None:
        place = None if opened is None else opened.place
        self.events.append(HandlingEvent(kind, place, text, error, decision))
