"""Run the handlers of a worker in this process: one consumer and one driver each, on one loop."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence

from attrs import define

from kafka_groups.client.assembly import Environment
from kafka_groups.errors import GroupMaxSizeReachedError
from kafka_groups.errors.log_tracebacks import cut_tracebacks, log_end
from kafka_groups.net.rate_limited_log import RateLimitedLog
from kafka_groups.share.aio import hooks_of
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.group_queries import UNANSWERED
from kafka_groups.share.workers.group_start import set_group_start
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import HAS_STOPPED, Health, stopped_health
from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.slot_sharing import SharedSlots
from kafka_groups.share.workers.running.checks.preflight import member_preflight
from kafka_groups.share.workers.running.driver import POLL_AT_LEAST_MS, DriverParts, HandlerDriver
from kafka_groups.share.workers.running.handler_calls import CallContext, HandlerCalls
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.share.workers.running.handler_setup import (
    WorkerConsumer,
    connection_of,
    handler_rate,
    handling_rules,
    worker_consumer,
)
from kafka_groups.share.workers.running.members.full_retry_group import FullRetryGroup
from kafka_groups.share.workers.running.members.handler_members import HandlerMember, group_starts, members_of
from kafka_groups.share.workers.running.operations import OperationTimes
from kafka_groups.share.workers.running.record_writing import ProcessWriter, confirmed_writer
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.share.workers.running.slots import HandlerSlots, TaskSlots, ThreadSlots
from kafka_groups.telemetry.workers import WorkerTelemetry

__all__ = ["WorkerRuntime"]

_LOG = logging.getLogger("kafka_groups.worker")
cut_tracebacks(_LOG)


@define(eq=False)
class _Running:
    member: HandlerMember
    consumer: WorkerConsumer
    report: HandlerReport
    handling: RecordHandling[AnyRecord]
    driver: HandlerDriver
    slots: HandlerSlots
    shared: SharedSlots
    task: asyncio.Task[None] | None = None
    error: Exception | None = None
    is_closed: bool = False

    @property
    def name(self) -> str:
        return self.member.spec.name

    @property
    def has_ended(self) -> bool:
        return self.task is not None and self.task.done()


def _poll_at_least_ms(settings: RuntimeSettings) -> int:
    """Return the longest time without a poll: well within `max.poll.interval.ms`."""
    config, _ = connection_of(settings)
    # A third leaves time for two more polls if one fails.
    return min(POLL_AT_LEAST_MS, config.max_poll_interval_ms // 3)


class WorkerRuntime:
    """The handlers of a worker on this loop. Handlers declared with `async def` run on another one.

    Args:
        settings: What the handlers share.
        specs: The handlers.
        handler_loop: The loop of asynchronous handlers.
        telemetry: The metrics.
        on_hang: Called when an attempt hangs and cannot be stopped. All handlers then stop.
    """

    def __init__(
        self,
        settings: RuntimeSettings,
        specs: Sequence[HandlerSpec],
        handler_loop: asyncio.AbstractEventLoop | None,
        telemetry: WorkerTelemetry,
        on_hang: Callable[[], None] | None = None,
    ) -> None:
        self._settings = settings
        self._specs = specs
        self._handler_loop = handler_loop
        self._telemetry = telemetry
        environment = settings.environment or Environment()
        self._clock = environment.clock
        self._rng = environment.rng or random.Random()
        self._gate = ProcessGate()
        self._full_group = FullRetryGroup(
            [member for spec in specs for member in members_of(spec, settings.group_id) if member.is_retry]
        )
        self._running: list[_Running] = []
        self._on_hang = on_hang
        self._writer: ProcessWriter | None = None
        self._error: Exception | None = None

    def __repr__(self) -> str:
        return f"<WorkerRuntime of group {self._settings.group_id}: {len(self._running)} handlers>"

    async def start(self) -> None:
        """Look at the group and its topics, then start all handlers.

        Raises:
            ConfigurationError: A topic for dead letters does not exist, the handler's rules do not fit the group, or
                the group has another start.
            KafkaGroupsError: The brokers cannot be reached.
        """
        try:
            for spec in self._specs:
                rate = handler_rate(spec, self._settings.processes)
                slots, shared = self._slots(spec), SharedSlots(spec.concurrency, rate)
                breaker = Breaker.of_handler(self._rng)
                for member in members_of(spec, self._settings.group_id):
                    self._running.append(await self._prepared(member, slots, shared, breaker))
            if self._settings.sets_start:
                for start in group_starts(self._settings.start, self._specs, self._settings.group_id):
                    await set_group_start(start, *connection_of(self._settings))
        except BaseException:
            # A start may also end by a cancellation, when a signal comes. The consumers that exist already are closed
            # all the same, so everything is caught, and raised again.
            await self._close()
            raise
        loop = asyncio.get_running_loop()
        for running in self._running:
            running.task = loop.create_task(self._run(running), name=f"worker-{running.name}")

    async def _prepared(
        self, member: HandlerMember, slots: HandlerSlots, shared: SharedSlots, breaker: Breaker
    ) -> _Running:
        settings, spec = self._settings, member.spec
        consumer = worker_consumer(settings, member.group_id)
        try:
            with hooks_of(consumer).group.logging_warnings():  # without them a start without brokers is silent
                group = await member_preflight(consumer, member, has_start=settings.start is not None)
            rules = handling_rules(member, group, self._clock)
        except BaseException:
            # The consumer is not in `_running` yet, so nobody else would close it. Cancellations are included, as in
            # `start`.
            await consumer.close()
            raise
        observer = self._telemetry.handler(spec.name)
        report = HandlerReport(spec, observer, RateLimitedLog(self._clock), group)
        report.on_hang = self._hangs
        parts = DriverParts(
            spec=spec,
            consumer=consumer,
            handling=RecordHandling(rules, self._rng, self._gate, shared, is_retry=member.is_retry, breaker=breaker),
            clock=self._clock,
            writer=self._writer_for(spec),
            report=report,
            times=OperationTimes.of(member.group_id, settings.timer, settings.middleware),
            poll_at_least_ms=_poll_at_least_ms(settings),
            others=settings.others,
            arrived=member.arrived if member.is_retry else None,
        )
        parts.handling.suspect(settings.suspects)
        driver = HandlerDriver(parts, slots)
        return _Running(member, consumer, report, parts.handling, driver, slots, shared)

    def _writer_for(self, spec: HandlerSpec) -> ProcessWriter | None:
        """Return the writer of the process, which is made for the first handler that may write records."""
        settings = self._settings
        if not spec.writes_records:
            return None
        if self._writer is None and settings.writer is not None:
            self._writer = settings.writer()
        elif self._writer is None:
            config, environment = connection_of(settings)
            self._writer = confirmed_writer(config, settings.producer, environment)
        return self._writer

    def _slots(self, spec: HandlerSpec) -> HandlerSlots:
        settings = self._settings
        client_id = str(settings.given.get("client_id", settings.given.get("client.id", "")))
        context = CallContext(settings.group_id, client_id, settings.middleware, settings.timer, settings.opened)
        calls = HandlerCalls(spec, context)
        notes = None if settings.notes is None else settings.notes(spec)
        if spec.is_async:
            loop = self._handler_loop or asyncio.get_running_loop()
            return TaskSlots(loop, calls, notes)
        return ThreadSlots(f"{settings.group_id}-{spec.name}", spec.concurrency, calls, notes)

    async def _run(self, running: _Running) -> None:
        try:
            await self._noting(running, self._drive(running))
        finally:
            await self._noting(running, running.consumer.close())
            if self._writer is not None and all(each.is_closed for each in self._running if each is not running):
                await self._noting(running, self._writer.close())
            running.is_closed = True

    async def _drive(self, running: _Running) -> None:
        """Run a driver until it is stopped. A member for which its retry group has no room tries again later."""
        is_first = True
        while True:
            try:
                return await running.driver.run()
            except GroupMaxSizeReachedError as full:
                if not running.member.is_retry:
                    raise
                running.report.unready = ()  # others read the topic
                readers_of = hooks_of(running.consumer).group.reader_count
                await self._full_group.check(running.member, full, readers_of, is_first=is_first)
            if not await self._began_anew(running):
                return None
            is_first = False

    async def _began_anew(self, running: _Running) -> bool:
        """Wait, and prepare a member once more. Returns False if the worker stops."""
        while await self._full_group.wait():
            try:
                made = await self._prepared(running.member, running.slots, running.shared, running.handling.breaker)
            except UNANSWERED as error:
                _LOG.debug("Handler %s: cannot look at its retry group now: %s", running.name, error)
                continue
            gone, running.consumer = running.consumer, made.consumer
            await gone.close()
            running.report, running.handling, running.driver = made.report, made.handling, made.driver
            return not self._full_group.is_stopping
        return False

    async def _noting(self, running: _Running, running_on: Awaitable[None]) -> None:
        """Wait for a part of a handler's run. Any error of it ends the worker: `wait` raises the first one."""
        try:
            await running_on
        except Exception as error:
            # Errors of Kafka, exceptions for which a rule stops the worker, and mistakes of this package: the worker
            # must not go on with one handler less and appear healthy. All handlers stop, and `wait` raises the error.
            self._failed(running, error)

    def _failed(self, running: _Running, error: Exception) -> None:
        """Log the error now, as programs that embed the worker may look at it only when they end."""
        if error is not running.handling.outcomes.stopped_by:  # the rules have logged that one
            log_end(_LOG, f"Handler {running.name}: the worker stops because of an error", error)
        # The first error is the cause. Those that closing the consumer raises afterwards are only logged.
        running.error = running.error or error
        self._error = self._error or error
        self.stop(0)

    def _hangs(self) -> None:
        # Without a function, the worker is embedded: it must not end the program, and goes on with its other slots.
        if self._on_hang is not None:
            self._on_hang()
            self.stop(self._settings.shutdown_ms)

    def stop(self, grace_ms: int) -> None:
        """Stop fetching, run the held records for at most `grace_ms`, and release the rest. Does not wait."""
        self._full_group.stop()
        for running in self._running:
            # A handler that has ended, or that ends because of its own error, needs no stop: its driver's consumer may
            # be closed.
            if running.task is not None and not running.has_ended and running.error is None:
                running.driver.stop(grace_ms)

    def suspect(self, ranges: Sequence[RunningRange]) -> None:
        """Remember what another process of the worker was running when it was killed."""
        for running in self._running:
            running.driver.suspect(ranges)

    async def wait(self) -> None:
        """Wait until all handlers have stopped.

        Raises:
            Exception: The error that stopped the worker: of a handler with `OnError.STOP`, or of the group.
        """
        await asyncio.gather(*(running.task for running in self._running if running.task is not None))
        if self._error is not None:
            raise self._error

    async def _close(self) -> None:
        for running in self._running:
            await running.consumer.close()
        if self._writer is not None:
            await self._writer.close()

    @property
    def health(self) -> Health:
        """The health of all handlers. Any thread may read it."""
        errors = {each.name: each.error for each in self._running if each.error is not None}
        if errors:
            return stopped_health(errors)
        reports = [running.report for running in self._running]
        is_live = all(report.is_live for report in reports)
        if self._running and all(running.has_ended for running in self._running):
            return Health(is_live, is_ready=False, reasons=(HAS_STOPPED,))
        reasons = [reason for report in reports for reason in report.unready]
        return Health(is_live, is_live and not reasons, tuple(reasons))
