"""One handler in a driver: the rules and the calls of production, with a test in the place of consumer and brokers."""

import random
from collections.abc import Iterator, Sequence
from typing import Self

from attrs import field, frozen

from kafka_groups.net.clock import Clock
from kafka_groups.net.rate_limited_log import RateLimitedLog
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.delivery.delivery import Delivery
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.failures.signals import ParseError
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.record_writes import CONSEQUENCES
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of
from kafka_groups.share.workers.rules.slot_sharing import SharedSlots
from kafka_groups.share.workers.rules.steps import (
    AcknowledgeRecords,
    InvokeHandler,
    OpenRecord,
    WriteOutputs,
    WriteRecords,
)
from kafka_groups.share.workers.rules.window import WARN_AT
from kafka_groups.share.workers.running.handler_calls import CallContext, HandlerCalls
from kafka_groups.share.workers.running.handler_group import HandlerGroup
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.share.workers.running.handler_setup import handler_rate, handling_rules
from kafka_groups.share.workers.running.handler_writes import HandlerWrites
from kafka_groups.share.workers.running.members.handler_members import HandlerMember, members_of
from kafka_groups.share.workers.running.operations import OperationTimes
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.share.workers.running.run_watch import RunWatch
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.share.workers.running.slots import HandlerSlots, Mailbox, TaskSlots
from kafka_groups.telemetry.workers import NoSensors
from kafka_groups.testing.worker_driver.deliveries import DeliveryProgress, DeliveryState, Outcome, WorkerDelivery
from kafka_groups.testing.worker_driver.handler_loop import HandlerLoop, WorkerTestError
from kafka_groups.testing.worker_driver.records import RecordLog
from kafka_groups.testing.worker_driver.retry_queues import RetryQueue
from kafka_groups.testing.worker_driver.written_records import WrittenRecords
from kafka_groups.types import AcknowledgeType, ConsumerState

__all__ = ["DrivenHandler", "DriverStage", "InlineSlots", "driven_handlers"]

_MOST_RETRIES_AT_ONCE = 100_000
"""The most runs at one time, apart from the first of each record in hand."""
_WATCH_MS = 1_000
"""A cancelled task is checked again after this time, as it may ignore the cancellation."""
_MEASURE_MS = 1_000
"""Windows that fill are measured at this interval, as in production."""

_OUTCOMES = {
    AcknowledgeType.ACCEPT: Outcome.ACCEPTED,
    AcknowledgeType.REJECT: Outcome.REJECTED,
    AcknowledgeType.RELEASE: Outcome.RELEASED,
}

RecordInHand = tuple[Delivery, int]


@frozen(kw_only=True)
class DriverStage:
    """The surroundings that all handlers of a driver share.

    Attributes:
        settings: The settings of the worker.
        group: The settings of the share group.
        clock: Virtual time.
        loop: The loop of asynchronous handlers.
        rng: For the jitter of waits.
        written: The topics that handlers write to.
        gate: What the handlers of a process share.
        log: Gives records their offsets.
        courses: The courses of the deliveries that go through retry topics, by the places of their first records.
    """

    settings: RuntimeSettings
    group: HandlerGroup
    clock: Clock
    loop: HandlerLoop
    rng: random.Random
    written: WrittenRecords
    gate: ProcessGate
    log: RecordLog
    courses: dict[RecordOrigin, DeliveryProgress] = field(factory=dict)


class InlineSlots:
    """Runs records in the thread of the test, one run after the other.

    Args:
        calls: Calls the handler.
    """

    def __init__(self, calls: HandlerCalls) -> None:
        self._calls = calls

    def use(self) -> None:
        """Do nothing: there is nothing to close."""

    def submit(self, run: InvokeHandler[AnyRecord], mailbox: Mailbox) -> None:
        """Run it. What ends programs, such as SystemExit, is raised."""
        mailbox.put(self._calls.in_thread(run))

    def cancel(self, run: InvokeHandler[AnyRecord], reason: Exception) -> bool:
        """Return False: as in a thread, a call cannot be cancelled."""
        del run, reason
        return False

    def leave(self, run: InvokeHandler[AnyRecord]) -> None:
        """Do nothing: no call is under way when the driver ends."""

    def stack_of(self, run: InvokeHandler[AnyRecord]) -> str:
        """Return nothing: no call is under way when somebody asks."""
        del run
        return ""

    def close(self) -> None:
        """Do nothing."""


@frozen
class HandlerShare:
    """The parts that the topics of one handler share: its own, and its retry topics.

    Attributes:
        slots: They run records.
        turns: Decides who may use them.
        breaker: Whether the sink is considered down.
    """

    slots: HandlerSlots
    turns: SharedSlots
    breaker: Breaker

    @classmethod
    def of(cls, spec: HandlerSpec, stage: DriverStage) -> Self:
        """Return the parts of a handler."""
        return cls(
            _slots_of(spec, stage),
            SharedSlots(spec.concurrency, handler_rate(spec, processes=1)),
            Breaker.of_handler(stage.rng),
        )


def driven_handlers(spec: HandlerSpec, stage: DriverStage) -> "list[DrivenHandler]":
    """Return a handler, first for its own topics, and then for each of its retry topics.

    Raises:
        ConfigurationError: The handler's rules do not fit the group.
    """
    share = HandlerShare.of(spec, stage)
    return [DrivenHandler(member, share, stage) for member in members_of(spec, stage.settings.group_id)]


def _slots_of(spec: HandlerSpec, stage: DriverStage) -> HandlerSlots:
    settings = stage.settings
    client_id = str(settings.given.get("client_id", settings.given.get("client.id", "")))
    context = CallContext(settings.group_id, client_id, settings.middleware, stage.loop.time, settings.opened)
    calls = HandlerCalls(spec, context)
    return TaskSlots(stage.loop, calls) if spec.is_async else InlineSlots(calls)


class DrivenHandler:
    """One handler with the records that it has in hand, of its own topics or of a retry topic.

    Args:
        member: The handler, and the topics.
        share: Shared with its other topics.
        stage: Its surroundings, shared with others.

    Raises:
        ConfigurationError: The handler's rules do not fit the group.
    """

    def __init__(self, member: HandlerMember, share: HandlerShare, stage: DriverStage) -> None:
        self.spec = spec = member.spec
        self._member = member
        self._stage = stage
        rules = handling_rules(member, stage.group, stage.clock)
        self.handling: RecordHandling[AnyRecord] = RecordHandling(
            rules, stage.rng, stage.gate, share.turns, is_retry=member.is_retry, breaker=share.breaker
        )
        self._queue = RetryQueue(member, stage.log, stage.clock)
        if member.retry_topic is not None:
            stage.written.read_by(member.retry_topic.topic, self._moved_here)
        self.handling.holdings.early.wall_ahead_ms = stage.clock.wall_ms() - stage.clock.now_ms()
        self._mailbox = Mailbox(stage.loop, _wake_nobody)
        self._slots = share.slots
        self._report = HandlerReport(spec, NoSensors(), RateLimitedLog(stage.clock), stage.group)
        self._watch = RunWatch(spec, self._slots, self._report)
        times = OperationTimes(stage.settings.group_id, stage.loop.time)
        self._writes = HandlerWrites(spec.name, self.handling.writing, stage.written, self._report, times)
        self._progress: dict[RecordInHand, DeliveryProgress] = {}
        self._runs_left = 0

    def __repr__(self) -> str:
        return f"<DrivenHandler {self.spec.name}>"

    # ------------------------------------------------------------------------------------------ records

    def take(self, records: Sequence[AnyRecord], delivery_count: int, now_ms: int) -> list[WorkerDelivery]:
        """Take records that arrive together."""
        arrived = list(map(self._member.arrived, records))
        made = [WorkerDelivery(record, self._progress_of(record), self) for record in arrived]
        self._arrive(arrived, delivery_count, now_ms)
        return made

    def _arrive(self, records: Sequence[AnyRecord], delivery_count: int, now_ms: int) -> None:
        delivery = delivery_of(records[0])
        place = delivery.topic_partition
        if delivery_count <= 1:
            self.handling.arrived_first(place, records, delivery.last_offset, now_ms)
        else:
            self.handling.arrived(place, records, [delivery_count] * len(records), delivery.last_offset, now_ms)

    def _moved_here(self, written: RecordToWrite) -> None:
        """Note a record that was written to the retry topic. It continues the course of its first delivery."""
        record = self._queue.append(written)
        progress = self._stage.courses.get(origin_of(record))
        if progress is not None:
            progress.retried = record, self
            self._progress[_key_of(record)] = progress

    def _fetch(self, now_ms: int) -> bool:
        """Take as many records of the retry topic as the rules want. Returns False if there are none."""
        wanted = min(self.handling.wanted(now_ms), len(self._queue)) if self._queue else 0
        for _ in range(wanted):
            self._arrive([self._queue.take()], 1, now_ms)
        if wanted:
            self.handling.fetched(is_empty=False)
        return wanted > 0

    def _progress_of(self, record: AnyRecord) -> DeliveryProgress:
        return self._progress.setdefault(_key_of(record), DeliveryProgress())

    def holds(self, record: AnyRecord) -> bool:
        """Return whether a record is in hand."""
        progress = self._progress.get(_key_of(record))
        return progress is not None and progress.outcome is None and self._queue.due_in_ms(record) is None

    def lose(self, record: AnyRecord, now_ms: int) -> None:
        """Lose the lock of a record in hand."""
        key = _key_of(record)
        self.handling.lost(lambda other: _key_of(other) == key, now_ms)
        self._watch.lost(self.handling.runs.under_way)
        self._progress_of(record).outcome = Outcome.LOST

    # -------------------------------------------------------------------------------------------- steps

    def begin_turn(self) -> None:
        """Note that a turn begins, in which a limited number of runs may start."""
        self._runs_left = _MOST_RETRIES_AT_ONCE + sum(self.handling.in_hand.values())

    def step(self, now_ms: int) -> bool:
        """Do everything that the rules ask for now. Returns False if there was nothing to do."""
        has_worked = self._take_results(now_ms) | self._writes.take_outcomes(now_ms) | self._fetch(now_ms)
        while (step := self.handling.next(now_ms)) is not None:
            has_worked = True
            if isinstance(step, AcknowledgeRecords):
                self._settle(step)
            elif isinstance(step, WriteRecords | WriteOutputs):
                self._write(step)
            else:
                self._start(step)
                self._take_results(now_ms)
        self._writes.withdraw(now_ms)
        return has_worked

    def _write(self, step: WriteRecords[AnyRecord] | WriteOutputs[AnyRecord]) -> None:
        # The record may come from its retry topic before the acknowledgement of this one.
        if isinstance(step, WriteRecords) and CONSEQUENCES[step.purpose].moves:
            record = step.opened.record
            self._stage.courses[origin_of(record)] = self._progress_of(record)
        self._writes.write(step)

    def _start(self, run: InvokeHandler[AnyRecord]) -> None:
        self._runs_left -= 1
        if self._runs_left < 0:
            raise WorkerTestError(
                f"handler {self.spec.name} ran more than {_MOST_RETRIES_AT_ONCE} times without time passing: a record"
                " that is held is retried after 0 seconds. Give the handler retries=Backoff(first=...) above 0"
            )
        for record in run.records:
            self._progress_of(record).attempts += 1
        self._slots.submit(run, self._mailbox)

    def _take_results(self, now_ms: int) -> bool:
        has_taken = False
        while (result := self._mailbox.take()) is not None:
            has_taken = True
            self._watch.ended(result.run)
            self._report.ran(result, self._stage.clock.wall_ms())
            self._note_errors(result)
            self.handling.runs.ran(result.run, result.failures, now_ms, failed=result.failed, outputs=result.outputs)
        return has_taken

    def _note_errors(self, result: RunResult) -> None:
        errors = {failure.index: failure.error for failure in result.failures}
        for index, record in enumerate(result.run.records):
            progress = self._progress_of(record)
            error = errors.get(index, result.failed)
            progress.attempts -= isinstance(error, ParseError)
            if error is not None:
                progress.errors.append(error)

    def _settle(self, step: AcknowledgeRecords[AnyRecord]) -> None:
        for record in () if step.has_moved else step.records:
            self._progress_of(record).outcome = _OUTCOMES[step.kind]
            if step.kind is not AcknowledgeType.ACCEPT:
                self._broker_copies(record, is_rejected=step.kind is AcknowledgeType.REJECT)
        self.handling.outbox.settled(step)

    def _broker_copies(self, record: AnyRecord, *, is_rejected: bool) -> None:
        group, settings = self._stage.group, self._stage.settings
        if group.dead_letter_topic is None:
            return
        if is_rejected or record.delivery_count >= group.delivery_limit:
            reason = "rejected" if is_rejected else "delivery limit reached"
            self._stage.written.broker_copies(group.dead_letter_topic, record, settings.group_id, reason)

    # --------------------------------------------------------------------------------------------- time

    def look(self, now_ms: int) -> None:
        """Look after timeouts and windows, and log what happened."""
        self._watch.look(self.handling.runs.under_way, now_ms)
        if self.handling.is_past_grace(now_ms):
            self._watch.end(self.handling.runs.under_way, now_ms)
        self.handling.measure_windows(now_ms)
        self._report.take_events(self.handling)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when something happens next, apart from timers of handlers; None for never."""
        times = [self.handling.wakes_ms(), *self._timeouts(now_ms)]
        if any(use.used >= WARN_AT for use in self.handling.windows.uses.values()):
            times.append(now_ms + _MEASURE_MS)
        return min((time for time in times if time is not None), default=None)

    def _timeouts(self, now_ms: int) -> Iterator[int]:
        if self.spec.timeout_ms is None:
            return
        for run, since_ms in self.handling.runs.under_way.items():
            if run not in self._watch.hung:
                end_ms = since_ms + self.spec.timeout_ms
                yield end_ms if end_ms > now_ms else now_ms + _WATCH_MS

    def stop(self, now_ms: int, until_ms: int) -> None:
        """Run what is held until a time, and release the rest."""
        self.handling.stop(now_ms, until_ms)

    # ---------------------------------------------------------------------------------------- questions

    @property
    def unready(self) -> Sequence[str]:
        """The reasons why the handler is not ready; empty if it is."""
        self._report.gauges(self.handling, hung=self._watch.hung, state=ConsumerState.ACTIVE)
        return self._report.unready

    @property
    def is_live(self) -> bool:
        """False if an attempt hangs and cannot be stopped."""
        return not self._watch.hung

    def state_of(self, record: AnyRecord) -> DeliveryState:
        """Return the state of a record without an outcome."""
        if self._queue.due_in_ms(record) is not None:
            return DeliveryState.WAITING
        key = _key_of(record)
        if any(_key_of(other) == key for run in self.handling.runs.under_way for other in run.records):
            return DeliveryState.RUNNING
        if self._waiting(key) is not None or self._early(key) is not None:
            return DeliveryState.WAITING
        if any(_key_of(opened.record) == key for opened in self.handling.writing):
            return DeliveryState.WRITING
        return DeliveryState.HELD

    def next_attempt_in(self, record: AnyRecord) -> float | None:
        """Return the virtual seconds until a waiting record is due; None if it does not wait."""
        if (due_in_ms := self._queue.due_in_ms(record)) is not None:
            return due_in_ms / 1000
        breaker = self.handling.breaker
        if (early := self._early(_key_of(record))) is not None:
            due_ms = self.handling.holdings.early_due_ms(early)
        elif (waiting := self._waiting(_key_of(record))) is not None:
            due_ms = breaker.next_probe_ms if breaker.is_open else waiting.due_ms
        else:
            return None
        return max(0, due_ms - self._stage.clock.now_ms()) / 1000

    def _early(self, key: RecordInHand) -> OpenRecord[AnyRecord] | None:
        return next((opened for opened in self.handling.holdings.early if _key_of(opened.record) == key), None)

    def _waiting(self, key: RecordInHand) -> OpenRecord[AnyRecord] | None:
        return next((opened for opened in self.handling.holdings.waiting if _key_of(opened.record) == key), None)


def _key_of(record: AnyRecord) -> RecordInHand:
    return delivery_of(record), record.offset


def _wake_nobody() -> None:
    """Do nothing: the driver looks at results by itself."""
