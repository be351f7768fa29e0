"""The reports of a driver: its log, its figures, and its health."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from kafka_groups.client.logbook import Logbook
from kafka_groups.net.clock import Clock
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.dead_letters import place_of
from kafka_groups.share.workers.rules.events import EventKind, HandlingEvent
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.steps import OpenRecord, RecordRun
from kafka_groups.share.workers.rules.window import NOT_READY_AT, WARN_AT, WindowUse
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.telemetry.workers import WorkerObserver
from kafka_groups.types import AcknowledgeType, ConsumerState, TopicIdPartition

__all__ = ["HandlerReport"]

_LOG = logging.getLogger("kafka_groups.worker")

_OUTCOMES = {
    AcknowledgeType.ACCEPT: "accepted",
    AcknowledgeType.REJECT: "rejected",
    AcknowledgeType.RELEASE: "released",
}
_STARTING = (ConsumerState.UNSUBSCRIBED, ConsumerState.JOINING)


class HandlerReport:
    """Log, figures and health of one handler.

    Args:
        spec: The handler.
        observer: Takes the figures.
        logbook: Repeats warnings at growing intervals.
        record_locks: The group's `share.partition.max.record.locks`.

    Attributes:
        unready: Why the handler is not ready; empty if it is.
        on_hang: Called when an attempt hangs.
        is_live: False if an attempt hangs and cannot be stopped.
    """

    def __init__(self, spec: HandlerSpec, observer: WorkerObserver, logbook: Logbook, record_locks: int) -> None:
        self._spec = spec
        self._observer = observer
        self._logbook = logbook
        self._record_locks = record_locks
        self._copy_error: Exception | None = None
        self.unready: Sequence[str] = (f"handler {spec.name} has not started",)
        self.is_live = True
        self.on_hang: Callable[[], None] | None = None

    # ------------------------------------------------------------------------------------------ figures

    def started(self, run: RecordRun[AnyRecord], clock: Clock) -> None:
        """Note that a run starts: how long its records waited for their first attempt, since the first was produced."""
        is_first = run.opened is None or not run.opened[0].attempts
        timestamp = run.records[0].timestamp if is_first else None
        if timestamp is not None:
            wait_s = max(0, clock.wall_ms() - timestamp) / 1000
            self._observer.waited([wait_s] * len(run.records))

    def ran(self, result: RunResult) -> None:
        """Count attempts."""
        calls = 1 if result.run.is_batch else len(result.run.records)
        results: Counter[tuple[str, str]] = Counter()
        for failure in result.failures:
            results["failed", type(failure.error).__name__] += 1
        if result.failed is not None:
            results["failed", type(result.failed).__name__] += 1
        succeeded = max(0, calls - results.total())
        if succeeded:
            results["succeeded", ""] += succeeded
        self._observer.ran(results, [result.busy_s / max(1, calls)] * calls)

    def settled(self, kind: AcknowledgeType, count: int) -> None:
        """Count records that the brokers confirmed."""
        if count:
            self._observer.settled(_OUTCOMES[kind], count)

    def refused(self, count: int, error: Exception) -> None:
        """Log records whose acknowledgement was refused."""
        self._warn("refused", "%d records will be delivered again: %s", count, error)

    def copied(self, opened: Sequence[OpenRecord[AnyRecord]], error: Exception | None) -> None:
        """Count dead letters, or log that they cannot be written."""
        self._copy_error = error
        if error is None:
            self._logbook.settled(self._subject("copies"))
            self._observer.dead_letters("before processing" if opened[0].is_before else "given up", len(opened))
            return
        self._warn(
            "copies",
            "dead letters cannot be written to %s; their records are held until they can be: %s",
            self._spec.dead_letters,
            error,
        )

    def figures(
        self,
        handling: RecordHandling[AnyRecord],
        *,
        hung: Sequence[RecordRun[AnyRecord]],
        state: ConsumerState,
        missing: Collection[str] = (),
    ) -> None:
        """Report the state of the handler."""
        self._observer.in_hand(handling.in_hand)
        self._observer.breaker(is_open=handling.breaker.is_open)
        self._observer.oldest(handling.windows.oldest_ms / 1000)
        uses = handling.windows.uses
        self._observer.windows({(p.topic or str(p.topic_id), p.partition): use.used for p, use in uses.items()})
        fullest = handling.windows.fullest
        if fullest is not None and fullest.used >= WARN_AT:
            self._warn_of_window(fullest)
        self.is_live = not hung
        topics = [f"handler {self._spec.name}: the topic {topic} does not exist" for topic in sorted(missing)]
        self.unready = (*topics, *self._reasons(handling, fullest, hung, state))

    def _reasons(
        self,
        handling: RecordHandling[AnyRecord],
        fullest: WindowUse | None,
        hung: Sequence[RecordRun[AnyRecord]],
        state: ConsumerState,
    ) -> list[str]:
        name = self._spec.name
        failing = ", ".join(sorted(handling.failing()))
        checks = {
            f"handler {name}: the consumer is {state.name.lower()}": state is not ConsumerState.ACTIVE,
            f"handler {name}: the breaker is open ({failing})": handling.breaker.is_open,
            f"handler {name}: {len(hung)} attempts exceed the timeout and cannot be stopped": bool(hung),
            f"handler {name}: too many records wait for a retry, a key or a dead letter": handling.is_full,
            f"handler {name}: dead letters cannot be written: {self._copy_error}": self._copy_error is not None,
        }
        reasons = [reason for reason, holds in checks.items() if holds]
        if fullest is not None and fullest.used >= NOT_READY_AT:
            reasons.append(
                f"handler {name}: the window of {fullest.partition} is full, held by offset {fullest.oldest}"
            )
        return reasons

    # ------------------------------------------------------------------------------------------ the log

    def take_events(self, handling: RecordHandling[AnyRecord]) -> None:
        """Log the events of the rules."""
        lost = 0
        while handling.events:
            event = handling.events.popleft()
            lost += event.kind is EventKind.LOST
            self._log(event)
        if lost:
            self._observer.locks_lost(lost)
            self._warn("lost", "the locks of %d records were lost: they will be delivered again", lost)

    def _log(self, event: HandlingEvent) -> None:
        place = f"{event.place[0]}@{event.place[1]}" if event.place is not None else ""
        if event.kind is EventKind.BREAKER_OPENED:
            _LOG.error(
                "Handler %s: the breaker is open after failures of different records in a row. One record is tried at"
                " a time until one succeeds; the others are held. Last error: %s",
                self._spec.name,
                _named(event.error),
            )
        elif event.kind is EventKind.BREAKER_CLOSED:
            self._logbook.settled(self._subject("probe"))
            _LOG.info("Handler %s: the breaker is closed, as a record has succeeded.", self._spec.name)
        elif event.kind is EventKind.PROBE_FAILED:
            self._warn("probe", "the breaker stays open, as %s failed: %s", place, _named(event.error))
        elif event.kind is EventKind.GAVE_UP:
            self._warn("gave up", "gave up %s: %s", place, event.text)
        elif event.kind is EventKind.HOLDS:
            self._warn(
                "holds",
                "%s keeps failing and is held, because there is no topic for dead letters: %s. Set dead_letters,"
                " exhausted or errors of the handler",
                place,
                event.text,
            )
        elif event.kind is EventKind.STOPS:
            _LOG.error("Handler %s: the worker stops because of %s: %s", self._spec.name, place, event.text)
        elif event.kind is EventKind.RETRIED:
            self._warn("retries", "%s failed and is tried again: %s", place, _named(event.error))

    def _warn_of_window(self, use: WindowUse) -> None:
        self._warn(
            "window",
            "offset %d holds back %s: %.0f %% of the window of %d records are used. Use shorter waits (retries,"
            " on_blocked) or more partitions before it stops",
            use.oldest,
            use.partition,
            100 * use.used,
            self._record_locks,
        )

    def windows_unknown(self, error: Exception) -> None:
        """Log that only this member's own records count for the windows."""
        self._warn("windows", "cannot ask how full the windows are, so only its own records count: %s", error)

    def hangs(self, run: RecordRun[AnyRecord], stack: str) -> None:
        """Log an attempt that cannot be stopped."""
        self.is_live = False
        index = max(0, len(run.records) - run.unstarted - 1)
        _LOG.error(
            "Handler %s: the attempt for %s@%d exceeds the timeout and cannot be stopped. Its record stays locked. It"
            " is here:\n%s",
            self._spec.name,
            *place_of(run.records[index]),
            stack,
        )
        if self.on_hang is not None:
            self.on_hang()

    def survived(self, error: Exception) -> None:
        """Log an error after which the worker continues."""
        self._warn(f"survived {type(error).__name__}", "continues after an error: %s", error)

    def released_unrenewable(self, count: int, partition: TopicIdPartition) -> None:
        """Log records that were released because their locks cannot be renewed."""
        self._warn(
            "unrenewable",
            "released %d records of %s before their locks end, because the locks cannot be renewed: use Kafka 4.2 or"
            " newer with share.renew.acknowledge.enable, shorter waits, or a smaller buffer",
            count,
            partition,
        )

    def _warn(self, subject: str, message: str, *arguments: object) -> None:
        self._logbook.warn(_LOG, self._subject(subject), f"Handler %s: {message}", self._spec.name, *arguments)

    def _subject(self, subject: str) -> str:
        return f"{subject} {self._spec.name}"


def _named(error: Exception | None) -> str:
    return f"{type(error).__name__}: {error}"
