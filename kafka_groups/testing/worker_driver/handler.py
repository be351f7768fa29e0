"""One handler in a driver: the rules and the calls of production, with a test in the place of consumer and brokers."""

import random
from collections.abc import Iterator, Sequence

from attrs import frozen

from kafka_groups.net.clock import Clock
from kafka_groups.net.rate_limited_log import RateLimitedLog
from kafka_groups.share.delivery.delivery import Delivery
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.failures.signals import ParseError
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords, InvokeHandler, OpenRecord, WriteRecords
from kafka_groups.share.workers.rules.window import WARN_AT
from kafka_groups.share.workers.running.handler_calls import CallContext, HandlerCalls
from kafka_groups.share.workers.running.handler_members import HandlerMember
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.share.workers.running.handler_writes import HandlerWrites
from kafka_groups.share.workers.running.operations import OperationTimes
from kafka_groups.share.workers.running.preflight import HandlerGroup
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.share.workers.running.run_watch import RunWatch
from kafka_groups.share.workers.running.runtime import handling_rules
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.share.workers.running.slots import HandlerSlots, Mailbox, TaskSlots
from kafka_groups.telemetry.workers import NoSensors
from kafka_groups.testing.worker_driver.deliveries import DeliveryProgress, DeliveryState, Outcome, WorkerDelivery
from kafka_groups.testing.worker_driver.handler_loop import HandlerLoop, WorkerTestError
from kafka_groups.testing.worker_driver.written_records import WrittenRecords
from kafka_groups.types import AcknowledgeType, ConsumerState

__all__ = ["DrivenHandler", "DriverStage", "InlineSlots"]

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
    """

    settings: RuntimeSettings
    group: HandlerGroup
    clock: Clock
    loop: HandlerLoop
    rng: random.Random
    written: WrittenRecords
    gate: ProcessGate


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


class DrivenHandler:
    """One handler with the records that it has in hand.

    Args:
        spec: The handler.
        stage: Its surroundings, shared with others.

    Raises:
        ConfigurationError: The handler's rules do not fit the group.
    """

    def __init__(self, spec: HandlerSpec, stage: DriverStage) -> None:
        self.spec = spec
        self._stage = stage
        rules = handling_rules(HandlerMember(spec, stage.settings.group_id), stage.group, stage.clock)
        self.handling: RecordHandling[AnyRecord] = RecordHandling(rules, stage.rng, stage.gate)
        self.handling.holdings.early.wall_ahead_ms = stage.clock.wall_ms() - stage.clock.now_ms()
        self._mailbox = Mailbox(stage.loop, _wake_nobody)
        self._slots = self._made_slots()
        self._report = HandlerReport(spec, NoSensors(), RateLimitedLog(stage.clock), stage.group)
        self._watch = RunWatch(spec, self._slots, self._report)
        times = OperationTimes(stage.settings.group_id, stage.loop.time)
        self._writes = HandlerWrites(spec.name, self.handling.writing, stage.written, self._report, times)
        self._progress: dict[RecordInHand, DeliveryProgress] = {}
        self._runs_left = 0

    def __repr__(self) -> str:
        return f"<DrivenHandler {self.spec.name}>"

    def _made_slots(self) -> HandlerSlots:
        settings = self._stage.settings
        client_id = str(settings.given.get("client_id", settings.given.get("client.id", "")))
        context = CallContext(settings.group_id, client_id, settings.middleware, self._stage.loop.time, settings.opened)
        calls = HandlerCalls(self.spec, context)
        if self.spec.is_async:
            return TaskSlots(self._stage.loop, calls)
        return InlineSlots(calls)

    # ------------------------------------------------------------------------------------------ records

    def take(self, records: Sequence[AnyRecord], delivery_count: int, now_ms: int) -> list[WorkerDelivery]:
        """Take records that arrive together."""
        delivery = delivery_of(records[0])
        place = delivery.topic_partition
        made = [WorkerDelivery(record, self._progress_of(record), self) for record in records]
        if delivery_count <= 1:
            self.handling.arrived_first(place, records, delivery.last_offset, now_ms)
        else:
            self.handling.arrived(place, records, [delivery_count] * len(records), delivery.last_offset, now_ms)
        return made

    def _progress_of(self, record: AnyRecord) -> DeliveryProgress:
        return self._progress.setdefault(_key_of(record), DeliveryProgress())

    def holds(self, record: AnyRecord) -> bool:
        """Return whether a record is in hand."""
        progress = self._progress.get(_key_of(record))
        return progress is not None and progress.outcome is None

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
        has_worked = self._take_results(now_ms) | self._writes.take_outcomes(now_ms)
        while (step := self.handling.next(now_ms)) is not None:
            has_worked = True
            if isinstance(step, AcknowledgeRecords):
                self._settle(step)
            elif isinstance(step, WriteRecords):
                self._writes.write(step)
            else:
                self._start(step)
                self._take_results(now_ms)
        self._writes.withdraw(now_ms)
        return has_worked

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
        for record in step.records:
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
