"""A drain: the available records of a share group as one DataFrame of a batch job."""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
from attrs import frozen

from kafka_groups.config.share import ShareConsumerConfig
from kafka_groups.errors import ConfigurationError, IllegalStateError, KafkaGroupsError
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.batch import AnyRecords, ShareRecords, deliveries_of
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.parts import Environment
from kafka_groups.spark.acknowledging import Acknowledger, Tally
from kafka_groups.spark.batch import ShareBatch
from kafka_groups.spark.consumer_keys import options_and_keys, topics_of
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.drain_backoff import DrainBackoff
from kafka_groups.spark.drain_budget import DrainBudget, DrainLimits, StoppedBy
from kafka_groups.spark.drain_options import DRAIN_RULES, DrainOptions
from kafka_groups.spark.group_configs import DEFAULT_DELIVERY_LIMIT
from kafka_groups.spark.interpreter import choose_python
from kafka_groups.spark.keywords import DrainKeywords
from kafka_groups.spark.policy import DeliveryPolicy
from kafka_groups.spark.polling import Poller, is_answered, no_fetch_answered
from kafka_groups.spark.preflight import preflight
from kafka_groups.spark.record_keys import keys_table, mask_of_keys
from kafka_groups.spark.result import ShareRunResult, WorkerMetrics
from kafka_groups.spark.schema import RECORD_DDL
from kafka_groups.types import ConsumerState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Drain", "DrainedBatch", "LockLostError", "drain"]

_LOG = logging.getLogger(__name__)
_CLOSE_SECONDS = 10.0


class LockLostError(KafkaGroupsError):
    """The brokers did not confirm that processed records were accepted, so these will be redelivered.

    Nothing is lost, but records that you stored may be stored twice.

    Attributes:
        result: What the drain did.
    """

    def __init__(self, result: ShareRunResult) -> None:
        super().__init__(
            f"{result.total.lock_lost} records were processed, but not accepted, and will be delivered again:\n{result}"
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
    included, it releases all of them, which costs each a delivery. A record is stored before it is accepted, so it may
    be processed more than once. If the driver dies, all records of the block are redelivered.

    Brokers lock a limited number of records of a partition at a time (`share.partition.max.record.locks`), and a block
    gets no more. Enter the same drain again until a batch is empty. After a block that failed, it first waits for a
    while without holding records (`backoff_seconds`). A new drain does not know of earlier failures and does not wait.

    Args:
        spark: The session, classic or of Spark Connect; the process that calls this is the consumer.
        config: Keys of the share consumer by Kafka's dotted names.
        topics: What to subscribe to.
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
    """Where a drain takes records from."""

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
        stopped_by: Why the drain stopped acquiring: "idle" if no more records arrived (because there were none, or
            because the brokers lock no more at a time), or the limit "records", "bytes" or "time".
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
    def records(self) -> AnyRecords:
        """The records one by one, as the share consumer returns them."""
        return self._batch.records

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
        """When the first lock expires if it is not renewed, in seconds on the clock of `time.monotonic()`."""
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
            How many records those are.

        Raises:
            ConfigurationError: A record is not part of this drain.
            IllegalStateError: The block has ended.
        """
        return self._batch.reject(self._mask(which))

    def release(self, which: object = None) -> int:
        """Release records: they are redelivered after the block has ended, even without an exception.

        Args:
            which: As for `reject`.

        Returns:
            How many records those are.

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
    of them a delivery. The next block then waits before it acquires records, longer after each failure in a row, up to
    five minutes (see `backoff_seconds`). It has not joined the group yet, so waiting costs no delivery, and other
    consumers can receive the records. A block that succeeds resets the wait. `KeyboardInterrupt`, `SystemExit` and a
    block that could not acquire anything do not count as failures.

    Args:
        spark: The session.
        source: Where the records come from.
        options: How much to take, and what to do about lost locks.
    """

    def __init__(self, spark: "SparkSession", source: _Source, options: DrainOptions) -> None:
        self._spark = spark
        self._source = source
        self._options = options
        self._clock = (source.environment or Environment()).clock
        self._backoff = DrainBackoff(round(options.backoff_seconds * 1000))
        self._pause: Callable[[float], object] = threading.Event().wait
        self._forget()

    def _forget(self) -> None:
        """Reset the state of the last block."""
        self._tally = Tally()
        self._consumer: KafkaShareConsumer | None = None
        self._poller: Poller | None = None
        self._batch: ShareBatch | None = None
        self._notes: tuple[str, ...] = ()
        self._figures: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Drain group {self._source.config.group_id} topics {', '.join(sorted(self._source.topics))}>"

    @property
    def result(self) -> ShareRunResult:
        """What the drain did in the last block; complete after the block has ended."""
        worker = WorkerMetrics(worker=0, host=socket.gethostname(), pid=os.getpid(), notes=self._notes,
                               **self._figures, **self._tally.values())  # fmt: skip
        return ShareRunResult((worker,))

    # ------------------------------------------------------------------------------------ the block

    def __enter__(self) -> DrainedBatch:
        if self._consumer is not None:
            raise IllegalStateError("the block of this drain has not ended: call drain() again for a second one")
        self._wait_after_failures()
        self._forget()
        limit = self._learn_about_the_group()
        self._consumer = self._source.consumer()
        self._poller = Poller(self._consumer, self._notice)
        try:
            return self._acquired(self._consumer, self._poller, limit)
        except BaseException as error:
            self._close(self._consumer)  # which releases all
            if self._tally.acquired:
                self._note_end(error)
            raise

    def _wait_after_failures(self) -> None:
        """Wait after blocks that failed, without a consumer, so that no delivery is spent by waiting."""
        if wait_ms := self._backoff.remaining_ms(self._clock.now_ms()):
            _LOG.warning(
                "%r waits %.1f s before it acquires records, so that failing blocks do not use up their deliveries."
                " Blocks that failed in a row: %d.",
                self,
                wait_ms / 1000,
                self._backoff.failures,
            )
            self._pause(wait_ms / 1000)

    def _acquired(self, consumer: KafkaShareConsumer, poller: Poller, limit: int) -> DrainedBatch:
        consumer.subscribe(self._source.topics)
        records, stopped_by = self._acquire(consumer, poller)
        consumer.pause()
        batch = self._batch = ShareBatch(records, consumer.renew)
        drained = DrainedBatch(self._spark, batch, stopped_by)
        self._note_unreadable(poller, records)
        self._look_after_last_deliveries(batch, DeliveryPolicy(limit))
        return drained

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._consumer is None or self._poller is None or self._batch is None:
            return
        try:
            self._settle(self._consumer, self._poller, self._batch, error)
            _LOG.info("%r:\n%s", self, self.result)
            if error is None and self._tally.lock_lost and self._options.on_lock_lost == "raise":
                raise LockLostError(self.result)
        except BaseException as failure:
            self._note_end(failure)
            raise
        self._note_end(error)

    def _note_end(self, error: BaseException | None) -> None:
        """Note how a block ended, which decides how long the next one waits."""
        if error is None:
            self._backoff.succeeded()
        elif isinstance(error, Exception):  # an interrupted block says nothing about the job
            self._backoff.failed(self._clock.now_ms())

    def _settle(
        self, consumer: KafkaShareConsumer, poller: Poller, batch: ShareBatch, error: BaseException | None
    ) -> None:
        try:
            if error is None:
                batch.accept_open()
            else:
                batch.release()  # what was rejected too: the exception may be what says that it should not have been
            batch.end()
            acknowledger = Acknowledger(poller, self._tally, self._clock)
            acknowledger.send(batch.records)
            acknowledger.finish()
        finally:
            self._figures = self._figures_of(consumer)
            self._close(consumer)

    def _close(self, consumer: KafkaShareConsumer) -> None:
        self._consumer = None
        consumer.close(_CLOSE_SECONDS)

    # -------------------------------------------------------------------------------------- acquiring

    def _acquire(self, consumer: KafkaShareConsumer, poller: Poller) -> tuple[AnyRecords, StoppedBy]:
        options, clock = self._options, self._clock
        limits = DrainLimits(
            max_records=options.max_records,
            max_bytes=options.max_bytes,
            idle_ms=round(options.idle_seconds * 1000),
            max_ms=round(options.max_seconds * 1000),
        )
        budget = DrainBudget(limits, clock.now_ms())
        deliveries: list[DeliveredRecords] = []
        while (timeout_ms := budget.next_timeout_ms(clock.now_ms())) is not None:
            consumer.fetches_ahead = budget.expects_another
            is_ready = is_answered(consumer)
            polled = self._polled(poller, timeout_ms)
            deliveries += deliveries_of(polled)
            budget.polled(len(polled), consumer.counts().fetched_bytes, is_ready=is_ready and is_answered(consumer))
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
            _LOG.warning("%r has records at delivery %d: at %d they are given up if this job fails; dead_letter_topic=…"
                         " keeps copies", self, often, policy.limit)  # fmt: skip
            return
        records = [record for record in batch if record.delivery_count >= policy.copy_from]
        letters = DeadLetters(topic, self._source.config.group_id, self._source.given)
        self._tally.dead_lettered += letters.copy(records, "on one of its last deliveries")

    def _figures_of(self, consumer: KafkaShareConsumer) -> dict[str, Any]:
        counts = consumer.counts()
        return {"member_id": consumer.member_id, "bytes": counts.fetched_bytes, "renewed": counts.renewed}
