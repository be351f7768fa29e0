"""Drive one handler: fetch for it, give its slots runs of records, and settle them, as its rules say.

A driver belongs to the loop of its consumer. Handlers run elsewhere, in threads or on another loop, so that a slow one
stops neither heartbeats nor the renewal of locks.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.share.aio import AsyncKafkaShareConsumer, hooks_of
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.delivery import Delivery, SessionId
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.delivery.share_records import AnyRecords, deliveries_of
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.polling import is_passing
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords, WriteOutputs, WriteRecords
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.share.workers.running.handler_writes import HandlerWrites
from kafka_groups.share.workers.running.operations import OperationTimes
from kafka_groups.share.workers.running.record_writing import ProcessWriter
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.share.workers.running.run_watch import RunWatch
from kafka_groups.share.workers.running.slots import HandlerSlots, Mailbox
from kafka_groups.share.workers.running.window_watch import WindowWatch
from kafka_groups.share.workers.running.worker_commits import SentRecords, WorkerCommits
from kafka_groups.types import RecordId, TopicIdPartition

__all__ = ["POLL_AT_LEAST_MS", "DriverParts", "HandlerDriver"]

_EXACT_FETCHES_UP_TO: Final = 500
"""Up to this many wanted records a fetch is exact; with more, whole batches of the log are acquired."""
_SEND_AFTER_MS: Final = 10
"""While handlers run, acknowledgements wait this long for others."""
# Attempts and locks need no exact times, so they are looked at ten times a second. A run that slots have not started
# completely is looked at more often, as other slots may be free for the rest of it.
_WATCH_MS: Final = 100
_BUSY_WATCH_MS: Final = 20
_IDLE_MS: Final = 1_000
_RELEASED_AT: Final = 0.25
"""Records whose lock cannot be renewed are released when this part of it is left."""
_GAUGES_MS: Final = 1_000
POLL_AT_LEAST_MS: Final = 30_000
"""A consumer that does not poll for `max.poll.interval.ms` leaves its group."""


@frozen(kw_only=True)
class DriverParts:
    """The parts that a driver works with.

    Attributes:
        spec: The handler.
        consumer: Its consumer, in explicit mode, with automatic renewal.
        handling: Its rules.
        clock: Time.
        writer: Writes records for the handlers of the process; None if this one writes none.
        report: Takes metrics and events.
        times: Takes the durations of the operations of its clients.
        poll_at_least_ms: The longest time without a poll.
        others: Returns what other processes of the worker run of some offsets, or ran when they were killed.
        arrived: Returns a record as the rules get it, given one as it was read; None for the same record.
    """

    spec: HandlerSpec
    consumer: AsyncKafkaShareConsumer[bytes, bytes]
    handling: RecordHandling[AnyRecord]
    clock: Clock
    writer: ProcessWriter | None
    report: HandlerReport
    times: OperationTimes
    poll_at_least_ms: int = POLL_AT_LEAST_MS
    others: Callable[[TopicIdPartition, int, int], Sequence[RunningRange]] | None = None
    arrived: Callable[[AnyRecord], AnyRecord] | None = None


class HandlerDriver:
    """Runs one handler until it is stopped.

    Args:
        parts: What it works with.
        slots: Run the handler. Drivers of the same handler share them.
    """

    def __init__(self, parts: DriverParts, slots: HandlerSlots) -> None:
        self._spec = parts.spec
        self._consumer = parts.consumer
        self._hooks = hooks_of(parts.consumer)
        self._handling = parts.handling
        self._clock = parts.clock
        self._report = parts.report
        self._times = parts.times
        self._poll_at_least_ms = parts.poll_at_least_ms
        self._others = parts.others
        self._arrived = parts.arrived
        self._woken = asyncio.Event()
        self._polling: asyncio.Task[AnyRecords] | None = None
        self._unsent_since_ms: int | None = None
        self._mailbox = Mailbox(asyncio.get_running_loop(), self._wake)
        self._slots = slots
        slots.use()
        self._watch = RunWatch(parts.spec, self._slots, parts.report)
        self._windows = WindowWatch(self._hooks.group, parts.handling.windows, parts.report, parts.clock)
        self._commits = WorkerCommits(parts.consumer, self._settled, self._survive, parts.times)
        self._writes = HandlerWrites(parts.spec.name, parts.handling.writing, parts.writer, parts.report, parts.times)
        self._writes.wake = self._wake
        self._is_stopping = self._must_pause = self._is_cut_short = False
        self._watched_ms = self._gauges_ms = self._polled_ms = parts.clock.now_ms()
        self._polled_s = 0.0
        self._gate = parts.handling.gate
        self._gate.wake_by(parts.handling, self._wake)
        self._shared_slots = parts.handling.slots
        self._shared_slots.wake_by(parts.handling, self._wake)
        self._hooks.inbox.on_session_ended = self._session_ended
        self._hooks.inbox.shares_limit = True

    def __repr__(self) -> str:
        return f"<HandlerDriver {self._spec.name} of {self._consumer!r}>"

    # ------------------------------------------------------------------------------------------ running

    async def run(self) -> None:
        """Subscribe, and handle records until `stop` has been called and everything is settled.

        Raises:
            KafkaGroupsError: The group can no longer be read.
            Exception: The error of a handler for which a rule stops the worker.
        """
        await self._consumer.subscribe(self._spec.topics)
        self._note_details()  # the first rate is that since now
        try:
            while not self._is_over:
                self._turn(self._clock.now_ms())
                if not self._is_over:
                    await self._rest(self._clock.now_ms())
        finally:
            # Attempts that cannot be stopped are left first, so that nothing below waits for them. The poll ends before
            # commits are given up, because it may carry acknowledgements. The gate is last: the others may then rely on
            # this handler being done.
            self._watch.leave_hung()
            self._slots.close()
            await self._end_poll()
            await self._windows.close()
            self._commits.give_up()
            self._note_gauges()
            self._report.stopped()
            self._handling.leave()
        if self._handling.outcomes.stopped_by is not None:
            raise self._handling.outcomes.stopped_by

    async def _end_poll(self) -> None:
        # A poll that was cancelled could have acquired records that nobody knows of. It is told to return instead.
        # Closing the consumer releases what it has brought.
        if self._polling is not None:
            self._cut_poll_short()
            await asyncio.wait([self._polling])
            self._take_polled(self._clock.now_ms())

    @property
    def _is_over(self) -> bool:
        if not self._is_stopping:
            return False
        if self._watch.is_full and not self._commits.is_waiting:
            return True  # nothing that is held could run any more
        # Runs that cannot be stopped do not count: their threads end with the process, and the broker gets their
        # records when the session ends.
        gone = (*self._watch.left, *self._watch.hung)
        return self._handling.has_only_runs and all(run in gone for run in self._handling.runs.under_way)

    def stop(self, grace_ms: int) -> None:
        """Stop fetching, run the held records for at most `grace_ms`, and release the rest.

        A second call may shorten the time.
        """
        self._is_stopping = True
        self._report.stopping(grace_ms)
        now_ms = self._clock.now_ms()
        self._handling.stop(now_ms, now_ms + grace_ms)
        self._must_pause = True
        self._wake()

    def suspect(self, ranges: Iterable[RunningRange]) -> None:
        """Remember what another process of the worker was running when it was killed."""
        self._handling.suspect(ranges)

    def _wake(self) -> None:
        self._woken.set()

    def _turn(self, now_ms: int) -> None:
        # Records of topics with a delay are due at a time of day, which may be set while they wait.
        self._handling.holdings.early.wall_ahead_ms = self._clock.wall_ms() - now_ms
        # Pausing keeps the consumer from fetching ahead. It may be called only when no poll is under way.
        if self._must_pause and self._may_call:
            self._must_pause = False
            self._consumer.pause()
        # What has happened comes before what is to be done: new records, results, and answers of the brokers may free
        # keys and slots that the steps then use.
        self._take_polled(now_ms)
        while (result := self._mailbox.take()) is not None:
            # A thread may have ended after the turn began. From an earlier time, its record would be tried too early.
            now_ms = self._clock.now_ms()
            self._ran(result, now_ms)
        self._commits.take_answers()
        self._writes.take_outcomes(now_ms)
        self._look_after(now_ms)
        self._do_steps(now_ms)
        # The time to stop is over, or a second signal has come. What cannot run any more was released by the steps
        # above; attempts under way are cancelled now.
        if self._handling.is_past_grace(now_ms):
            self._watch.end(self._handling.runs.under_way, now_ms)
        self._send(now_ms)
        self._report.take_events(self._handling)
        # A rule stops the worker. The releases go out in this turn, as `run` may end before another one.
        if self._handling.outcomes.stopped_by is not None and not self._is_stopping:
            self.stop(0)
            self._do_steps(now_ms)
            self._send_now(with_next_fetch=False)

    def _do_steps(self, now_ms: int) -> None:
        while (step := self._handling.next(now_ms)) is not None:
            if isinstance(step, AcknowledgeRecords):
                self._commits.add(step)
            elif isinstance(step, WriteRecords | WriteOutputs):
                self._writes.write(step)
                # The results of a run are due together. Nothing of what comes before a write has changed meanwhile.
                while (write := self._handling.writing.next(now_ms)) is not None:
                    self._writes.write(write)
            else:
                self._slots.submit(step, self._mailbox)
        self._writes.withdraw(now_ms)

    def _ran(self, result: RunResult, now_ms: int) -> None:
        self._watch.ended(result.run)
        # The report comes first: the rules change the attempts of a record, from which the report sees which were the
        # first.
        self._report.ran(result, self._clock.wall_ms())
        self._handling.pace.ran(len(result.run.records), 1000 * result.busy_s)
        self._handling.runs.ran(result.run, result.failures, now_ms, failed=result.failed, outputs=result.outputs)

    # ------------------------------------------------------------------------------------------ settling

    def _send(self, now_ms: int) -> None:
        """Send acknowledgements: at once if no handler runs, otherwise after a short delay, together with others."""
        if not self._commits.has_unsent:
            self._unsent_since_ms = None
            return
        if self._unsent_since_ms is None:
            self._unsent_since_ms = now_ms
        # A leader answers one request at a time, so many small acknowledgements would delay each other. While handlers
        # run, more of them will follow soon. If nothing runs, there is nothing to wait for.
        if self._handling.runs.under_way and now_ms - self._unsent_since_ms < _SEND_AFTER_MS:
            return
        self._send_now(with_next_fetch=False)

    def _send_now(self, *, with_next_fetch: bool) -> None:
        # The consumer takes one call at a time. A long poll is ended early, and the acknowledgements are sent after it.
        if self._may_call:
            self._commits.send(self._wake, with_next_fetch=with_next_fetch)
            self._unsent_since_ms = None
        else:
            self._cut_poll_short()

    def _settled(self, sent: SentRecords, refused: Sequence[RecordId], error: Exception | None) -> None:
        self._report.settled(sent.step.kind, sent.count - len(refused), has_moved=sent.step.has_moved)
        if error is not None:
            self._report.refused(len(refused), error)
        self._handling.outbox.settled(sent.step, refused_places=refused)

    # ------------------------------------------------------------------------------------------ fetching

    async def _rest(self, now_ms: int) -> None:
        """Wait for records, results or a time, whichever comes first."""
        if self._may_call and not self._is_stopping:
            self._begin_poll(now_ms)
        if not self._may_call and self._gate.is_asked(self._handling, now_ms):
            self._cut_poll_short()  # a suspect of another handler waits until nothing is acquired any more
        self._gate.tell(self._handling)
        self._shared_slots.tell(self._handling, now_ms)
        timer = asyncio.get_running_loop().call_later(self._wait_ms(now_ms) / 1000, self._woken.set)
        await self._woken.wait()
        self._woken.clear()
        timer.cancel()

    def _wait_ms(self, now_ms: int) -> int:
        longest_ms = self._idle_ms
        if self._handling.runs.under_way:
            longest_ms = _BUSY_WATCH_MS if any(run.unstarted for run in self._handling.runs.under_way) else _WATCH_MS
        if self._unsent_since_ms is not None:
            longest_ms = min(longest_ms, _SEND_AFTER_MS)
        due_ms = self._handling.wakes_ms()
        return longest_ms if due_ms is None else max(0, min(longest_ms, due_ms - now_ms))

    @property
    def _idle_ms(self) -> int:
        """The longest wait while nothing runs. It is over before a lock ends that cannot be renewed."""
        lock_s = self._consumer.acquisition_lock_timeout
        if lock_s is None or not self._hooks.inbox.in_hand:
            return _IDLE_MS
        return min(_IDLE_MS, round(1000 * lock_s * _RELEASED_AT / 2))

    @property
    def _may_call(self) -> bool:
        """True if no poll is under way, so that the consumer may be called."""
        return self._polling is None

    def _begin_poll(self, now_ms: int) -> None:
        self._handling.holdings.early.partitions = max(1, len(self._consumer.assignment()))
        wanted = self._handling.wanted(now_ms)
        # There are two reasons to poll: records are wanted, or the consumer would be taken for stuck and leave the
        # group, which would cost each record in hand a delivery.
        if not wanted and now_ms - self._polled_ms < self._poll_at_least_ms:
            return
        # A small fetch is exact, so that a handler of long jobs does not hold records that others could run. A large
        # one takes whole batches of the log, which the brokers need not split.
        is_exact = wanted <= _EXACT_FETCHES_UP_TO
        self._consumer.fetches_ahead = not is_exact
        self._consumer.fetch_limit = max(1, wanted) if is_exact else None
        # They travel with the fetch, which saves a request.
        if self._commits.has_unsent:
            self._send_now(with_next_fetch=True)
        self._polled_ms, self._polled_s = now_ms, self._times.timer()
        poll = self._consumer.poll(_IDLE_MS / 1000 if wanted else 0, hold=True)
        self._polling = asyncio.get_running_loop().create_task(poll)
        self._handling.is_fetching, self._is_cut_short = True, not wanted
        self._polling.add_done_callback(lambda _: self._wake())

    def _cut_poll_short(self) -> None:
        self._is_cut_short = True
        self._hooks.end_poll()

    def _take_polled(self, now_ms: int) -> None:
        if self._polling is None or not self._polling.done():
            return
        polling, self._polling = self._polling, None
        self._handling.is_fetching = False
        try:
            records = polling.result()
        except KafkaGroupsError as error:
            self._survive(error)
            return
        if records:
            self._times.received(self._polled_s, (each.topic_partition for each in deliveries_of(records)))
        self._take(records, now_ms)
        # A poll that did not wait, or ended early because acknowledgements were to be sent, says nothing about what
        # there is to fetch.
        if records or not self._is_cut_short:
            self._handling.fetched(is_empty=not records)

    def _survive(self, error: KafkaGroupsError) -> None:
        if not is_passing(error, has_fetched=self._consumer.has_fetched):
            raise error
        self._report.survived(error)

    def _take(self, records: AnyRecords, now_ms: int) -> None:
        for delivery in deliveries_of(records):
            place, last_offset = delivery.topic_partition, delivery.last_offset
            if not delivery.has_open:
                continue  # its session has ended since the poll returned it
            self._end_earlier(delivery, now_ms)
            self._look_at_others(delivery)
            # The driver sees which of the two ways a delivery takes by its ranges alone, without decoding a record. One
            # range with a higher count, or one record that is known to have run in a killed process, is enough for the
            # careful way.
            is_suspect = self._handling.holdings.suspects.named.covers(place, delivery.first_offset, last_offset)
            if delivery.max_delivery_count <= 1 and not is_suspect and self._arrived is None:
                self._handling.arrived_first(place, delivery, last_offset, now_ms)
            else:
                taken = list(delivery) if self._arrived is None else list(map(self._arrived, delivery))
                self._handling.arrived(place, taken, _counts(delivery, taken), last_offset, now_ms)

    def _look_at_others(self, delivery: DeliveredRecords) -> None:
        """Suspect what other processes were running: the brokers may redeliver it before their parent names it."""
        if self._others is None or delivery.max_delivery_count <= 1:
            return
        if found := self._others(delivery.topic_partition, delivery.first_offset, delivery.last_offset):
            self.suspect(found)

    # ------------------------------------------------------------------------------------------ locks

    def _end_earlier(self, delivery: DeliveredRecords, now_ms: int) -> None:
        """End earlier deliveries of these offsets: their locks are lost. A new leader may restart delivery counts."""
        for earlier in self._hooks.inbox.in_hand:
            if earlier is delivery or earlier.topic_partition != delivery.topic_partition or not earlier.has_open:
                continue
            # There are two cases. A delivery of an earlier session to this partition has lost all its locks: brokers
            # release what a member has acquired when its session ends (SharePartitionManager.releaseSession in Kafka).
            # A delivery of the same session has lost only the offsets that came again.
            if earlier.session != delivery.session:
                self._lost(earlier, now_ms)
            else:
                self._end_ranges(earlier, delivery.ranges, now_ms)

    def _end_ranges(self, earlier: Delivery, ranges: Sequence[AcquiredRecords], now_ms: int) -> None:
        """End the offsets of a delivery that one of these ranges has.

        They must not be renewed any more: the member would keep its locks even after it has lost the later delivery.
        """
        first, last = earlier.first_offset, earlier.last_offset
        again = [each for each in ranges if each.first_offset <= last and first <= each.last_offset]
        if not again:
            return
        if self._commits.has_unsent:  # of this delivery, perhaps
            self._send_now(with_next_fetch=False)
        self._handling.lost(lambda record: delivery_of(record) is earlier and _is_in(record, again), now_ms)
        self._watch.lost(self._handling.runs.under_way)
        for each in again:
            earlier.let_go_range(each.first_offset, each.last_offset)

    def _session_ended(self, session: SessionId) -> None:
        for delivery in self._hooks.inbox.in_hand:
            if delivery.session == session:
                self._lost(delivery, self._clock.now_ms())
        self._wake()

    def _lost(self, delivery: Delivery, now_ms: int) -> None:
        self._handling.lost(lambda record: delivery_of(record) is delivery, now_ms)
        self._watch.lost(self._handling.runs.under_way)
        delivery.let_go()

    def _look_after(self, now_ms: int) -> None:
        """Check long runs, locks and windows, each at its interval."""
        if any(run.unstarted for run in self._handling.runs.under_way):
            self._handling.runs.stretched(now_ms)
        if now_ms - self._watched_ms >= _WATCH_MS:
            self._watched_ms = now_ms
            self._watch.look(self._handling.runs.under_way, now_ms)
            self._look_at_locks(now_ms)
        if now_ms - self._gauges_ms >= _GAUGES_MS:
            self._gauges_ms = now_ms
            self._handling.measure_windows(now_ms)
            self._windows.look(now_ms)
            self._note_gauges()

    def _note_gauges(self) -> None:
        missing = self._hooks.missing_topics()
        self._report.gauges(self._handling, hung=self._watch.hung, state=self._consumer.state, missing=missing)
        self._note_details()

    def _note_details(self) -> None:
        self._report.details(self._handling, self._clock.now_ms())

    def _look_at_locks(self, now_ms: int) -> None:
        lock_s = self._consumer.acquisition_lock_timeout
        for delivery in self._hooks.inbox.in_hand:
            left_ms = delivery.lock_deadline_ms - now_ms
            # There are two cases. A lock whose deadline has passed without a renewal counts as lost, even if no broker
            # says so: it may be in the hands of another member.
            if left_ms <= 0 and delivery.has_open:
                self._lost(delivery, now_ms)
            # A lock that cannot be renewed ends during a wait for a retry at the latest. Releasing the record before
            # has the same price, one delivery, but the record is back at once, and its handler cannot start on a lock
            # that ends under it.
            elif not delivery.renewable and lock_s is not None and left_ms <= 1000 * lock_s * _RELEASED_AT:
                self._release_unrenewable(delivery, now_ms)

    def _release_unrenewable(self, delivery: Delivery, now_ms: int) -> None:
        released = self._handling.release(lambda record: delivery_of(record) is delivery, now_ms)
        if released:
            self._report.released_unrenewable(released, delivery.topic_partition)


def _is_in(record: AnyRecord, ranges: Sequence[AcquiredRecords]) -> bool:
    return any(each.first_offset <= record.offset <= each.last_offset for each in ranges)


def _counts(delivery: DeliveredRecords, records: Sequence[AnyRecord]) -> Sequence[int]:
    if len(delivery.ranges) == 1:
        return [delivery.ranges[0].delivery_count] * len(records)
    return [record.delivery_count for record in records]
