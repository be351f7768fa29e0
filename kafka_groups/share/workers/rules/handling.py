"""The rules of a handler worker for the records in hand, without I/O.

A record that arrives is held until a slot is free, runs, and is settled. If its handler raises, it waits for a retry,
or it is given up: copied to the dead-letter topic and rejected. All that time the consumer renews its lock. The driver
asks for the next step, does it, and reports the result.
"""

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limited_starts import LimitedStarts
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.outbox import HandlingOutbox
from kafka_groups.share.workers.rules.outcomes import AttemptOutcomes
from kafka_groups.share.workers.rules.pace import HandlerPace
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayRules
from kafka_groups.share.workers.rules.run_choice import RunChoice
from kafka_groups.share.workers.rules.runs import RunningRecords
from kafka_groups.share.workers.rules.slot_sharing import SharedSlots
from kafka_groups.share.workers.rules.steps import InvokeHandler, OpenRecord, WorkerStep, WritePurpose
from kafka_groups.share.workers.rules.window import NOT_READY_AT, FullWindow, RecordWindows
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition

__all__ = ["RecordHandling"]

R = TypeVar("R")

_SHARE_OF_WINDOWS = 4
"""The buffer takes this part of the partitions' windows, which hold running and unconfirmed records, too."""
_FOR_CONFIRMATIONS_MS = 1_000
"""Writes under way have this much more than the records that run. Most are confirmed at once, also if a rule stops the
worker and leaves no time."""


class RecordHandling(Generic[R]):
    """The state of one handler: the records that it has in hand, and what to do with them next.

    Waiting records are in `holdings`, running ones in `runs`, and acknowledgements go through `outbox`.

    Args:
        rules: The rules of the handler.
        rng: For the jitter of waits.
        gate: What the handlers of the process share; without one, the handler is alone.
        slots: The slots that the topics of one handler share; without one, these topics are its only ones.
        is_retry: Whether the records come from a retry topic of the handler.
        breaker: The breaker that the topics of one handler share, as they have one sink; None for one of its own.

    Attributes:
        breaker: Whether the sink is considered down.
        holdings: The records that wait.
        runs: The records that run. Takes their results.
        outcomes: Decides about attempts that have ended.
        writing: Writes records for those in hand: dead letters, retries, outputs. Takes the results.
        outbox: Acknowledgements and events. Takes the results of acknowledgements.
        windows: How much of each partition's window is in use.
        pace: The measured pace of the handler.
        events: What happened, oldest first. The driver takes them out.
        gate: What the handlers of the process share.
        slots: The slots that the topics of the handler share.
        is_fetching: Whether a fetch is under way, which may acquire records.
    """

    def __init__(
        self,
        rules: HandlingRules[R],
        rng: random.Random,
        gate: ProcessGate | None = None,
        slots: SharedSlots | None = None,
        *,
        is_retry: bool = False,
        breaker: Breaker | None = None,
    ) -> None:
        self._rules = rules
        self.breaker = breaker or Breaker.of_handler(rng)
        self.windows = RecordWindows(rules.record_locks)
        self.pace = HandlerPace()
        self.holdings: Holdings[R] = Holdings(rules)
        self.outbox: HandlingOutbox[R] = HandlingOutbox(rules, self.holdings)
        self.events = self.outbox.events
        self.writing = RecordWrites(rules, self.holdings, self.outbox, rng)
        self.outcomes = AttemptOutcomes(rules, self.holdings, self.breaker, self.writing, self.outbox, rng)
        self.writing.refused = self.outcomes.failed
        self._choice = RunChoice(rules, self.holdings, self.breaker, self.pace)
        self.slots = slots or SharedSlots(rules.concurrency)
        self.slots.enter(self, is_retry=is_retry)
        self._rate = self.slots.rate
        self._starts = None if self._rate is None else LimitedStarts(self._rate, self._choice, is_retry=is_retry)
        self.runs = RunningRecords(rules, self.holdings, self.outcomes, self.writing, self.outbox)
        self.runs.keeps_unstarted = self._rate is not None
        self._stop_ms: int | None = None
        self._asked_ms = -1
        self.is_fetching = False
        self.gate = gate or ProcessGate()
        self.gate.enter(self)

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
        # This comes before the new delivery arrives: a broker redelivers a record only after its earlier lock has
        # ended, and what is left of the earlier delivery must not run as well.
        self._forget_earlier(records, counts, now_ms)
        self.holdings.arrive(records, counts, now_ms)
        # A fetch that was under way when the worker stopped may still bring records. Nothing may start any more, so
        # they go back at once instead of keeping their locks until the worker has ended.
        if self._is_over(now_ms):
            self._release_held(now_ms)

    def _forget_earlier(self, records: Sequence[R], counts: Sequence[int], now_ms: int) -> None:
        """Forget earlier deliveries of redelivered records: their locks are lost, even if nothing has shown it yet."""
        record_id = self._rules.record_id
        # Usually the consumer has reported the end of the session or a refused renewal before; this is the last chance
        # to notice it. A count of 1, as nearly all records have, is not looked at here: the driver compares ranges of
        # offsets.
        again = {record_id(record) for record, count in zip(records, counts, strict=True) if count > 1}
        if again:
            self.lost(lambda record: record_id(record) in again, now_ms)

    def arrived_first(self, partition: TopicIdPartition, records: Collection[R], last_offset: int, now_ms: int) -> None:
        """Take the records of one delivery, which is the first for all of them. They are read as they are run."""
        # The lazy way leaves the records undecoded until a slot takes them, so few of them are in memory. It does not
        # work for records that need a state on arrival, which are those with a key, and all while lost records run.
        if self._is_over(now_ms) or not self.holdings.arrive_lazily(records, len(records)):
            listed = list(records)
            self.arrived(partition, listed, [1] * len(listed), last_offset, now_ms)
        else:
            self.windows.acquired(partition, last_offset)

    def suspect(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what a process of this worker was running when it was killed. Such records will run alone."""
        self.holdings.suspects.name(ranges)

    def wanted(self, now_ms: int) -> int:
        """Return how many records to acquire now; 0 for none."""
        wanted = self._wanted(now_ms)
        # The records of a topic with a delay that are acquired before their time lose a delivery with each kill, and
        # hold back their partition. So few are.
        return wanted if self._rules.delay is None else min(wanted, self.holdings.early.wanted)

    def _wanted(self, now_ms: int) -> int:
        # Two cases in which more records would only be in the way. A worker that stops would release them, which costs
        # each a delivery. And while 1,000 records wait for a retry, a key or a copy, others would soon wait as well and
        # fill the window.
        if self._stop_ms is not None or self.holdings.is_full:
            return 0
        # A suspect of another handler may end the process, and each record acquired until then would lose a delivery
        # with it.
        if not self.gate.may_fetch(self, now_ms):
            return 0
        held = self.holdings.held
        # While the sink seems to be down, no record can be finished, so the buffer is not filled. But if the records in
        # hand are bad, and not the sink, only a good one from behind them can close the breaker.
        if self.breaker.is_open:
            return int(held == 0)  # one more for each probe, as it may be the one that succeeds
        # The same as for the gate, within this handler: what is acquired beside its own suspects would share their end.
        if self.holdings.suspects.is_alone(now_ms, is_quiet=self._is_quiet):
            return 0
        # Fetching whenever a single record is done would need a request for each. Half a buffer keeps all slots busy
        # during the round trip of the next fetch.
        size = self.buffer if self._starts is None else min(self.buffer, self._starts.ahead(now_ms))
        return size - held if held * 2 < size else 0

    @property
    def buffer(self) -> int:
        """The number of records to acquire ahead."""
        rules = self._rules
        # A buffer that the user has set is taken as it is. Otherwise it follows the pace of the handler, but at least
        # every slot gets a run ahead, and at most a quarter of the windows is filled with records that only wait for a
        # slot.
        if rules.buffer is not None:
            return rules.buffer
        least = rules.concurrency * (rules.batch.max_records if rules.batch else 1)
        return max(least, min(self.pace.buffer(rules.concurrency), self.windows.room // _SHARE_OF_WINDOWS))

    def fetched(self, *, is_empty: bool) -> None:
        """Note that a fetch has ended, after the arrival of what it brought."""
        early = self.holdings.early
        if is_empty:
            early.fetches.found_nothing()
        else:
            early.fetches.ended(early.partitions)

    # ---------------------------------------------------------------------------------------- steps

    def next(self, now_ms: int) -> WorkerStep[R] | None:
        """Return what to do next; None if there is nothing to do before `wakes_ms`, or before a result comes."""
        self._asked_ms = now_ms
        if self._starts is not None:
            self._starts.look(now_ms)
        # Records that this process has finished under a lost lock need nothing but their acceptance. They come first,
        # so that a stop does not release them, which would have them processed a second time.
        self._accept_finished(now_ms)
        # Acknowledgements come before all that may take long: the lock of a record that has ended is not renewed any
        # more.
        if self.outbox.steps:
            return self.outbox.steps.popleft()
        self.outcomes.keep_or_move(now_ms)
        # From here on, nothing may start. This also catches what became ready since the last call, such as the next
        # record of a key whose holder has just been released.
        if self._is_over(now_ms):
            return self._end(now_ms)
        if self._rules.delay is not None:
            self._go_on_early(self._rules.delay, now_ms)
        # `order_by` may know a key now that it did not know before, for example because a service that it asks was
        # down. The record takes its place behind others of its key before the next run is chosen.
        while (unordered := self.holdings.unordered.take_due(now_ms)) is not None:
            self.outcomes.order(unordered, now_ms)
        if self.outbox.steps:
            return self.outbox.steps.popleft()
        # Copies come before runs: a record on one of its last deliveries is in danger as long as any record runs.
        if (write := self.writing.next(now_ms)) is not None:
            return write
        if self.outbox.steps:
            return self.outbox.steps.popleft()
        return self._start(now_ms)

    def _start(self, now_ms: int) -> WorkerStep[R] | None:
        """Return the next run, if one may start."""
        # Some handler of this process copies records on one of their last deliveries. If a record that starts now ended
        # the process, they could be archived without a copy. So nothing starts, and slots give back what they have not
        # started.
        if self.gate.is_shut:
            self.holdings.suspects.begin_anew(now_ms)
            self.runs.put_back_unstarted()
            return None
        # Brokers that take no outputs would be given more and more, and all of it would be in memory.
        if not self.writing.has_room:
            return None
        if self.slots.may_start(self, self._most_runs, now_ms) and (run := self._next_run(now_ms)) is not None:
            return run
        return self.outbox.steps.popleft() if self.outbox.steps else None

    def _go_on_early(self, delay: DelayRules[R], now_ms: int) -> None:
        """Let the records of a topic with a delay go on, and have those written that move to another topic."""
        # A worker that stops runs what may run. It does not wait for other records, and releases them now, so that
        # another member has them before they are due.
        if self._stop_ms is not None:
            early = self.holdings.early.remove(lambda _: True)
            self.outbox.settle([opened.record for opened in early], AcknowledgeType.RELEASE)
            for opened in early:
                self.holdings.leave(opened, now_ms)
        self.holdings.go_on_early(now_ms)
        while self.holdings.forwarded:
            opened = self.holdings.forwarded.popleft()
            wall_ms = self.holdings.early.wall_ms(now_ms)
            written = delay.forwarded(opened.record, opened.state, opened.deaths, wall_ms)
            if written is None:
                self.holdings.admit([opened], now_ms)
            else:
                self.writing.write(opened, WritePurpose.FORWARD, [written], now_ms)

    def _end(self, now_ms: int) -> WorkerStep[R] | None:
        """Return the next step of a stop, when no record may run any more."""
        self._release_held(now_ms)
        if self.outbox.steps:
            return self.outbox.steps.popleft()
        # What was done, but is not written yet, has the rest of the time. Its records would be done again otherwise.
        if not self.is_past_grace(now_ms) and (write := self.writing.next(now_ms)) is not None:
            return write
        return self.outbox.steps.popleft() if self.outbox.steps else None

    def _next_run(self, now_ms: int) -> InvokeHandler[R] | None:
        # The suspect that had the process to itself has ended and is acknowledged, so the other handlers may go on.
        is_quiet = self._is_quiet
        if is_quiet:
            self.gate.is_quiet(self)
        if not self.gate.may_start(self, now_ms):
            return None
        # There are two sides of a request for the process. If others ask, this handler finishes what it holds and does
        # not wait for full batches. If it asks itself, its grave suspect waits until the others are done, and not only
        # for its own runs.
        self._choice.is_draining = self.gate.is_asked(self, now_ms)
        if self._starts is not None and not self._starts.may_start(now_ms):
            self._wait_for_tokens(self._starts, now_ms)
            return None
        is_quiet = is_quiet and (not self._needs_process or self.gate.may_isolate(self, now_ms))
        # Two handlers with grave suspects would wait for each other until their 30 seconds are over. The one that does
        # not have the turn runs its other records until then, so that it is drained, too.
        self._choice.yields = self._choice.is_draining and self._needs_process and not self.gate.has_turn(self)
        # Only an open breaker asks, and each start of a run would look at all others.
        probes = self.breaker.is_open and self.slots.is_probing
        run = self._choice.next_run(len(self.runs.under_way), now_ms, is_quiet=is_quiet, probes=probes)
        if run is not None:
            self.runs.under_way[run] = now_ms
            self.slots.started(self)
            if self._starts is not None:
                self._starts.started(len(run.records), now_ms)
            first = None if run.opened is None else run.opened[0]
            # A retry has survived an attempt, so it is not what ended a process, and others need not wait for it again.
            if first is not None and not first.attempts and self.holdings.suspects.is_grave(first):
                self.gate.isolated(self, now_ms)
        return run

    def _wait_for_tokens(self, starts: LimitedStarts, now_ms: int) -> None:
        # The 30 seconds for which others wait for a suspect begin when it could start.
        if starts.waits_long(now_ms):
            self.holdings.suspects.begin_anew(now_ms)
        # A worker that stops does not wait for records that could not start in its time.
        if self._stop_ms is not None and starts.due_ms is not None and starts.due_ms >= self._stop_ms:
            self._release_held(now_ms)

    @property
    def running(self) -> int:
        """The number of runs under way."""
        return len(self.runs.under_way)

    @property
    def is_probing(self) -> bool:
        """True while a probe runs."""
        return any(run.is_probe for run in self.runs.under_way)

    def runnable(self, now_ms: int) -> int:
        """Return how many runs could start if there were slots, at least about; 0 if something else is in the way."""
        if self._is_over(now_ms) or self.gate.is_shut or not self.gate.may_start(self, now_ms):
            return 0
        if self._rate is not None and not self._rate.tokens(now_ms):
            return 0
        return self._choice.runnable(now_ms, is_quiet=self._is_quiet)

    @property
    def _needs_process(self) -> bool:
        """True if the next suspect needs the process to itself. A stop leaves no time for that."""
        return self._stop_ms is None and self.holdings.suspects.is_next_grave

    # ---------------------------------------------------------------------------------------- the gate of the process

    @property
    def has_records_at_risk(self) -> bool:
        """True while records on one of their last deliveries are being copied for the first time.

        Any record that runs may end the process, and one of these would then be lost for good.
        """
        return self.writing.has_records_at_risk

    @property
    def has_grave_suspects(self) -> bool:
        """True while it holds suspects that need the process to themselves, and that it could run."""
        # With an open breaker or during a stop, grave suspects do not ask for the process: an outage may last for
        # hours, and a stop has only seconds, in which the others have to finish their own records. Nor do they while a
        # rate limit keeps them from starting.
        if self.breaker.is_open or self._stop_ms is not None:
            return False
        waits_long = self._starts is not None and self._starts.waits_long(self._asked_ms)
        return self.holdings.suspects.has_grave and not waits_long

    @property
    def is_drained(self) -> bool:
        """True if it fetches, runs and settles nothing, and holds nothing that it could run but grave suspects."""
        # A fetch that is under way may bring records, which would lose a delivery if a suspect of another handler ended
        # the process. The same is true for records whose acknowledgements the broker has not confirmed.
        if self.is_fetching or not self._is_quiet:
            return False
        # A handler with an open breaker keeps its records for as long as its sink is down. If others waited until it
        # holds nothing, its outage would stop theirs as well. Two handlers with grave suspects must not wait for each
        # other, either.
        suspects = self.holdings.suspects
        return self.breaker.is_open or (suspects.are_only_grave and self.holdings.held == len(suspects))

    @property
    def highest_suspect_count(self) -> int:
        """The highest delivery count of its suspects that need the process to themselves."""
        return self.holdings.suspects.highest_count

    @property
    def _most_runs(self) -> int:
        """The most runs at a time. A fast handler has some ready in the queue of its threads, so that none waits."""
        # A slot that has to ask for its next run stands still for a turn of the driver's loop. This only matters if
        # runs are short, and while the breaker is open only single probes may run.
        concurrency = self._rules.concurrency
        return concurrency + (self._rules.queued if self.pace.is_fast and not self.breaker.is_open else 0)

    @property
    def _is_quiet(self) -> bool:
        return not self.runs.under_way and not self.outbox.unconfirmed and self.writing.is_quiet

    def wakes_ms(self) -> int | None:
        """Return when to ask for the next step without a result; None for never.

        What has been due before the last `next` cannot start before a result comes.
        """
        holdings = self.holdings
        times = [holdings.copies.next_due_ms, holdings.writes.next_due_ms, holdings.suspects.others_resume_ms]
        times += [self._stop_ms, self._writes_end_ms if self.writing.has_any_under_way else None]
        times += [part.due_after(self._asked_ms) for part in (holdings.waiting, holdings.unordered)]
        times.append(holdings.early.next_ms)
        times += [self._choice.batch_due_ms, self.gate.wakes_ms(self, self._asked_ms)]
        if self._starts is not None:
            times.append(self._starts.due_ms)
        # Without a record to probe with, the time of the next probe is no reason to wake up.
        if self.breaker.is_open and (holdings.held or holdings.waiting):
            times.append(self.breaker.next_probe_ms)
        return min((time for time in times if time is not None and time > self._asked_ms), default=None)

    def _accept_finished(self, now_ms: int) -> None:
        while self.holdings.finished:
            # It may have been copied while it waited for its key or for its earlier handler. It has succeeded, so the
            # result of a copy that is still being written does not matter any more.
            opened = self.holdings.finished.pop()
            self.writing.forget(opened)
            self.outbox.end(opened, AcknowledgeType.ACCEPT, now_ms)

    # ---------------------------------------------------------------------------------------- lost locks

    def lost(self, matches: Callable[[R], bool], now_ms: int) -> int:
        """Forget the records that match: their locks are lost. Returns their number.

        Handlers that run for such records continue; see `RunningRecords.lose`.
        """
        gone = [opened.place for opened in self._removed(matches, now_ms)]
        gone += self.runs.lose(matches, now_ms) + self.writing.lose(matches, now_ms)
        self.outbox.tell_lost(gone)
        return len(gone)

    def _removed(self, matches: Callable[[R], bool], now_ms: int) -> list[OpenRecord[R]]:
        """Remove the records that match and wait for something, and forget their copies that are being written."""
        self.writing.lose_aside(matches)
        gone = self.holdings.remove(matches, now_ms)
        for opened in gone:
            self.writing.drop_outputs(opened)
        return gone

    def release(self, matches: Callable[[R], bool], now_ms: int) -> int:
        """Release the records that match and do not run, for example because their locks cannot be renewed."""
        gone = self._removed(matches, now_ms)
        self.outbox.settle([opened.record for opened in gone], AcknowledgeType.RELEASE)
        return len(gone)

    # ---------------------------------------------------------------------------------------- the window

    def measure_windows(self, now_ms: int) -> None:
        """Measure how full the partitions' windows are. A record that fills one is given up, or moves, or stays."""
        # Every record in hand that is not acknowledged holds back its partition, whatever it waits for, including those
        # that run and those for which a write is under way.
        oldest = (*self.holdings.oldest_places(), *self.runs.oldest_places(), *self.writing.places)
        self.windows.measure(oldest, now_ms, wants=self.wanted(now_ms) > 0)
        for use in self.windows.uses.values():
            # Without `on_blocked`, the record is kept and the worker is not ready: giving up a record that may still
            # succeed is the user's decision.
            # In a retry topic it may succeed as well. During an outage nothing moves, and nothing could be done.
            if use.is_held_back(NOT_READY_AT) and (self._rules.on_blocked is not None or self._moves):
                self._unblock((use.partition, use.oldest), now_ms)

    @property
    def _moves(self) -> bool:
        """True if records may move to retry topics now."""
        return self._rules.retry is not None and not self.breaker.is_open

    def _unblock(self, place: RecordId, now_ms: int) -> None:
        reason = str(FullWindow(f"it has held back {place[0]} for too long"))
        # Only a record that waits for a retry or a key can be given up. One that runs may be about to succeed. One
        # whose copy is being written would be copied a second time by the decision, so it is given up after the copy is
        # confirmed.
        for opened in self.holdings.remove_waiting(lambda each: each.place == place and not each.is_aside):
            self.outcomes.unblock(opened, self._rules.on_blocked, reason, now_ms)

    # ---------------------------------------------------------------------------------------- stopping

    def stop(self, now_ms: int, until_ms: int) -> None:
        """Stop fetching. Records that can run continue until a time; those that wait for a retry are released now.

        Another call may shorten the time.
        """
        # A second signal asks for a faster end. It never lengthens the first one's grace.
        self._stop_ms = until_ms if self._stop_ms is None else min(self._stop_ms, until_ms)
        self._choice.is_stopping = True
        # A record that is released on its last delivery is archived, so these get the time that is left.
        self.holdings.suspects.run_last_deliveries_first()
        self.outcomes.stop(now_ms)

    def _is_over(self, now_ms: int) -> bool:
        # While the breaker is open, nothing that runs within the grace is likely to succeed, so it would only delay the
        # end. While outputs cannot be written, nothing that runs could be accepted.
        if self._stop_ms is None:
            return False
        return self.is_past_grace(now_ms) or self.breaker.is_open or self.writing.is_refused

    def _release_held(self, now_ms: int) -> None:
        # Records that slots have not started are still in hand and can be released. Those that run are not: their
        # handlers may succeed, and the driver decides how long to wait for them.
        self.runs.put_back_unstarted()
        is_past_grace = self.is_past_grace(now_ms)
        # Until then, records for which a write is due are kept, unless they wait for something else as well.
        kept = set() if is_past_grace else {each.place for each in self.writing if not each.is_aside}
        while self.release(lambda record: self._rules.record_id(record) not in kept, now_ms):
            pass  # what ends may let others of its key go on
        if is_past_grace:
            self.writing.give_up(now_ms, only_held=now_ms < (self._writes_end_ms or 0))

    @property
    def _writes_end_ms(self) -> int | None:
        """The time when records are released whose writes have no result; None before a stop."""
        return None if self._stop_ms is None else self._stop_ms + _FOR_CONFIRMATIONS_MS

    @property
    def is_done(self) -> bool:
        """True once nothing is in hand: no record runs, waits or needs a confirmation."""
        return self.has_only_runs and not self.runs.under_way

    @property
    def has_only_runs(self) -> bool:
        """True once only records that run are in hand."""
        holdings = self.holdings
        is_empty = holdings.held == 0 and holdings.delayed == 0 and not holdings.finished
        return is_empty and not self.writing.has_any_under_way and not self.outbox.unconfirmed

    def is_past_grace(self, now_ms: int) -> bool:
        """Return whether the records in hand have had their time to end after a stop."""
        return self._stop_ms is not None and now_ms >= self._stop_ms

    # ---------------------------------------------------------------------------------------- metrics

    def take_limited_ms(self) -> int:
        """Return for how long the rate limit has kept records from starting since the last call."""
        return 0 if self._rate is None else self._rate.take_waited_ms()

    def leave(self) -> None:
        """Leave what is shared with others, as the driver has ended."""
        self.gate.leave(self)
        self.slots.leave(self)
        if self._starts is not None:
            self._starts.leave()

    @property
    def in_hand(self) -> Mapping[str, int]:
        """The number of records in each state."""
        holdings = self.holdings
        return {
            "held": holdings.held + len(holdings.keys),
            "running": sum(len(run.records) for run in self.runs.under_way),
            "delayed": len(holdings.early) + len(holdings.forwarded),
            "waiting": len(holdings.waiting) + len(holdings.unordered),
            "writing": sum(not opened.is_aside for opened in self.writing) + self.writing.of_runs,
        }
