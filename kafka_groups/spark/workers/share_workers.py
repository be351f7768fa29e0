"""Workers: Spark tasks that are consumers of a share group."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

from attrs import define, evolve

from kafka_groups.errors import ConfigurationError, IllegalStateError, KafkaGroupsError, OperationTimeoutError
from kafka_groups.errors.texts import counted
from kafka_groups.net.clock import SystemClock
from kafka_groups.spark.failures.go_on import GoOn
from kafka_groups.spark.failures.outage_server import HeldRecords, OutageServer
from kafka_groups.spark.groups.consumer_keys import options_and_keys
from kafka_groups.spark.groups.group_remaining import group_unread
from kafka_groups.spark.groups.preflight import preflight
from kafka_groups.spark.keywords import WorkersKeywords
from kafka_groups.spark.processes.interpreter import explained, use_driver_python
from kafka_groups.spark.processes.process_logs import set_up_logging
from kafka_groups.spark.processes.stop_switch import StopSwitch, is_connect
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.result import METRICS_DDL, ShareRunResult
from kafka_groups.spark.workers.budget import BudgetLimits
from kafka_groups.spark.workers.task_body import WorkerTask, task_body
from kafka_groups.spark.workers.ticks import checked_workers
from kafka_groups.spark.workers.worker_options import WorkerOptions, consumer_spec
from kafka_groups.telemetry.families import SPARK_FAMILIES
from kafka_groups.telemetry.sources import TelemetrySource, spark_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["RunEnd", "ShareWorkers", "ShareWorkersError"]

_LOG = logging.getLogger(__name__)
_DESCRIPTION = "spark.job.description"
_RECENT_RUNS = 100


@define
class RunEnd:
    """Decides after each round of workers whether the group is drained.

    It is if no worker has received records for a while and no records are left. If the brokers do not tell what is
    left, the run continues until records of consumers that were killed would have been redelivered, and ends in doubt.

    Attributes:
        drained_ms: The time without records that each worker must have seen.
        quiet_since_ms: Since when no worker has received records; None if some did in the last round.
        is_drained: Whether the run may end.
        is_in_doubt: Whether no records arrived in the last round, and it is unknown whether some are left.
        lag: The number of records that were left when no more arrived; 0 if none were, or if that is unknown.
    """

    drained_ms: int
    quiet_since_ms: int | None = None
    is_drained: bool = False
    is_in_doubt: bool = False
    lag: int = 0

    def round_ended(self, result: ShareRunResult, now_ms: int) -> None:
        """Note the result of a round."""
        empty_ms = min((worker.empty_ms for worker in result.workers), default=0)
        # A group is drained only if every worker found nothing for long enough. One alone may have no records in its
        # partitions.
        is_quiet = empty_ms >= self.drained_ms
        self.lag = max((worker.lag or 0 for worker in result.workers), default=0) if is_quiet else 0
        # The quiet time begins anew whenever records come. It goes on from round to round, as the patience may be
        # longer than one.
        if not is_quiet or result.total.acquired or self.quiet_since_ms is None:
            self.quiet_since_ms = now_ms - empty_ms if is_quiet else None
        self.is_in_doubt = is_quiet and not self.lag and result.lag_unknown is not None
        self.is_drained = is_quiet and not self.lag and (not self.is_in_doubt or self._is_patience_over(result, now_ms))

    def _is_patience_over(self, result: ShareRunResult, now_ms: int) -> bool:
        patience_ms = max(worker.patience_ms for worker in result.workers)
        # Waiting does not help if the brokers refuse to tell the lag.
        if not patience_ms or self.quiet_since_ms is None:
            return True
        return now_ms - self.quiet_since_ms >= patience_ms + self.drained_ms


class ShareWorkersError(KafkaGroupsError):
    """Workers failed. The records that they had not accepted are redelivered.

    Attributes:
        result: The metrics of the run's workers.
    """

    def __init__(self, result: ShareRunResult) -> None:
        failed = [worker for worker in result.workers if worker.failed]
        super().__init__(
            f"{len(failed)} of {counted(len(result.workers), 'worker')} failed:\n{failed[0].error}\n{result}"
        )
        self.result = result


class ShareWorkers:
    """Runs `process` on the records of a share group, in Spark tasks that each have their own consumer.

    Each task polls, calls `process(batch)`, accepts the records, waits for the brokers' confirmation and polls again,
    all in one Python worker. A record is stored before it is accepted, so a crash causes a redelivery and not a loss: a
    record may be processed more than once. Spark itself receives only metrics.

    If `process` raises, the worker holds the records, renews their locks and tries again, for as long as nothing
    succeeds (see `backoff_seconds`). A record can only be lost if the worker that reads it is killed until its
    deliveries are used up. Set `dead_letter_topic` to keep a copy.

    Args:
        config: Keys of the share consumer by Kafka's dotted names.
        topics: The topics to subscribe to.
        process: Called in the Python workers with each `ShareBatch`. It is pickled. If it has a method
            `close`, that is called when the consumer closes because no task has used it for a while.
        **keywords: The attributes of `WorkerOptions`, and keys of the share consumer by their Python names.

    Raises:
        ConfigurationError: A key or a value is invalid, or `process` cannot be pickled.
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        *,
        topics: Iterable[str],
        process: Callable[[ShareBatch], object],
        **keywords: Unpack[WorkersKeywords],
    ) -> None:
        self._options, keys = options_and_keys(WorkerOptions, keywords)
        self._spec = consumer_spec({**(config or {}), **keys}, topics, process, self._options)
        self._switch = StopSwitch()
        self._outage_server = OutageServer(GoOn(self._options.go_on_file))
        self._is_prepared = False
        self._told: set[str] = set()
        self._recent: tuple[ShareRunResult, ...] = ()
        self._total = ShareRunResult().total

    def __repr__(self) -> str:
        return f"<ShareWorkers group {self._spec.config.group_id} topics {', '.join(sorted(self._spec.topics))}>"

    def run(self, df: "DataFrame", batch_id: int) -> ShareRunResult:
        """Run one worker for each partition of a DataFrame until its limits are reached; for `foreachBatch`.

        Blocks until all workers are done. The rows of the DataFrame have no meaning (see `worker_ticks`).

        Args:
            df: The DataFrame from `foreachBatch`.
            batch_id: The number from `foreachBatch`; shown in Spark's user interface.

        Returns:
            The metrics of the workers; empty after `stop_gracefully`.

        Raises:
            ConfigurationError: Spark's Python lacks this package.
            UnknownTopicOrPartitionError: A topic does not exist.
            ShareWorkersError: Records failed while others succeeded, with `on_error="release"`, or a consumer could not
                continue.
        """
        return self._run(df, self.task(), f"batch {batch_id}")

    def run_until(
        self, spark: "SparkSession", *, workers: int, drained_for: float = 5.0, timeout: float | None = None
    ) -> ShareRunResult:
        """Run workers until none of them has received records for a while, without a streaming query.

        Nothing may be left for the group either: records may be locked by a worker that was killed, or be in partitions
        of a consumer that has no task at the moment. The workers ask for the group's lag (KIP-1226). Where the group
        has not finished a record yet, brokers tell no lag, so the records of the log count as
        `share.auto.offset.reset` says.

        With `latest` and `by_duration`, brokers may not tell whether such a partition has records for the group. Then
        the run waits until they would have redelivered the records of a killed consumer
        (`share.record.lock.duration.ms`, `share.session.timeout.ms`), or until `timeout`. If no records arrive, it
        ends, and `result.lag_unknown` says why it cannot be sure. If the user may not describe the group, it does not
        wait for more than `drained_for`.

        Args:
            spark: The session, classic or of Spark Connect.
            workers: The number of tasks that poll in parallel.
            drained_for: Seconds without records that end the run, while the worker had partitions to fetch from.
            timeout: Longest time in seconds, checked about every `max_seconds`; None for no limit. Failing records
                that may be redelivered are not held for longer.

        Returns:
            The metrics of the workers, process by process. `lag_unknown` is None if nothing is left, and otherwise says
            why that is unknown.

        Raises:
            ConfigurationError: A value is invalid, or Spark's Python lacks this package.
            IllegalStateError: `stop_gracefully` was called, so no worker may start.
            UnknownTopicOrPartitionError: A topic does not exist.
            OperationTimeoutError: After `timeout`, records were still arriving, the group had records left, or no
                partition was assigned.
            ShareWorkersError: Records failed while others succeeded, with `on_error="release"`, or a consumer could not
                continue.
        """
        count, drained_ms = checked_workers(workers), _milliseconds("drained_for", drained_for)
        if timeout is not None and _milliseconds("timeout", timeout) < drained_ms:
            raise ConfigurationError(f"timeout={timeout}: give more than drained_for, which is {drained_for} s")
        self._check_not_stopped(spark)
        self._prepare(spark)
        unread = group_unread(self._spec.config, self._spec.topics)
        clock, began_ms = SystemClock(), SystemClock().now_ms()
        total, end, number = ShareRunResult(), RunEnd(drained_ms), 0
        while not end.is_drained:
            self._check_not_stopped(spark)
            if timeout is not None and clock.now_ms() - began_ms >= timeout * 1000:
                # The time is up and no records came, but nobody knows whether some are left. The result says so; an
                # error would be as wrong as silence.
                if end.is_in_doubt:
                    break
                raise OperationTimeoutError(_not_drained(timeout, end, total))
            number += 1
            left_ms = None if timeout is None else max(0, round(timeout * 1000) - (clock.now_ms() - began_ms))
            task = evolve(self.task(drained_ms), hold_ms=left_ms, unread=unread)
            result = self._run(spark.range(0, count, 1, count), task, f"round {number}")
            total = total.plus(result)
            end.round_ended(result, clock.now_ms())
            self._log_what_is_left(end)
        if total.lag_unknown is not None:
            self._tell(total.lag_unknown)
        return total

    def stop_gracefully(self, query: "StreamingQuery") -> None:
        """Stop a query that calls `run` without killing its workers; blocks until the current batch has finished.

        Workers that hold records because the sink is down release them, except records on their last delivery: it
        blocks until these are processed. Afterwards `run` does nothing.
        """
        self._outage_server.end()
        self._switch.stop(query)

    def go_on(self) -> None:
        """Report that the sink works again: workers that wait because records fail retry at once.

        Touching `go_on_file` does the same from another process. You can call this from any thread. With Spark Connect,
        micro-batches run on the server, where only the file is seen.
        """
        self._outage_server.go_on.ask()

    @property
    def held(self) -> tuple[HeldRecords, ...]:
        """The records that workers hold because records fail and nothing succeeds; empty otherwise.

        Each waiting worker reports twice a second. You can read this from any thread. With Spark Connect, micro-batches
        run on the server, so their reports are not here.
        """
        return self._outage_server.held

    @property
    def recent_progress(self) -> tuple[ShareRunResult, ...]:
        """The results of the last 100 runs, oldest first, like `recentProgress` of a Spark query.

        A micro-batch is a run, and so is each round of `run_until`. Runs that raised `ShareWorkersError` are included;
        a run that Spark itself ended with an error has no result. You can read this from any thread while a query runs.
        With Spark Connect, micro-batches run on the server, so their results are not here.
        """
        return self._recent

    @property
    def last_progress(self) -> ShareRunResult | None:
        """The result of the last run, like `lastProgress` of a Spark query; None before the first run has ended."""
        return self._recent[-1] if self._recent else None

    @property
    def telemetry(self) -> TelemetrySource:
        """The sums over all runs for exporters, as counters of the group; see `kafka_groups.telemetry`.

        They cover the runs of `recent_progress` and those before. Any thread may read this.
        """
        return spark_source(self._sums, group=self._spec.config.group_id)

    def _log_what_is_left(self, end: RunEnd) -> None:
        """Log why a run continues although no records arrive."""
        if end.lag:
            _LOG.info("%r: no records arrive, but %d are left, which other consumers have or had", self, end.lag)
        elif end.is_in_doubt and not end.is_drained:
            _LOG.info(
                "%r: no records arrive, and it is unknown whether some are left: waiting for locks to expire", self
            )

    # ---------------------------------------------------------------------------------------- one job

    def task(self, drained_ms: int | None = None) -> WorkerTask:
        """Return what each task of a run does; `run_worker` runs it without Spark, for your own tests.

        Args:
            drained_ms: End when no records have arrived for this long; None to end after `max_seconds` in any case.
        """
        limits = BudgetLimits(self._options.max_records, round(self._options.max_seconds * 1000), drained_ms)
        backoff_ms = round(self._options.backoff_seconds * 1000)
        return WorkerTask(
            spec=self._spec,
            limits=limits,
            on_error=self._options.on_error,
            backoff_ms=backoff_ms,
            log_level=self._options.log_level,
        )

    def _run(self, df: "DataFrame", task: WorkerTask, what: str) -> ShareRunResult:
        session = df.sparkSession
        if self._switch.is_on(session):
            return ShareRunResult()
        self._prepare(session)
        name = f"kafka-share {self._spec.config.group_id} {what}"
        with self._outage_server.listening(session) as outages, _described(session, name):
            rows = self._rows(df, evolve(task, outages=outages))
        return self._checked(ShareRunResult.of_rows(rows), what)

    def _rows(self, df: "DataFrame", task: WorkerTask) -> list[Any]:
        try:
            return df.mapInArrow(task_body(task), METRICS_DDL).collect()
        except Exception as error:
            # Spark raises errors of py4j, of gRPC or of its own, whose text is the only sign of a Python without this
            # package. All other errors are raised as they are.
            explanation = explained(error)
            if explanation is None:
                raise
            raise explanation from None  # which says in a line what Spark says on screens

    def _prepare(self, session: "SparkSession") -> None:
        """Check, before the first run, what would prevent it from working, and log warnings."""
        if self._is_prepared:
            return
        set_up_logging(self._options.log_level)  # with Spark Connect, this is a process of the server
        use_driver_python(session)
        self._check_speculation(session)
        found = preflight(self._spec.config, self._spec.topics, self._options.dead_letter_topic)
        self._told.update(found.notes)
        self._is_prepared = True

    def _check_not_stopped(self, session: "SparkSession") -> None:
        if self._switch.is_on(session):
            raise IllegalStateError("stop_gracefully was called, so these workers do not run any more: make new ones")

    def _checked(self, result: ShareRunResult, what: str) -> ShareRunResult:
        _LOG.info("%s of %r:\n%s", what, self, result)
        for note in result.notes:
            self._tell(note)
        self._recent = (*self._recent, result)[-_RECENT_RUNS:]  # replaced as a whole, for readers in other threads
        self._total = self._total.plus(result.total)
        if self._options.on_result is not None:
            self._options.on_result(result)
        if result.failed:
            raise ShareWorkersError(result)
        for worker in result.workers:
            if worker.error:
                _LOG.warning("worker %d (pid %d): %s", worker.worker, worker.pid, worker.error)
        return result

    def _sums(self) -> Mapping[str, float]:
        total = self._total  # replaced as a whole, for readers in other threads
        return {name: getattr(total, name) for name in SPARK_FAMILIES}

    def _check_speculation(self, session: "SparkSession") -> None:
        if session.conf.get("spark.speculation", "false") == "true":
            self._tell(
                "spark.speculation is true: Spark starts slow tasks twice, and a second worker only takes a slot that"
                " does the same work; set it to false"
            )

    def _tell(self, note: str) -> None:
        if note not in self._told:
            self._told.add(note)
            _LOG.warning(note)


@contextmanager
def _described(session: "SparkSession", text: str) -> Iterator[None]:
    """Give the jobs a description in Spark's user interface, if the session has a SparkContext."""
    if is_connect(session):
        yield
        return
    context = session.sparkContext
    before: Any = context.getLocalProperty(_DESCRIPTION)  # None without one, which also unsets it
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)


# ------------------------------------------------------------------------------------- checks, once, on the driver


def _not_drained(timeout: float, end: RunEnd, total: ShareRunResult) -> str:
    left = f" It has {counted(end.lag, 'record')} left, which other consumers have or had." if end.lag else ""
    return f"The group was not drained after {timeout} s.{left}\n{total}"


def _milliseconds(name: str, seconds: object) -> int:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0:
        raise ConfigurationError(f"{name}={seconds!r}: give seconds, more than 0")
    return round(seconds * 1000)
