"""A drain: the available records of a share group as one DataFrame of a batch job."""

import logging
import os
import random
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
from attrs import frozen

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import ConfigurationError, IllegalStateError, KafkaGroupsError
from kafka_groups.errors.texts import counted, named, sentences
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords, deliveries_of
from kafka_groups.share.parts import Environment
from kafka_groups.share.workers.group_settings import DEFAULT_DELIVERY_LIMIT
from kafka_groups.share.workers.polling import Poller, is_answered, no_fetch_answered
from kafka_groups.share.workers.rules.dead_letter_headers import LAST_DELIVERIES
from kafka_groups.share.workers.rules.failures.outages import Outage, Waits, may_spend
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.acknowledger import Acknowledger, Tally
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.draining.drain_budget import DrainBudget, DrainLimits, StoppedBy
from kafka_groups.spark.draining.drain_options import DRAIN_RULES, DrainOptions
from kafka_groups.spark.draining.record_keys import keys_table, mask_of_keys
from kafka_groups.spark.failures.go_on import GoOn
from kafka_groups.spark.failures.outage_server import HeldRecords
from kafka_groups.spark.groups.consumer_keys import options_and_keys, topics_of
from kafka_groups.spark.groups.preflight import preflight
from kafka_groups.spark.keywords import DrainKeywords
from kafka_groups.spark.processes.interpreter import choose_python
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.records.schema import RECORD_DDL
from kafka_groups.spark.result import ShareRunResult, WorkerMetrics
from kafka_groups.types import ConsumerState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Drain", "DrainedBatch", "LockLostError", "check_running", "drain"]

_LOG = logging.getLogger(__name__)
_CLOSE_SECONDS = 10.0
_FEW_KEPT = 8
_RARE_PROBES = 16
"""A drain that keeps more sub-batches rarely acquires another record to see whether that one succeeds."""
_REMEDY = "Create a new session, and a new drain with it."
_LOOK_SECONDS = 0.5
"""The interval at which a waiting drain checks whether an operator has reported the sink as fixed."""


class LockLostError(KafkaGroupsError):
    """The brokers did not confirm that processed records were accepted, so these will be redelivered.

    Nothing is lost, but records that you stored may be stored twice.

    Attributes:
        result: The metrics of the drain.
    """

    def __init__(self, result: ShareRunResult) -> None:
        super().__init__(
            f"The drain processed {counted(result.total.lock_lost, 'record')} whose locks it lost. Kafka delivers them"
            f" again:\n{result}"
        )
        self.result = result


def drain(
    spark: "SparkSession",
    config: Mapping[str, object] | None = None,
    /,
    *,
    topics: Iterable[str],
    environment: Environment | None = None,
    **keywords: Unpack[DrainKeywords],
) -> "Drain":
    """Take the available records of a share group into a DataFrame, for a batch job.

        with drain(spark, config, topics=["orders"]) as batch:
            batch.df.write.mode("append").parquet(path)

    The driver acquires the records when the block begins, and renews their locks while it runs. When the block ends, it
    accepts all records that you did not reject or release. If the block ends with an exception, `KeyboardInterrupt`
    included, it releases all of them, which costs each a delivery; records on their last delivery stay in hand. A
    record is stored before it is accepted, so it may be processed more than once. If the driver dies, all records of
    the block are redelivered.

    Brokers lock a limited number of records of a partition at a time (`share.partition.max.record.locks`), and a block
    gets no more. Enter the same drain again until a batch is empty. An empty batch does not show that the group has
    nothing left, because a drain does not ask for the lag: other consumers may hold records, and those of a consumer
    that was killed come back later. `ShareWorkers.run_until` waits for them. After a block that failed, the drain first
    waits for a while (`backoff_seconds`), and then tries with one record until a block succeeds.

    Args:
        spark: The session, classic or of Spark Connect; the process that calls this is the consumer.
        config: Keys of the share consumer by Kafka's dotted names.
        topics: The topics to subscribe to.
        environment: Another network or clock, for tests.
        **keywords: The attributes of `DrainOptions` (`max_records`, `idle_seconds` …), and keys of the share consumer
            by their Python names.

    Returns:
        A context manager that gives a `DrainedBatch`. You can enter it again after the block has ended.

    Raises:
        ConfigurationError: A key or a value is invalid. Entering the block raises `OperationTimeoutError` if no fetch
            was answered within `max_seconds`, because it is then unknown whether there are records.
    """
    options, keys = options_and_keys(DrainOptions, keywords)
    given = {**(config or {}), **keys}
    wanted = topics_of(topics)
    if not hasattr(spark, "createDataFrame"):
        raise ConfigurationError(f"spark={spark!r}: give a SparkSession")
    choose_python(spark)
    return Drain(spark, _Source(DRAIN_RULES.consumer_config(given), given, wanted, environment), options)


@frozen
class _Source:
    """The configuration and topics with which a drain acquires records."""

    config: ShareConsumerConfig
    given: Mapping[str, object]
    topics: frozenset[str]
    environment: Environment | None

    def consumer(self) -> KafkaShareConsumer:
        return KafkaShareConsumer(self.config, environment=self.environment)


class DrainedBatch:
    """The records of a drain, which the driver holds until the `with` block ends. `len(batch)` is the number of rows.

    Attributes:
        table: The records as an Arrow table with the columns of `RECORD_SCHEMA`.
        stopped_by: Why the drain stopped acquiring: "idle" if the brokers gave it no more records (because there were
            none, because other consumers have locked them or had their partitions, or because the brokers lock no more
            at a time), or the limit "records", "bytes" or "time".
    """

    def __init__(self, spark: "SparkSession", batch: ShareBatch, stopped_by: StoppedBy) -> None:
        self._spark = spark
        self._batch = batch
        self._frame: DataFrame | None = None
        self.table: pa.Table = batch.to_arrow().combine_chunks()
        self.stopped_by = stopped_by

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return f"<DrainedBatch {len(self)} of {self.records!r}>"

    @property
    def records(self) -> Sequence[AnyRecord]:
        """The records one by one, as the share consumer returns them."""
        return list(self._batch)

    @property
    def df(self) -> "DataFrame":
        """The records as a DataFrame with the columns of `RECORD_DDL`. Every action on it sees the same records."""
        if self._frame is None:
            # Spark Connect needs the schema of an empty table; an empty list would need a Python worker.
            given = (self.table,) if len(self) else (self.table, RECORD_DDL)
            self._frame = self._spark.createDataFrame(*given)
        return self._frame

    @property
    def deadline(self) -> float:
        """The time when the first lock expires unless it is renewed, in seconds of `time.monotonic()`."""
        return self._batch.deadline

    @property
    def delivery_counts(self) -> Any:
        """The delivery count of each record, including this delivery: a numpy array in the order of `table`."""
        return self.table["delivery_count"].to_numpy()

    def reject(self, which: object = None) -> int:
        """Reject records: they are never redelivered if the block ends without an exception.

        Args:
            which: Records of this drain: a DataFrame, a table or tuples of topic, partition and offset; or one boolean
                for each row of `table`; None means all.

        Returns:
            The number of rejected records.

        Raises:
            ConfigurationError: A record is not part of this drain.
            IllegalStateError: The block has ended.
        """
        return self._batch.reject(self._mask(which))

    def release(self, which: object = None) -> int:
        """Release records: they are redelivered after the block has ended, even without an exception.

        Args:
            which: Records of this drain: a DataFrame, a table or tuples of topic, partition and offset; or one boolean
                for each row of `table`; None means all.

        Returns:
            The number of released records.

        Raises:
            ConfigurationError: A record is not part of this drain.
            IllegalStateError: The block has ended.
        """
        return self._batch.release(self._mask(which))

    def _mask(self, which: object) -> Any:
        keys = keys_table(which)
        return which if keys is None else mask_of_keys(self.table, keys)


class Drain:
    """Takes the records of a share group in one `with` block after another; `drain` creates it.

    Each block has its own consumer, which acquires records at the start and settles them at the end.

    A block fails if it ends with an exception or raises `LockLostError`. Its records are redelivered, which costs each
    of them a delivery. The next block then waits before it acquires records, longer after each failure in a row (see
    `backoff_seconds`), and acquires one record only, until a block succeeds. While it waits it holds no records, and
    other consumers can receive them. `KeyboardInterrupt`, `SystemExit` and a block that could not acquire anything do
    not count as failures.

    Records on their last delivery are not released, because the broker would archive them. The drain holds them, renews
    their locks, and gives them to later blocks again. They are rejected only if they fail after another block has
    succeeded. So if the program ends, or does not enter the drain again, such records are lost: see `held`. A drain
    whose first block would have a record on its last delivery, and no dead-letter topic, waits for `go_on`, because it
    cannot know whether the sink works.

    Args:
        spark: The session.
        source: The configuration and topics to read.
        options: The limits of the drain, and the action if locks are lost.
    """

    def __init__(self, spark: "SparkSession", source: _Source, options: DrainOptions) -> None:
        self._spark = spark
        self._source = source
        self._options = options
        self._clock = (source.environment or Environment()).clock
        self._outage = Outage(Waits.of_deliveries(round(options.backoff_seconds * 1000)), random.Random())
        self._go_on = GoOn(options.go_on_file)
        self._pause: Callable[[float], object] = threading.Event().wait
        self._consumer: KafkaShareConsumer | None = None
        self._poller: Poller | None = None
        self._kept: deque[ShareBatch] = deque()
        self._is_kept_one = False
        self._error = ""
        self._forget()

    def _forget(self) -> None:
        """Reset the state of the last block."""
        self._tally = Tally()
        self._batch: ShareBatch | None = None
        self._policy = DeliveryPolicy(DEFAULT_DELIVERY_LIMIT)
        self._acknowledger: Acknowledger | None = None
        self._notes: tuple[str, ...] = ()
        self._figures: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Drain group {self._source.config.group_id} topics {', '.join(sorted(self._source.topics))}>"

    @property
    def result(self) -> ShareRunResult:
        """The metrics of the drain's last block; complete after the block has ended."""
        worker = WorkerMetrics(worker=0, host=socket.gethostname(), pid=os.getpid(), notes=self._notes,
                               **self._figures, **self._tally.values())  # fmt: skip
        return ShareRunResult((worker,))

    # ------------------------------------------------------------------------------------ the block

    def __enter__(self) -> DrainedBatch:
        if self._batch is not None:
            raise IllegalStateError("the block of this drain has not ended: call drain() again for a second one")
        # The wait comes first, with nothing in hand and outside of the group, so that it costs no delivery.
        self._wait_after_failures()
        check_running(self._spark)
        self._forget()
        policy = DeliveryPolicy(self._learn_about_the_group())
        consumer, poller = self._joined()
        try:
            batch, stopped_by = self._next_batch(consumer, poller, policy)
            drained = DrainedBatch(self._spark, batch, stopped_by)
        except BaseException as error:
            # Anything may end the start of a block, Ctrl-C included. The consumer leaves the group unless it holds
            # records on their last delivery. What was acquired counts as a failed block, as its records have lost a
            # delivery.
            if not self._kept:
                self._close(consumer)  # which releases all
            if self._tally.acquired:
                self._note_end(error)
            raise
        self._batch = batch
        return drained

    def _joined(self) -> tuple[KafkaShareConsumer, Poller]:
        """Return the consumer: a new one, or the one that holds records since an earlier block."""
        if self._consumer is None or self._poller is None:
            self._consumer = self._source.consumer()
            self._poller = Poller(self._consumer, self._notice)
            self._consumer.subscribe(self._source.topics)
        return self._consumer, self._poller

    def _next_batch(
        self, consumer: KafkaShareConsumer, poller: Poller, policy: DeliveryPolicy
    ) -> tuple[ShareBatch, StoppedBy]:
        """Return the records that were kept, or others that are acquired now.

        While nothing succeeds, kept records and one other record take turns, which shows whether it is the sink.
        """
        self._acknowledger = Acknowledger(poller, self._tally, self._clock)
        self._policy = policy
        # While nothing succeeds, every other block, or every sixteenth one if many records are kept, gets another
        # record. If that succeeds, the sink works, and those that were kept are bad.
        often = 2 if len(self._kept) < _FEW_KEPT else _RARE_PROBES
        is_probe_due = self._outage.is_suspected and self._outage.failures % often == 1
        if self._kept and not is_probe_due:
            return self._kept_one(), "records"
        records, stopped_by = self._acquire(consumer, poller, policy.limit)
        consumer.pause()
        self._note_unreadable(poller, records)
        if self._kept and not records:
            return self._kept_one(), "records"
        self._is_kept_one = False
        batch = ShareBatch(records, consumer.renew)
        self._look_after_last_deliveries(batch, policy)
        return batch, stopped_by

    def _kept_one(self) -> ShareBatch:
        self._is_kept_one = True
        return self._kept.popleft()

    # -------------------------------------------------------------------------------------- waiting

    def go_on(self) -> None:
        """Report that the sink works again: a waiting drain retries at once. You can call this from any thread.

        Touching `go_on_file` does the same from another process.
        """
        self._go_on.ask()

    @property
    def held(self) -> HeldRecords | None:
        """The state of an outage of the sink, as this drain sees it; None if the last block succeeded.

        `held` is how many records on their last delivery it keeps: they are lost if the program ends. You can read this
        from any thread.
        """
        outage, now_ms = self._outage, self._clock.now_ms()
        if outage.failing_since_ms is None and not self._kept:
            return None
        next_try_ms = now_ms + outage.remaining_ms(now_ms)
        return HeldRecords.of(
            outage, self._clock, worker=0, held=self._kept_rows, next_try_ms=next_try_ms, error=self._error
        )

    @property
    def _kept_rows(self) -> int:
        return sum(map(len, self._kept))

    def _wait_after_failures(self) -> None:
        """Wait after blocks that failed. No delivery is spent by waiting."""
        outage = self._outage
        if not (wait_ms := outage.remaining_ms(self._clock.now_ms())):
            return
        _LOG.warning(
            "%r waits %.1f s before the next try, so that failing blocks do not use up deliveries. Blocks that failed"
            " in a row: %d, since %.0f s. Records on their last delivery in hand: %d.",
            self,
            wait_ms / 1000,
            outage.failures,
            (self._clock.now_ms() - (outage.failing_since_ms or 0)) / 1000,
            self._kept_rows,
        )
        asked = self._go_on.asked
        while (left_ms := outage.remaining_ms(self._clock.now_ms())) and self._go_on.asked == asked:
            self._pause(min(left_ms / 1000, _LOOK_SECONDS))
        outage.go_on()

    def _wait_for_operator(self, delivery_count: int) -> None:
        """Hold records on their last delivery until an operator reports that the sink works; a failure loses them."""
        _LOG.error(
            "%r holds records on their last delivery (%d), and no block has succeeded yet that would show that the sink"
            " works. It waits, so that they are not lost: call go_on() or touch go_on_file if the sink works.",
            self,
            delivery_count,
        )
        asked = self._go_on.asked
        while self._go_on.asked == asked:
            self._pause(_LOOK_SECONDS)

    # ---------------------------------------------------------------------------------- the block's end

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._consumer is None or self._batch is None or self._acknowledger is None:
            return
        batch, self._batch = self._batch, None
        try:
            self._settle(self._consumer, self._acknowledger, batch, error)
            _LOG.info("%r:\n%s", self, self.result)
            # The records are stored, but will be redelivered. A job that is not idempotent has to know that.
            if error is None and self._tally.lock_lost and self._options.on_lock_lost == "raise":
                raise LockLostError(self.result)
        except BaseException as failure:
            # The next block must wait after a failure, whatever the failure is. Everything is raised again.
            self._note_end(failure)
            raise
        if len(batch) or error is not None:  # a block without records shows nothing
            self._note_end(error)

    def _note_end(self, error: BaseException | None) -> None:
        """Note how a block ended, which decides how long the next one waits."""
        if error is None:
            self._outage.succeeded()
        elif isinstance(error, Exception):  # an interrupted block says nothing about the job
            self._outage.failed(self._clock.now_ms())
            self._error = named(error)

    def _settle(
        self,
        consumer: KafkaShareConsumer,
        acknowledger: Acknowledger,
        batch: ShareBatch,
        error: BaseException | None,
    ) -> None:
        is_bad = self._is_kept_one and not self._outage.is_suspected  # another block has succeeded since these failed
        try:
            # There are four cases. The block has ended as it should: what the program did not decide about is accepted.
            if error is None:
                batch.accept_open()
            # A record on its last delivery stays in hand: released, it would be archived, although nothing shows that
            # it is bad. It is bad only if it fails alone after another block has succeeded.
            elif not may_spend(batch.max_delivery_count, self._policy.limit, others_succeed=is_bad and len(batch) == 1):
                self._keep(batch, is_halved=is_bad)
            # A kept record has failed alone, and others succeed.
            elif is_bad:
                self._give_up(batch)
            else:
                batch.release()  # rejected ones too: the exception may mean that they should not be rejected
            batch.end()
            acknowledger.send(batch.records)
            acknowledger.finish()
        finally:
            self._figures = self._figures_of(consumer)
            if not self._kept:
                self._close(consumer)

    def _give_up(self, batch: ShareBatch) -> None:
        """Reject a record that failed on its last delivery; it was copied when it was acquired."""
        batch.reject()
        _LOG.error(
            "%r rejects a record that failed on its last delivery (%d), although another block has succeeded: %r",
            self,
            batch.max_delivery_count,
            next(iter(batch)),
        )

    def _keep(self, batch: ShareBatch, *, is_halved: bool) -> None:
        """Keep records for later blocks, in halves if the sink works: some of them are bad."""
        batch.reopen()
        half = (len(batch) + 1) // 2 if is_halved else len(batch)
        parts = (range(half), range(half, len(batch)))
        self._kept.extend(batch.part(rows).again() for rows in parts if len(rows))
        _LOG.warning(
            "%r: the block failed. The drain keeps %s for its next blocks, because it is the last delivery of some."
            " They are lost if the program ends before a block succeeds.",
            self,
            counted(self._kept_rows, "record"),
        )

    def _close(self, consumer: KafkaShareConsumer) -> None:
        self._consumer = self._poller = None
        consumer.close(_CLOSE_SECONDS)

    # -------------------------------------------------------------------------------------- acquiring

    def _acquire(self, consumer: KafkaShareConsumer, poller: Poller, limit: int) -> tuple[AnyRecords, StoppedBy]:
        options, clock = self._options, self._clock
        limits = DrainLimits(
            max_records=options.max_records,
            max_bytes=options.max_bytes,
            idle_ms=round(options.idle_seconds * 1000),
            max_ms=round(options.max_seconds * 1000),
        )
        budget = DrainBudget(limits, clock.now_ms())
        deliveries: list[DeliveredRecords] = []
        is_probe, is_new = self._outage.is_suspected, not self._outage.has_succeeded
        while (timeout_ms := budget.next_timeout_ms(clock.now_ms())) is not None:
            # One record at a time while the sink may be down, and for the first fetch of a new drain, which knows
            # nothing about the sink.
            is_careful = is_probe or (is_new and not deliveries)
            consumer.fetch_limit = 1 if is_careful else None
            consumer.fetches_ahead = not is_careful and budget.expects_another
            is_ready = is_answered(consumer)
            polled = self._polled(poller, timeout_ms)
            deliveries += deliveries_of(polled)
            often = max((delivery.max_delivery_count for delivery in deliveries_of(polled)), default=0)
            # The block gets these records alone: while the sink may be down, or if one of the first is on its last
            # delivery.
            if polled and (is_probe or (is_new and often >= limit)):  # few records are at risk until a block succeeds
                return ShareRecords(deliveries), "records"
            budget.polled(len(polled), consumer.counts().fetched_bytes, is_ready=is_ready and is_answered(consumer))
        # An empty batch must mean that the brokers had nothing. If none has answered, that is not known.
        if not consumer.has_fetched or (not deliveries and consumer.state is ConsumerState.UNREACHABLE):
            is_assigned = bool(consumer.assignment())
            raise no_fetch_answered(self._source.config, options.max_seconds, is_assigned=is_assigned)
        return ShareRecords(deliveries), budget.stopped_by(clock.now_ms())

    def _polled(self, poller: Poller, timeout_ms: int) -> AnyRecords:
        started_ms = self._clock.now_ms()
        records = poller.poll(timeout_ms, hold=True)
        self._tally.polls += 1
        self._tally.poll_ms += self._clock.now_ms() - started_ms
        self._tally.acquired += len(records)
        return records

    def _notice(self, error: KafkaGroupsError) -> None:
        """Log and count an error after which the drain continues."""
        _LOG.warning("%r continues after an error: %s", self, error)
        self._tally.note_error(error, failed=False)

    def _note_unreadable(self, poller: Poller, records: AnyRecords) -> None:
        """Report the batches of the log that could not be read into the table; their records are rejected."""
        for delivery in deliveries_of(records):
            if delivery.undecodable is not None:
                poller.survive(delivery.undecodable)

    # -------------------------------------------------------------------------------------- deliveries

    def _learn_about_the_group(self) -> int:
        """Warn about the group's configuration, and return its delivery limit."""
        if self._source.environment is not None:
            return DEFAULT_DELIVERY_LIMIT  # no broker of a test's own network can be asked
        found = preflight(self._source.config, self._source.topics, self._options.dead_letter_topic)
        self._notes = tuple(found.notes)
        return found.settings.delivery_limit or DEFAULT_DELIVERY_LIMIT

    def _look_after_last_deliveries(self, batch: ShareBatch, policy: DeliveryPolicy) -> None:
        """Copy records near their delivery limit to the dead-letter topic, before a failing job archives them."""
        self._tally.max_delivery_count = often = batch.max_delivery_count
        if often < policy.copy_from:
            return
        topic = self._options.dead_letter_topic
        if topic is None:
            _LOG.warning("%r has records at delivery %d: at %d the brokers archive them if this job fails. To keep"
                         " copies, set dead_letter_topic", self, often, policy.limit)  # fmt: skip
            # A new drain cannot know whether the sink works. If the block failed, this record would be archived, so it
            # waits for somebody who knows.
            if often >= policy.limit and not (self._outage.has_succeeded or self._outage.is_suspected):
                self._wait_for_operator(often)
            return
        records = [record for record in batch if record.delivery_count >= policy.copy_from]
        letters = DeadLetters(topic, self._source.config.group_id, self._source.given)
        self._tally.dead_lettered += letters.copy(records, LAST_DELIVERIES)

    def _figures_of(self, consumer: KafkaShareConsumer) -> dict[str, Any]:
        counts = consumer.counts()
        return {"member_id": consumer.member_id, "bytes": counts.fetched_bytes, "renewed": counts.renewed}


def check_running(spark: "SparkSession") -> None:
    """Check that Spark runs.

    Raises:
        IllegalStateError: The session was stopped, or its JVM or server has died.
    """
    try:
        is_stopped = _is_stopped(spark)
    except Exception as error:  # whatever py4j or gRPC raise if nobody answers
        text = f"Spark does not answer, so the drain acquires no records: {named(error)}"
        raise IllegalStateError(sentences(text, _REMEDY)) from error
    if is_stopped:
        raise IllegalStateError(f"The Spark session was stopped, so the drain acquires no records. {_REMEDY}")


def _is_stopped(spark: Any) -> bool:
    context = getattr(spark, "_sc", None)
    if context is not None:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    if getattr(spark, "is_stopped", False):
        return True
    # With Spark Connect, the version is asked of the server.
    return hasattr(spark, "version") and not spark.version
