"""The reports of a driver: its log, its metrics, and its health."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_groups.errors import is_retriable
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.net.rate_limited_log import RateLimitedLog
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.failures.signals import ParseError
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.share.workers.rules.steps import InvokeHandler, WriteOutputs, WritePurpose, WriteRecords
from kafka_groups.share.workers.rules.window import NOT_READY_AT, WARN_AT, WindowUse
from kafka_groups.share.workers.running.event_log import HandlerLog
from kafka_groups.share.workers.running.handler_group import HandlerGroup
from kafka_groups.share.workers.running.observation.handler_observation import HandlerObservation
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
_SUCCEEDED = ("succeeded", "")
_MOVED = "moved"
_STARTING = (ConsumerState.UNSUBSCRIBED, ConsumerState.JOINING)


class HandlerReport:
    """Log, metrics and health of one handler.

    Args:
        spec: The handler.
        observer: Takes the metrics.
        rate_limited_log: Repeats warnings at growing intervals.
        group: The facts about the group.

    Attributes:
        unready: Why the handler is not ready; empty if it is.
        on_hang: Called when an attempt hangs.
        is_live: False if an attempt hangs and cannot be stopped.
    """

    def __init__(
        self, spec: HandlerSpec, observer: WorkerObserver, rate_limited_log: RateLimitedLog, group: HandlerGroup
    ) -> None:
        self._spec = spec
        self._observer = observer
        self._log = HandlerLog(spec, rate_limited_log, group.dead_letter_topic)
        self._observation = HandlerObservation()
        self._record_locks = group.record_locks
        self._held: dict[str, Exception] = {}
        self.unready: Sequence[str] = (f"handler {spec.name} has not started",)
        self.is_live = True
        self.on_hang: Callable[[], None] | None = None
        self._is_stopping = False
        self._released = 0

    # ------------------------------------------------------------------------------------------ metrics

    def ran(self, result: RunResult, wall_ms: int) -> None:
        """Count the calls of a run that has ended, and how long its records waited for their first one.

        Call it before the rules get the result, which then count these attempts.

        Args:
            result: The result.
            wall_ms: The time of day.
        """
        self._log.failures(result)
        self._observation.ran(result, wall_ms)
        results, calls = _counted(result)
        self._observer.ran(results, calls, result.busy_s / max(1, calls))
        first = _first_attempts(result.run)
        if first and first[0].timestamp is not None:  # one wait for all: they were produced and began together
            wait_s = max(0.0, (wall_ms - first[0].timestamp) / 1000 - result.busy_s)
            self._observer.waited(len(first), wait_s)

    def settled(self, kind: AcknowledgeType, count: int, *, has_moved: bool = False) -> None:
        """Count records that the brokers confirmed. Those that have moved to a retry topic are not done yet."""
        if count:
            self._observer.settled(_MOVED if has_moved else _OUTCOMES[kind], count)
            if kind is not AcknowledgeType.RELEASE:
                self._observation.finished(count)
        if self._is_stopping and kind is AcknowledgeType.RELEASE:
            self._released += count

    def refused(self, count: int, error: Exception) -> None:
        """Log records whose acknowledgement was refused."""
        self._log.warn("refused", "%s will be delivered again: %s", counted(count, "record"), error)

    def written(self, write: WriteRecords[AnyRecord] | WriteOutputs[AnyRecord], error: Exception | None) -> None:
        """Count dead letters, or log that records cannot be written."""
        topic = write.records[0].topic
        if error is None:
            if self._held:
                self.held(topic, None)
            if write.purpose.is_dead_letter:
                is_before = write.purpose is WritePurpose.BEFORE_PROCESSING
                self._observer.dead_letters("before processing" if is_before else "given up", 1)
        # A refused output is a failure of its record, and is logged as such.
        elif write.purpose is not WritePurpose.OUTPUT or is_retriable(error):
            self.held(topic, error)

    def held(self, topic: str, error: Exception | None) -> None:
        """Log that a topic takes no records, or that it takes them again."""
        if error is None:
            if self._held.pop(topic, None) is not None:
                self._log.settled(f"writes {topic}")
            return
        self._held[topic] = error
        self._log.warn(
            f"writes {topic}",
            "%s",
            sentences(f"cannot write to {topic}: {error}", "The records that wait for it stay in hand"),
        )

    def details(self, handling: RecordHandling[AnyRecord], now_ms: int) -> None:
        """Report what people see who look at the worker."""
        self._observer.details(self._observation.details(handling.windows, handling.writing, now_ms))

    def gauges(
        self,
        handling: RecordHandling[AnyRecord],
        *,
        hung: Sequence[InvokeHandler[AnyRecord]],
        state: ConsumerState,
        missing: Collection[str] = (),
    ) -> None:
        """Report the state of the handler."""
        self._observer.in_hand(handling.in_hand)
        self._observer.outputs(handling.writing.unconfirmed_outputs)
        self._observer.breaker(is_open=handling.breaker.is_open)
        if (limited_ms := handling.take_limited_ms()) > 0:
            self._observer.rate_limited(limited_ms / 1000)
        self._observer.oldest(handling.windows.oldest_ms / 1000)
        uses = handling.windows.uses
        self._observer.windows({(p.topic or str(p.topic_id), p.partition): use.used for p, use in uses.items()})
        fullest = handling.windows.fullest
        if fullest is not None and fullest.used >= WARN_AT:
            self._warn_of_window(fullest)
        # Only what a restart repairs makes a worker not live. An outage does not, as a restart would only cost
        # deliveries.
        self.is_live = not hung
        topics = [f"handler {self._spec.name}: the topic {topic} does not exist" for topic in sorted(missing)]
        self.unready = (*topics, *self._reasons(handling, fullest, hung, state))

    def _reasons(
        self,
        handling: RecordHandling[AnyRecord],
        fullest: WindowUse | None,
        hung: Sequence[InvokeHandler[AnyRecord]],
        state: ConsumerState,
    ) -> list[str]:
        name = self._spec.name
        failing = ", ".join(sorted(handling.holdings.failing()))
        checks = {
            f"handler {name}: the consumer is {state.name.lower()}": state is not ConsumerState.ACTIVE,
            f"handler {name}: the breaker is open ({failing})": handling.breaker.is_open,
            f"handler {name}: {counted(len(hung), 'attempt')} cannot be stopped after the timeout": bool(hung),
            f"handler {name}: too many records wait for a retry, a key or a write": handling.holdings.is_full,
        }
        reasons = [reason for reason, holds in checks.items() if holds]
        reasons += [f"handler {name}: cannot write to {topic}: {error}" for topic, error in self._held.items()]
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
            self._log.event(event)
        if lost:
            self._observer.locks_lost(lost)
            self._log.warn("lost", "lost the locks of %s: Kafka delivers them again", counted(lost, "record"))

    def _warn_of_window(self, use: WindowUse) -> None:
        self._log.warn(
            "window",
            "offset %d holds back %s: %.0f %% of its window of %s is used. Use shorter waits, retry_topics, on_blocked"
            " or more partitions before it stops",
            use.oldest,
            use.partition,
            100 * use.used,
            counted(self._record_locks, "record"),
        )

    def windows_unknown(self, error: Exception) -> None:
        """Log that only this member's own records count for the windows."""
        self._log.warn(
            "windows", "cannot ask how full the windows are, so the worker counts only its own records: %s", error
        )

    def hangs(self, run: InvokeHandler[AnyRecord], stack: str) -> None:
        """Log an attempt that cannot be stopped."""
        self.is_live = False
        index = max(0, len(run.records) - run.unstarted - 1)
        _LOG.error(
            "Handler %s: the attempt for %s@%d exceeds the timeout and cannot be stopped. Its record stays locked. It"
            " is here:\n%s",
            self._spec.name,
            *record_id(run.records[index]),
            stack,
        )
        if self.on_hang is not None:
            self.on_hang()

    def survived(self, error: Exception) -> None:
        """Log an error after which the worker continues."""
        self._log.warn("survived", "continues after an error: %s", error, kind=type(error).__name__)

    def released_unrenewable(self, count: int, partition: TopicIdPartition) -> None:
        """Log records that were released because their locks cannot be renewed."""
        self._log.warn(
            "unrenewable",
            "released %s of %s before the locks expire, because the locks cannot be renewed: use Kafka 4.2 or newer"
            " with share.renew.acknowledge.enable, shorter waits, or a smaller buffer",
            counted(count, "record"),
            partition,
        )

    # --------------------------------------------------------------------------------------------- the end

    def stopping(self, grace_ms: int) -> None:
        """Log that the handler stops."""
        self._is_stopping = True
        self._log.stopping(grace_ms)

    def stopped(self) -> None:
        """Log that the handler has stopped."""
        self._log.stopped(self._released)


def _counted(result: RunResult) -> tuple[Mapping[tuple[str, str], int], int]:
    """Return how many attempts had each result and class of error, and how often the handler was called.

    A batch is one call: it has succeeded if the handler returned, whatever it decided about single records. Values
    that cannot be parsed are failed attempts of their own, as in a handler of single records.
    """
    run = result.run
    tried = len(run.records) - run.unstarted
    # Nearly all runs, and each run comes by here.
    if tried and not result.failures and result.failed is None:
        calls = 1 if run.is_batch else tried
        return {_SUCCEEDED: calls}, calls
    counted = [each.error for each in result.failures if not run.is_batch or isinstance(each.error, ParseError)]
    # A batch of which no value could be parsed is no call: its handler did not run.
    calls = min(1, tried - len(counted)) if run.is_batch else tried
    if result.failed is not None:
        counted.append(result.failed)
    results: Counter[tuple[str, str]] = Counter(("failed", type(error).__name__) for error in counted)
    succeeded = calls - (result.failed is not None if run.is_batch else len(counted))
    if succeeded > 0:
        results[_SUCCEEDED] = succeeded
    return results, calls


def _first_attempts(run: InvokeHandler[AnyRecord]) -> Sequence[AnyRecord]:
    """Return the records of a run that were tried for the first time since their delivery."""
    tried = len(run.records) - run.unstarted
    if run.opened is None:
        return run.records[:tried]
    return [opened.record for opened in run.opened[:tried] if not opened.all_attempts]
